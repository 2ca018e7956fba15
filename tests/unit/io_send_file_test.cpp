// sendfile: all of the file, from the right place, and a slow reader holds no kernel thread.
#include <signal.h>
#include <sys/syscall.h>

#include <filesystem>
#include <fstream>

#include "unit/disk_fixture.h"
#include "unit/io_support.h"

namespace wisp::test {
namespace {

constexpr size_t kFile = 8 << 20;

// Kernel threads of this process that stand in sendfile(2), by proc(5): not their number, which
// also says how many workers SysMonitor has made on a busy machine.
int kernel_threads_in_sendfile() {
  int count = 0;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    long call = -1;
    std::ifstream(thread.path() / "syscall") >> call;
    count += call == SYS_sendfile;
  }
  return count;
}

// Reads to the end, and compares with the file from `at` on; returns how much came.
size_t read_and_compare(int fd, size_t at) {
  std::vector<char> buffer(64 * 1024);
  size_t sum = 0;
  for (;;) {
    long n = io::receive(fd, buffer.data(), buffer.size(), 0, nullptr, nullptr);
    if (n <= 0) return sum;
    EXPECT_TRUE(holds(buffer.data(), static_cast<size_t>(n), at + sum)) << sum;
    sum += static_cast<size_t>(n);
  }
}

TEST(IoSendFile, WholeByPositionAndByOffset) {
  TestFile file(kFile);
  for (bool tcp : {true, false}) {
    for (bool by_position : {true, false}) {
      int a, b;
      if (tcp) {
        TcpPair pair;
        a = pair.a, b = pair.b;
      } else {
        LocalPair pair;
        a = pair.a, b = pair.b;
      }
      run_tasks({[&] {
                   off_t from = 4096;
                   lseek(file.fd(), from, SEEK_SET);
                   off_t* offset = by_position ? nullptr : &from;
                   EXPECT_EQ(io::send_file(a, file.fd(), offset, 2 << 20), 2 << 20);
                   // More than there is: what there is, then nothing.
                   long rest = static_cast<long>(kFile - 4096 - (2 << 20));
                   EXPECT_EQ(io::send_file(a, file.fd(), offset, 1 << 30), rest);
                   EXPECT_EQ(io::send_file(a, file.fd(), offset, 1 << 30), 0);
                   EXPECT_EQ(by_position ? lseek(file.fd(), 0, SEEK_CUR) : from,
                             static_cast<off_t>(kFile));
                   ::shutdown(a, SHUT_WR);
                 },
                 [&] { EXPECT_EQ(read_and_compare(b, 4096), kFile - 4096); }});
      close_fd(a), close_fd(b);
    }
  }
}

TEST(IoSendFile, SlowReadersHoldNoKernelThreads) {
  constexpr int kSenders = 40;
  TestFile file(kFile);
  std::vector<TcpPair> pairs(kSenders);
  std::atomic<int> sent{0};
  for (TcpPair& pair : pairs)
    spawn([&] {
      off_t from = 0;
      EXPECT_EQ(io::send_file(pair.a, file.fd(), &from, kFile), static_cast<long>(kFile));
      ::shutdown(pair.a, SHUT_WR);
      ++sent;
    });
  auto all_full = [&] {
    for (TcpPair& pair : pairs) {
      pollfd p{pair.a, POLLOUT, 0};
      if (::poll(&p, 1, 0) != 0) return false;
    }
    return true;
  };
  int still = 0;  // looks in a row that found all of them full
  for (int i = 0; i < 60000 && still < 50; ++i, usleep(1000)) still = all_full() ? still + 1 : 0;
  EXPECT_EQ(still, 50);
  EXPECT_EQ(sent, 0);
  // One for each of them, where sendfile waits in the kernel.
  EXPECT_LT(kernel_threads_in_sendfile(), kSenders / 2);
  std::vector<std::function<void()>> readers;
  for (TcpPair& pair : pairs)
    readers.push_back([&pair] { EXPECT_EQ(read_and_compare(pair.b, 0), kFile); });
  run_tasks(std::move(readers));
  EXPECT_EQ(sent, kSenders);
  for (TcpPair& pair : pairs) close_fd(pair.a), close_fd(pair.b);
}

TEST(IoSendFile, ErrorsAreTheKernels) {
  signal(SIGPIPE, SIG_IGN);
  TestFile file(kFile);
  LocalPair gone, full;
  close_fd(gone.b);
  timeval soon{0, 20000};
  ASSERT_EQ(::setsockopt(full.a, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof soon), 0);
  io::descriptor_set_timeout(full.a, false, 20'000'000);
  run_tasks({[&] {
    off_t from = 0;
    EXPECT_EQ(io::send_file(gone.a, file.fd(), &from, 100), -EPIPE);
    EXPECT_EQ(io::send_file(-1, file.fd(), &from, 100), -EBADF);
    EXPECT_EQ(io::send_file(full.a, -1, &from, 100), -EBADF);
    EXPECT_EQ(io::send_file(full.a, gone.a, nullptr, 100), -EINVAL);
    EXPECT_EQ(from, 0);
    // The part that went before the time was up; then nothing goes.
    long part = io::send_file(full.a, file.fd(), &from, kFile);
    EXPECT_TRUE(part > 0 && part < static_cast<long>(kFile)) << part;
    EXPECT_EQ(from, part);
    EXPECT_EQ(io::send_file(full.a, file.fd(), &from, kFile), -EAGAIN);
  }});
  close_fd(gone.a), close_fd(full.a), close_fd(full.b);
}

// The other end goes in the middle: the part, or the error, never a wait for ever.
TEST(IoSendFile, TheReaderGoes) {
  signal(SIGPIPE, SIG_IGN);
  TestFile file(kFile);
  for (int round = 0; round < 30; ++round) {
    TcpPair pair;
    run_tasks({[&] {
                 off_t from = 0;
                 long r = io::send_file(pair.a, file.fd(), &from, kFile);
                 EXPECT_TRUE(r > 0 ? r == from : r == -EPIPE || r == -ECONNRESET) << r;
                 r = io::send_file(pair.a, file.fd(), &from, kFile);
                 EXPECT_TRUE(r == -EPIPE || r == -ECONNRESET) << r;
               },
               [&] {
                 char buffer[1000];
                 for (int i = 0; i < round; ++i) io::read(pair.b, buffer, sizeof buffer);
                 close_fd(pair.b);
               }});
    close_fd(pair.a);
  }
}

}  // namespace
}  // namespace wisp::test
