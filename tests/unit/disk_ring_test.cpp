// Disk reads by io_uring: right bytes, no hand-off, nothing lost when the descriptor goes or
// signals come meanwhile. Where the kernel forbids it (seccomp), the tests say so and are skipped.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include "io/ring.h"
#include "unit/disk_fixture.h"

namespace wisp::test {
namespace {

bool ring_works() {
  io::g_ring_wanted = true;
  static bool works = [] {
    TestFile file(4096);
    long r = 0;
    on_task([&] {
      char c[8];
      iovec part{c, sizeof c};
      r = io::ring_read(file.fd(), &part, 1, 0);
    });
    return r == 8;
  }();
  return works;
}
#define NEEDS_RING() \
  if (!ring_works()) GTEST_SKIP() << "no io_uring here"

uint64_t requests() { return io::ring_counts().requests; }

TEST(DiskRing, ColdReadsTakeNoKernelThreads) {
  NEEDS_RING();
  constexpr size_t kSize = 16 << 20;
  TestFile file(kSize);
  EXPECT_TRUE(within_rounds(10, [&] {
    file.drop_all();
    posix_fadvise(file.fd(), 0, 0, POSIX_FADV_RANDOM);
    uint64_t handoffs = scheduler_totals().handoffs, before = requests();
    std::atomic<int> wrong{0};
    Latch done(64);
    for (uint64_t i = 0; i < 64; ++i)
      spawn([&, i] {
        char buffer[4096];
        for (uint64_t k = 0; k < 20; ++k) {
          // Each block once: every read is a cold one.
          off_t at = static_cast<off_t>((i * 20 + k) * 3 % (kSize / 4096) * 4096);
          if (io::disk_read(file.fd(), buffer, sizeof buffer, at) != 4096 ||
              !holds(buffer, sizeof buffer, static_cast<uint64_t>(at)))
            ++wrong;
        }
        done.count_down();
      });
    done.wait();
    EXPECT_EQ(wrong.load(), 0);
    uint64_t asked = requests() - before;
    return asked > 300 && scheduler_totals().handoffs - handoffs < asked / 4;
  }));
}

TEST(DiskRing, SeveralPartsAtTheFilePosition) {
  NEEDS_RING();
  constexpr size_t kSize = 1 << 20;
  EXPECT_TRUE(within_rounds(10, [&] {
    // A new one each time: of some files the kernel keeps the pages whatever it is told, and the
    // task of an earlier round owns the position.
    TestFile file(kSize);
    file.drop_all();
    posix_fadvise(file.fd(), 0, 0, POSIX_FADV_RANDOM);
    lseek(file.fd(), 0, SEEK_SET);
    uint64_t before = requests();
    on_task([&] {
      char a[3000], b[5192];
      iovec parts[] = {{a, sizeof a}, {b, sizeof b}};
      for (uint64_t at = 0; at < kSize; at += 8192) {
        ASSERT_EQ(io::disk_read(file.fd(), parts, 2, io::kFilePosition), 8192);
        EXPECT_TRUE(holds(a, sizeof a, at) && holds(b, sizeof b, at + sizeof a)) << at;
      }
      EXPECT_EQ(io::disk_read(file.fd(), parts, 2, io::kFilePosition), 0);
    });
    return requests() - before > 10;
  }));
}

TEST(DiskRing, Results) {
  NEEDS_RING();
  TestFile file(10000);
  on_task([&] {
    char buffer[8192];
    iovec part{buffer, sizeof buffer};
    EXPECT_EQ(io::ring_read(file.fd(), &part, 1, 4096), 5904);  // the end
    EXPECT_EQ(io::ring_read(file.fd(), &part, 1, 20000), 0);
    EXPECT_EQ(io::ring_read(-1, &part, 1, 0), -EBADF);
    int out = open(file.path(), O_WRONLY);
    EXPECT_EQ(io::ring_read(out, &part, 1, 0), -EBADF);
    EXPECT_EQ(io::ring_sync(out, false), 0);
    EXPECT_EQ(io::ring_sync(out, true), 0);
    EXPECT_EQ(io::ring_write(out, &part, 1, 0), 8192);
    EXPECT_EQ(io::ring_sync(-1, true), -EBADF);
    close(out);
    iovec bad{reinterpret_cast<void*>(8), 100};
    EXPECT_EQ(io::ring_read(file.fd(), &bad, 1, 0), -EFAULT);
  });
}

TEST(DiskRing, SynchronousWritesAndSyncsTakeNoKernelThreads) {
  NEEDS_RING();
  constexpr uint64_t kBlock = 4096, kWriters = 16, kWrites = 8;
  TestFile file(kWriters * kWrites * kBlock);
  int fd = open(file.path(), O_RDWR | O_DSYNC);
  ASSERT_GE(fd, 0);
  io::disk_opened(fd, O_RDWR | O_DSYNC);
  EXPECT_TRUE(within_rounds(10, [&] {
    uint64_t handoffs = scheduler_totals().handoffs, before = requests();
    std::atomic<int> wrong{0};
    Latch done(kWriters);
    for (uint64_t i = 0; i < kWriters; ++i)
      spawn([&, i] {
        std::vector<char> block(kBlock, static_cast<char>('A' + i));
        iovec halves[] = {{block.data(), kBlock / 2}, {block.data() + kBlock / 2, kBlock / 2}};
        for (uint64_t k = 0; k < kWrites; ++k) {
          auto at = static_cast<off_t>((k * kWriters + i) * kBlock);
          long r = k % 2 != 0 ? io::disk_write(fd, halves, 2, at)
                              : io::disk_write(fd, block.data(), kBlock, at);
          wrong += r != static_cast<long>(kBlock);
          wrong += io::disk_sync(fd, k % 2 != 0) != 0;
        }
        done.count_down();
      });
    done.wait();
    EXPECT_EQ(wrong.load(), 0);
    uint64_t asked = requests() - before, taken = scheduler_totals().handoffs - handoffs;
    EXPECT_LE(asked, 2 * kWriters * kWrites);
    return asked + 2 * taken >= 2 * kWriters * kWrites && taken < kWriters * kWrites / 4;
  }));
  std::vector<char> all(kWriters * kWrites * kBlock);
  ASSERT_EQ(pread(fd, all.data(), all.size(), 0), static_cast<ssize_t>(all.size()));
  for (size_t at = 0; at < all.size(); at += 512)
    ASSERT_EQ(all[at], static_cast<char>('A' + at / kBlock % kWriters)) << at;
  on_task([&] {
    // At the file position: one after the other, as the kernel does it.
    ASSERT_EQ(io::disk_write(fd, "ab", 2, io::kFilePosition), 2);
    ASSERT_EQ(io::disk_write(fd, "cd", 2, io::kFilePosition), 2);
    int pipes[2];
    ASSERT_EQ(pipe(pipes), 0);
    EXPECT_EQ(io::disk_sync(pipes[0], false), -EINVAL);
    EXPECT_EQ(io::disk_sync(-1, false), -EBADF);
    close(pipes[0]);
    close(pipes[1]);
  });
  char start[4];
  ASSERT_EQ(pread(fd, start, 4, 0), 4);
  EXPECT_EQ(std::string(start, 4), "abcd");
  close(fd);
}

// The kernel has the file when the call has begun: the number may go, and mean another file.
TEST(DiskRing, DescriptorClosedMeanwhile) {
  NEEDS_RING();
  TestFile file(4 << 20);
  TestFile other(4096);
  for (int round = 0; round < 50; ++round) {
    file.drop_all();
    int fd = open(file.path(), O_RDONLY | (round % 2 != 0 ? O_DIRECT : 0));
    if (fd < 0) continue;
    alignas(4096) static char buffer[65536];
    std::atomic<bool> begun{false};
    std::atomic<long> r{0};
    Latch done(2);
    spawn([&] {
      iovec part{buffer, sizeof buffer};
      begun = true;
      r = io::ring_read(fd, &part, 1, 65536 * (round % 64));
      done.count_down();
    });
    spawn([&] {
      yield_until([&] { return begun.load(); });
      if (requests() != 0) dup2(other.fd(), fd);
      done.count_down();
    });
    done.wait();
    close(fd);
    // Before it was closed or after; never a mixture, and never less than all.
    if (r.load() == 65536)
      EXPECT_TRUE(holds(buffer, sizeof buffer, 65536u * (round % 64)));
    else
      EXPECT_TRUE(r.load() == 4096 || r.load() == 0 || r.load() == -EINVAL ||
                  r.load() == io::kNoRing)
          << r.load();
  }
}

// More at once than a ring takes: the rest makes its calls itself.
TEST(DiskRing, MoreThanTheRingTakes) {
  NEEDS_RING();
  constexpr uint32_t kReaders = 3000;
  TestFile file(kReaders * 4096);
  file.drop_all();
  posix_fadvise(file.fd(), 0, 0, POSIX_FADV_RANDOM);
  std::vector<char> memory(kReaders * 4096);
  std::atomic<int> wrong{0};
  Latch done(kReaders);
  for (uint64_t i = 0; i < kReaders; ++i)
    spawn([&, i] {
      char* buffer = &memory[i * 4096];
      if (io::disk_read(file.fd(), buffer, 4096, static_cast<off_t>(i * 4096)) != 4096 ||
          !holds(buffer, 4096, i * 4096))
        ++wrong;
      done.count_down();
    });
  done.wait();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(DiskRing, SwitchedOff) {
  TestFile file(1 << 20);
  file.drop_all();
  io::g_ring_wanted = false;
  uint64_t before = requests();
  on_task([&] {
    std::vector<char> buffer(1 << 20);
    EXPECT_EQ(io::disk_read(file.fd(), buffer.data(), buffer.size(), 0), 1 << 20);
    EXPECT_TRUE(holds(buffer.data(), buffer.size(), 0));
  });
  EXPECT_EQ(requests(), before);
}

}  // namespace
}  // namespace wisp::test
