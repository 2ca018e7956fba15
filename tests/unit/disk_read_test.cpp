// Reads return what read(2) would: all of it, at the right place, whatever part of it is cached.
#include <errno.h>
#include <sys/mman.h>

#include <algorithm>
#include <set>

#include "io/disk_history.h"
#include "platform/clock.h"
#include "sync/sleep.h"
#include "unit/disk_fixture.h"

namespace wisp::test {

using io::disk_read;
using io::kFilePosition;

TEST(DiskRead, WholeAlthoughPartlyCached) {
  TestFile file(1 << 20);
  std::vector<char> buffer(256 * 1024);
  on_task([&] {
    for (int hole = 0; hole < 16; ++hole) {
      file.cache_all_but(hole * 16384, 16384, 1 << 20);
      ASSERT_EQ(disk_read(file.fd(), buffer.data(), buffer.size(), 100), 256 * 1024);
      EXPECT_TRUE(holds(buffer.data(), buffer.size(), 100));
    }
  });
}

TEST(DiskRead, WholeAtTheFilePosition) {
  TestFile file(1 << 20);
  std::vector<char> buffer(60000);
  on_task([&] {
    for (int round = 0; round < 4; ++round) {
      file.cache_all_but(8192 * round, 16384, 32768);
      lseek(file.fd(), 0, SEEK_SET);
      size_t at = 0;
      for (;;) {
        ssize_t n = disk_read(file.fd(), buffer.data(), buffer.size(), kFilePosition);
        ASSERT_EQ(n, std::min<ssize_t>(60000, (1 << 20) - at));
        if (n == 0) break;
        ASSERT_TRUE(holds(buffer.data(), n, at)) << at;
        at += n;
      }
      EXPECT_EQ(at, 1u << 20);
      EXPECT_EQ(lseek(file.fd(), 0, SEEK_CUR), 1 << 20);
    }
  });
}

TEST(DiskRead, ScattersOverPartsAlthoughPartlyCached) {
  TestFile file(1 << 20);
  std::vector<char> a(5000), b(1), c(100000);
  on_task([&] {
    for (off_t offset : {off_t{0}, off_t{4096}, off_t{777}}) {
      for (off_t hole : {off_t{0}, off_t{4096}, off_t{8192}, off_t{65536}}) {
        file.cache_all_but(hole, 16384, 1 << 20);
        iovec parts[] = {{a.data(), a.size()}, {b.data(), 1}, {nullptr, 0}, {c.data(), c.size()}};
        ASSERT_EQ(disk_read(file.fd(), parts, 4, offset), 105001);
        EXPECT_TRUE(holds(a.data(), 5000, offset));
        EXPECT_TRUE(holds(b.data(), 1, offset + 5000));
        EXPECT_TRUE(holds(c.data(), 100000, offset + 5001));
      }
    }
  });
}

TEST(DiskRead, EndsAtTheEndOfFile) {
  TestFile file(8192 + 100);
  std::vector<char> buffer(20000);
  on_task([&] {
    for (int i = 0; i < 40; ++i) {  // asked and trusted reads
      EXPECT_EQ(disk_read(file.fd(), buffer.data(), buffer.size(), 0), 8292);
      EXPECT_EQ(disk_read(file.fd(), buffer.data(), 4192, 4096), 4192);
      EXPECT_EQ(disk_read(file.fd(), buffer.data(), buffer.size(), 8292), 0);
      EXPECT_EQ(disk_read(file.fd(), buffer.data(), buffer.size(), 1 << 30), 0);
      EXPECT_EQ(disk_read(file.fd(), buffer.data(), 0, 0), 0);
      lseek(file.fd(), 100, SEEK_SET);
      EXPECT_EQ(disk_read(file.fd(), buffer.data(), buffer.size(), kFilePosition), 8192);
      EXPECT_EQ(disk_read(file.fd(), buffer.data(), buffer.size(), kFilePosition), 0);
    }
  });
}

TEST(DiskRead, ErrorsAreTheKernels) {
  TestFile file(8192);
  int directory = open(".", O_RDONLY);
  int writer = open(file.path(), O_WRONLY);
  char buffer[64];
  on_task([&] {
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(disk_read(directory, buffer, 64, 0), -EISDIR);
      EXPECT_EQ(disk_read(writer, buffer, 64, kFilePosition), -EBADF);
      EXPECT_EQ(disk_read(-1, buffer, 64, 0), -EBADF);
      EXPECT_EQ(disk_read(file.fd(), reinterpret_cast<char*>(8), 64, 0), -EFAULT);
      iovec many[1025] = {};
      EXPECT_EQ(disk_read(file.fd(), many, 1025, 0), -EINVAL);
      EXPECT_EQ(disk_read(file.fd(), many, 0, 0), 0);
    }
  });
  close(directory);
  close(writer);
}

