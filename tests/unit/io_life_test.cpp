// Lives of descriptor numbers: reuse, duplicates, numbers closed while calls wait on them.
#include "unit/io_support.h"

namespace wisp::test {
namespace {

// Returns when that many blocking calls hold the file behind fd: from here on they go on whatever
// becomes of the number, before it they may find another file or none.
void until_callers(int fd, uint32_t wanted) {
  for (;; usleep(100)) {
    io::Descriptor* d = io::descriptor_find(fd);
    if (d != nullptr && static_cast<uint32_t>(d->state.load()) / io::kOneCaller == wanted) return;
  }
}

TEST(IoLife, ReusedNumberStartsAfresh) {
  for (int i = 0; i < 200; ++i) {
    TcpPair tcp;
    run_tasks({[&] {
                 char c;
                 EXPECT_EQ(io::read(tcp.b, &c, 1), 1);
               },
               [&] { io::write(tcp.a, "x", 1); }});
    close_fd(tcp.a), close_fd(tcp.b);
    Pipe p;  // most likely the same numbers
    run_tasks({[&] {
                 char c;
                 EXPECT_EQ(io::read(p.in, &c, 1), 1);
               },
               [&] { io::write(p.out, "y", 1); }});
    close_fd(p.in), close_fd(p.out);
  }
}

// A close that nobody told the table of; the creation of the next one cleans it up.
TEST(IoLife, StaleRecordIsCleanedByCreation) {
  for (int i = 0; i < 50; ++i) {
    TcpPair tcp;
    run_tasks({[&] {
                 char c;
                 EXPECT_EQ(io::read(tcp.b, &c, 1), 1);
               },
               [&] { io::write(tcp.a, "x", 1); }});
    ::close(tcp.a), ::close(tcp.b);
    TcpPair again;
    run_tasks({[&] {
                 char c;
                 EXPECT_EQ(io::read(again.b, &c, 1), 1);
               },
               [&] {
                 usleep(100);
                 io::write(again.a, "x", 1);
               }});
    close_fd(again.a), close_fd(again.b);
  }
}

// The other duplicate keeps the file, and so the registration, alive.
TEST(IoLife, DuplicateTakesTheNumberBack) {
  for (int i = 0; i < 50; ++i) {
    LocalPair pair;
    run_tasks({[&] {
                 char c;
                 EXPECT_EQ(io::read(pair.b, &c, 1), 1);
               },
               [&] { io::write(pair.a, "x", 1); }});
    io::descriptor_shared(pair.b);
    int other = fresh(::dup(pair.b));
    close_fd(pair.b);
    int same = fresh(::dup(other));  // the same number, the same file
    run_tasks({[&] {
                 char c;
                 EXPECT_EQ(io::read(same, &c, 1), 1);
                 EXPECT_EQ(io::read(other, &c, 1), 1);
               },
               [&] {
                 usleep(100);
                 io::write(pair.a, "x", 1);
                 usleep(100);
                 io::write(pair.a, "x", 1);
               }});
    close_fd(other), close_fd(same), close_fd(pair.a);
  }
}

// As in the kernel: the reader holds the file, not the number.
TEST(IoLife, ReaderGoesOnAfterClose) {
  for (int i = 0; i < 100; ++i) {
    Pipe p;
    std::atomic<int> left{0};
    auto reader = [&] {
      char c;
      EXPECT_EQ(io::read(p.in, &c, 1), 0);
      ++left;
    };
    run_tasks({reader, reader, [&] {
                 until_callers(p.in, 2);
                 close_fd(p.in);
                 usleep(1000);
                 EXPECT_EQ(left.load(), 0) << "a reader left before the end of the stream";
                 close_fd(p.out);
               }});
  }
}

// A wait that begins when the life has been ended and the number is not closed yet.
TEST(IoLife, NobodyWaitsForAClosedNumber) {
  start_scheduler();
  for (bool polls : {false, true}) {
    Pipe p;
    uint32_t life = io::descriptor_closing(p.in);
    static std::atomic<long> result;
    result = 1000;
    spawn([=] {
      char c;
      pollfd one{p.in, POLLIN, 0};
      result = polls ? io::poll_until(&one, 1, kForever) : io::read(p.in, &c, 1);
      if (polls) result = one.revents;
    });
    io::Descriptor* d = io::descriptor_find(p.in);
    while ((d->in.load() & 1) == 0) usleep(100);  // it is parked
    ::close(p.in);
    usleep(2000);
    EXPECT_EQ(result.load(), 1000);
    io::descriptor_closed(p.in, life);
    for (int i = 0; i < 20000 && result.load() == 1000; ++i) usleep(1000);
    EXPECT_EQ(result.load(), polls ? POLLNVAL : -EBADF);
    close_fd(p.out);
  }
}

TEST(IoLife, ReaderGoesOnAfterDup2) {
  LocalPair pair;
  Pipe marker;
  std::atomic<bool> done{false};
  run_tasks({[&] {
               char c = 0;
               EXPECT_EQ(io::read(pair.b, &c, 1), 1);
               EXPECT_EQ(c, 'z');
               done = true;
             },
             [&] {
               until_callers(pair.b, 1);
               io::descriptor_shared(marker.in);
               int kept = io::descriptor_replacing(pair.b);
               ASSERT_EQ(::dup2(marker.in, pair.b), pair.b);
               io::descriptor_replaced(pair.b, kept);
               usleep(2000);
               EXPECT_FALSE(done.load());
               io::write(pair.a, "z", 1);
             }});
  close_fd(pair.a), close_fd(pair.b), close_fd(marker.in), close_fd(marker.out);
}

// The JDK closes a socket that is being connected by putting the end of a half-closed pair under
// its number, at any moment of the call. That file is ready; the connection is not made.
TEST(IoLife, ConnectDoesNotTakeAnotherFileForItsOwn) {
  sockaddr_in address;
  int listener = listen_tcp(&address);
  ASSERT_EQ(::listen(listener, 0), 0);
  int fill = ::socket(AF_INET, SOCK_STREAM, 0);  // the one that a backlog of 0 has room for
  ASSERT_EQ(::connect(fill, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
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
        uint64_t until = monotonic_ns() + static_cast<uint64_t>(i % 40) * 500;
        while (monotonic_ns() < until) {
        }
        int kept = io::descriptor_replacing(fd);
        ASSERT_EQ(::dup2(marker.a, fd), fd);
        io::descriptor_replaced(fd, kept);
      });
      begins = true;
      result = io::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
      closer.join();
    }});
    EXPECT_LT(result, 0) << "replaced " << i % 40 * 500 << " ns after the call began";
    close_fd(fd);
  }
  ::close(fill), close_fd(listener), close_fd(marker.a);
}

