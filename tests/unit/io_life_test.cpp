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

void spin_until(uint64_t ns) {
  while (monotonic_ns() < ns) {
  }
}

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

// As if so many waited there already; one more must not begin the number's next life.
TEST(IoLife, MoreWaitThanCanBeCounted) {
  Pipe p;
  io::Descriptor* d = io::descriptor_get(p.in);
  d->state.fetch_or(io::kCallers);
  uint64_t before = d->state.load();
  run_tasks({[&] {
               char c;
               EXPECT_EQ(io::read(p.in, &c, 1), 1);
             },
             [&] {
               usleep(1000);
               io::write(p.out, "x", 1);
             }});
  EXPECT_EQ(io::life_of(d->state.load()), io::life_of(before));
  EXPECT_EQ(d->state.load() & io::kCallers, io::kCallers);
  d->state.fetch_and(~uint64_t{io::kCallers});
  close_fd(p.in), close_fd(p.out);
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
    // A number that nobody else gets meanwhile: the read would find that it is in use again.
    int high = ::fcntl(p.in, F_DUPFD, 500);
    close_fd(p.in);
    p.in = fresh(high, io::kStream, io::kOwn);
    io::Closing closing = io::descriptor_closing(p.in);
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
    io::descriptor_closed(p.in, closing);
    for (int i = 0; i < 60000 && result.load() == 1000; ++i) usleep(1000);
    EXPECT_EQ(result.load(), polls ? POLLNVAL : -EBADF);
    close_fd(p.out);
  }
}

// poll holds no file: whenever another one is put under the number, poll finds that one.
TEST(IoLife, PollSeesTheFileThatReplaces) {
  Pipe marker;
  close_fd(marker.out);  // ready at once: the end of the stream
  io::descriptor_shared(marker.in);
  std::atomic<int> polled{-1};
  std::atomic<uint64_t> start{0};
  std::atomic<bool> over{false};
  static constexpr int kTurns = 2000;
  std::atomic<int> turn{-1}, done{-1};
  std::thread closer([&] {
    for (int i = 0; i < kTurns; ++i) {
      while (turn.load() != i)
        if (over.load()) return;
      spin_until(start.load() + static_cast<uint64_t>(i % 100) * 20);
      replace(polled.load(), marker.in);
      done = i;
    }
  });
  run_tasks({[&] {
    for (int i = 0; i < kTurns; ++i) {
      Pipe p;
      polled = p.in;
      start = monotonic_ns();
      turn = i;
      pollfd one{p.in, POLLIN | POLLERR, 0};
      int r = io::poll_until(&one, 1, monotonic_ns() + 60'000'000'000u);
      EXPECT_EQ(r, 1) << "replaced " << i % 100 * 20 << " ns after the call began";
      if (r != 1) break;
      while (done.load() != i) {
      }
      close_fd(p.in), close_fd(p.out);
    }
    over = true;
  }});
  closer.join();
  close_fd(marker.in);
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
               replace(pair.b, marker.in);
               usleep(2000);
               EXPECT_FALSE(done.load());
               io::write(pair.a, "z", 1);
             }});
  close_fd(pair.a), close_fd(pair.b), close_fd(marker.in), close_fd(marker.out);
}

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