TEST(DiskRead, BufferThatEndsInTheMiddle) {
  TestFile file(65536);
  char* two = static_cast<char*>(
      mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  mprotect(two + 4096, 4096, PROT_NONE);  // unmapped, it would soon be somebody else's
  on_task([&] {
    EXPECT_EQ(pread(file.fd(), two + 96, 8000, 0), 4000);  // what the kernel does
    EXPECT_EQ(disk_read(file.fd(), two + 96, 8000, 0), 4000);
    EXPECT_TRUE(holds(two + 96, 4000, 0));
  });
  munmap(two, 8192);
}

TEST(DiskRead, FileSystemsWithoutNowait) {
  int memory = memfd_create("memory", 0);
  std::vector<uint64_t> words(8192);
  for (size_t i = 0; i < words.size(); ++i) words[i] = i;
  ASSERT_EQ(write(memory, words.data(), 65536), 65536);
  int status = open("/proc/self/status", O_RDONLY);
  char buffer[4096];
  on_task([&] {
    for (int i = 0; i < 100; ++i) {
      ASSERT_EQ(disk_read(memory, buffer, 4096, i * 64), 4096);
      EXPECT_TRUE(holds(buffer, 4096, i * 64));
      EXPECT_GT(disk_read(status, buffer, 4096, 0), 100);
    }
    lseek(memory, 64, SEEK_SET);
    EXPECT_EQ(disk_read(memory, buffer, 4096, kFilePosition), 4096);
    EXPECT_TRUE(holds(buffer, 4096, 64));
  });
  close(memory);
  close(status);
}

// As in the kernel, each read takes the next bytes of the file, none is taken twice or torn apart.
TEST(DiskRead, ReadersShareAFilePosition) {
  constexpr size_t kSize = 4 << 20, kRecord = 10240;
  constexpr int kReaders = 8;
  for (int round = 0; round < 5; ++round) {
    TestFile file(kSize);
    file.cache_all_but(12288 * round, 20480, 65536);
    lseek(file.fd(), 0, SEEK_SET);
    std::atomic<int> wrong{0};
    std::atomic<size_t> bytes{0};
    std::vector<std::vector<uint64_t>> begins(kReaders);
    Latch done(kReaders);
    for (int r = 0; r < kReaders; ++r)
      spawn([&, r] {
        std::vector<char> buffer(kRecord);
        for (;;) {
          ssize_t n = disk_read(file.fd(), buffer.data(), kRecord, kFilePosition);
          if (n <= 0) break;
          uint64_t first;
          memcpy(&first, buffer.data(), 8);
          if (!holds(buffer.data(), n, first * 8)) ++wrong;
          begins[r].push_back(first);
          bytes += n;
        }
        done.count_down();
      });
    done.wait();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(bytes, kSize);
    std::set<uint64_t> all;
    for (auto& b : begins) all.insert(b.begin(), b.end());
    EXPECT_EQ(all.size(), (kSize + kRecord - 1) / kRecord);
  }
}

TEST(DiskRead, TrustIsEarnedAndLost) {
  TestFile file(1 << 20);
  io::DiskHistory& h = io::disk_history(file.fd());
  char buffer[512];
  auto read_at = [&](off_t at) { EXPECT_EQ(disk_read(file.fd(), buffer, 512, at), 512); };
  on_task([&] {
    EXPECT_FALSE(h.use_trust());
    EXPECT_TRUE(within_rounds(50, [&] {
      task_sleep_until(monotonic_ns() + 1000000);
      io::disk_opened(file.fd(), O_RDWR);
      for (int i = 0; i < io::DiskHistory::kTrustAfter; ++i) read_at(0);
      if (h.trusted != 0) return false;
      read_at(0);
      return h.trusted == io::DiskHistory::kTrust;
    }));
    for (int i = 0; i < io::DiskHistory::kTrust; ++i) EXPECT_TRUE(h.use_trust());
    EXPECT_FALSE(h.use_trust());
    if (h.is(io::DiskHistory::kCannotAsk)) GTEST_SKIP() << "no RWF_NOWAIT on this file system";
    EXPECT_TRUE(within_rounds(50, [&] {
      task_sleep_until(monotonic_ns() + 1000000);
      h.hits = io::DiskHistory::kTrustAfter;
      h.trusted = 0;
      file.drop_all();
      read_at(4096);
      return h.hits == 0 && h.trusted == 0;
    }));
    io::disk_opened(file.fd(), O_RDONLY | O_DSYNC);
    EXPECT_TRUE(h.is(io::DiskHistory::kSynchronous));
  });
}

}  // namespace wisp::test