// After a refused connection the same socket connects anew, with the same answer.
TEST(IoLife, RefusedSocketConnectsAgain) {
  sockaddr_in address;
  close_fd(listen_tcp(&address));
  run_tasks({[&] {
    int fd = fresh(::socket(AF_INET, SOCK_STREAM, 0), io::kSocket, kTcpSocket);
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(io::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address),
                -ECONNREFUSED);
    close_fd(fd);
  }});
}

// shutdown(2) ends a connect, as the JDK's close begins; it must not begin another one.
TEST(IoLife, ShutdownEndsAConnect) {
  sockaddr_in address;
  int listener = listen_tcp(&address);
  ASSERT_EQ(::listen(listener, 0), 0);
  int fill = ::socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_EQ(::connect(fill, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  int fd = fresh(::socket(AF_INET, SOCK_STREAM, 0), io::kSocket, kTcpSocket);
  run_tasks({[&] {
               EXPECT_EQ(io::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address),
                         -ECONNRESET);
             },
             [&] {
               until_callers(fd, 1);
               ::shutdown(fd, SHUT_WR);
             }});
  ::close(fill), close_fd(listener), close_fd(fd);
}

// A shutdown between the end of the connection's making and the task's next step: it was made.
TEST(IoLife, ShutdownAfterTheConnect) {
  sockaddr_in address;
  int listener = listen_tcp(&address);
  ASSERT_EQ(::listen(listener, 0), 0);
  int fill = ::socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_EQ(::connect(fill, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  int fd = fresh(::socket(AF_INET, SOCK_STREAM, 0), io::kSocket, kTcpSocket);
  static std::atomic<long> result;
  static std::atomic<int> holding;
  static std::atomic<bool> release;
  result = 1, holding = 0, release = false;
  start_scheduler();
  spawn([=] {
    result = io::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  });
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
  ASSERT_GE(::accept(listener, nullptr, nullptr), 0);
  pollfd connected{fd, POLLOUT, 0};
  ASSERT_EQ(::poll(&connected, 1, 15000), 1);  // the kernel tries again after 1, 3, 7 s
  ASSERT_EQ(::shutdown(fd, SHUT_RD), 0);
  release = true;
  for (int i = 0; i < 20000 && result.load() == 1; ++i) usleep(1000);
  EXPECT_EQ(result.load(), 0);
  ::close(fill), close_fd(listener), close_fd(fd);
}

TEST(IoLife, ShutdownEndsAWait) {
  TcpPair tcp;
  run_tasks({[&] {
               char c;
               EXPECT_EQ(io::read(tcp.a, &c, 1), 0);
             },
             [&] {
               usleep(5000);
               ::shutdown(tcp.a, SHUT_RD);
             }});
  close_fd(tcp.a), close_fd(tcp.b);
}

// O_NONBLOCK set by somebody else who has the same file turns a wait into EAGAIN.
TEST(IoLife, SharedFlagIsAskedFor) {
  LocalPair pair;
  io::descriptor_shared(pair.a);
  int other = ::dup(pair.a);
  ::fcntl(other, F_SETFL, ::fcntl(other, F_GETFL) | O_NONBLOCK);
  run_tasks({[&] {
    char c;
    EXPECT_EQ(io::read(pair.a, &c, 1), -EAGAIN);
  }});
  ::close(other);
  close_fd(pair.a), close_fd(pair.b);
}

}  // namespace
}  // namespace wisp::test
