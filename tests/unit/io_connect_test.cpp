// Connects under which the number is closed, shut down or connected again (as io_life_test.cpp).
#include "unit/io_support.h"

namespace wisp::test {
namespace {

// A listener whose queue is full: Linux drops what comes, so a connect to it waits.
struct FullListener {
  sockaddr_in address;
  int listener = listen_tcp(&address);
  int fill = ::socket(AF_INET, SOCK_STREAM, 0);  // the one that a backlog of 0 has room for
  FullListener() {
    auto* to = reinterpret_cast<sockaddr*>(&address);
    if (::listen(listener, 0) != 0 || ::connect(fill, to, sizeof address) != 0) abort();
  }
  ~FullListener() { ::close(fill), close_fd(listener); }
  FullListener(const FullListener&) = delete;
  FullListener& operator=(const FullListener&) = delete;
  long connect(int fd) const {
    return io::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  }
};

// The JDK closes a socket that is being connected by putting the end of a half-closed pair under
// its number, at any moment of the call. That file is ready; the connection is not made.
TEST(IoLife, ConnectDoesNotTakeAnotherFileForItsOwn) {
  FullListener full;
  LocalPair marker;
  close_fd(marker.b);
  io::descriptor_shared(marker.a);
  for (int i = 0; i < 200; ++i) {
    int fd = fresh(::socket(AF_INET, SOCK_STREAM, 0), io::kSocket, kTcpSocket);
    timeval soon{0, 5000};
    ASSERT_EQ(::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof soon), 0);
    std::atomic<bool> begins{false};
    long result = 1;
    run_tasks({[&] {
      std::thread closer([&] {
        while (!begins.load()) {
        }
        spin_until(monotonic_ns() + static_cast<uint64_t>(i % 40) * 500);
        replace(fd, marker.a);
      });
      begins = true;
      result = full.connect(fd);
      closer.join();
    }});
    EXPECT_LT(result, 0) << "replaced " << i % 40 * 500 << " ns after the call began";
    close_fd(fd);
  }
  close_fd(marker.a);
}

// After a refused connection the same socket connects anew, with the same answer.
TEST(IoLife, RefusedSocketConnectsAgain) {
  sockaddr_in address;
  int nobody = bind_tcp(&address);
  run_tasks({[&] {
    int fd = fresh(::socket(AF_INET, SOCK_STREAM, 0), io::kSocket, kTcpSocket);
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(io::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address),
                -ECONNREFUSED);
    close_fd(fd);
  }});
  close_fd(nobody);
}

// shutdown(2) ends a connect, as the JDK's close begins; it must not begin another one.
TEST(IoLife, ShutdownEndsAConnect) {
  FullListener full;
  int fd = fresh(::socket(AF_INET, SOCK_STREAM, 0), io::kSocket, kTcpSocket);
  run_tasks({[&] { EXPECT_EQ(full.connect(fd), -ECONNRESET); },
             [&] {
               until_callers(fd, 1);
               ::shutdown(fd, SHUT_WR);
             }});
  close_fd(fd);
}

// A shutdown between the end of the connection's making and the task's next step: it was made.
TEST(IoLife, ShutdownAfterTheConnect) {
  FullListener full;
  int fd = fresh(::socket(AF_INET, SOCK_STREAM, 0), io::kSocket, kTcpSocket);
  static std::atomic<long> result;
  static std::atomic<int> holding;
  static std::atomic<bool> release;
  result = 1, holding = 0, release = false;
  start_scheduler();
  spawn([fd, &full] { result = full.connect(fd); });
  until_callers(fd, 1);
  // Keeps all carriers: the connecting task does not get to look in between.
  for (int i = 0; i < carriers(); ++i)
    spawn([] {
      RuntimeEntry entry;
      holding.fetch_add(1);
      while (!release.load()) {
      }
    });
  while (holding.load() != carriers()) usleep(100);
  ASSERT_GE(::accept(full.listener, nullptr, nullptr), 0);
  pollfd connected{fd, POLLOUT, 0};
  ASSERT_EQ(::poll(&connected, 1, 60000), 1);  // the kernel tries again after 1, 3, 7, 15 s
  ASSERT_EQ(::shutdown(fd, SHUT_RD), 0);
  release = true;
  for (int i = 0; i < 60000 && result.load() == 1; ++i) usleep(1000);
  EXPECT_EQ(result.load(), 0);
  close_fd(fd);
}

}  // namespace
}  // namespace wisp::test
