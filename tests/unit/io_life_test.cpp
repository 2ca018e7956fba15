// Lives of descriptor numbers: reuse, duplicates, numbers closed while calls wait on them.
#include "io/blocking_call.h"
#include "unit/io_support.h"

namespace wisp::test {
namespace {

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

// Whoever comes when the number gets another file reads from one of the two.
TEST(IoLife, ALateReaderHasOneFileOrTheOther) {
  signal(SIGPIPE, SIG_IGN);
  Pipe marker;
  close_fd(marker.out);
  io::descriptor_shared(marker.in);
  std::atomic<uint64_t> start{0};
  std::atomic<bool> over{false};
  static constexpr int kTurns = 4000;
  std::atomic<int> turn{-1}, done{-1};
  std::atomic<Pipe*> pipe{nullptr};
  std::thread closer([&] {
    for (int i = 0; i < kTurns; ++i) {
      while (turn.load() != i)
        if (over.load()) return;
      spin_until(start.load() + static_cast<uint64_t>(i % 100) * 40);
      replace(pipe.load()->in, marker.in);
      // For who waits at the first one; nobody may.
      EXPECT_TRUE(::write(pipe.load()->out, "x", 1) == 1 || errno == EPIPE);
      done = i;
    }
  });
  run_tasks({[&] {
    for (int i = 0; i < kTurns; ++i) {
      Pipe p;
      pipe = &p;
      start = monotonic_ns();
      turn = i;
      char c;
      long r = io::read(p.in, &c, 1);
      EXPECT_TRUE(r == 0 || r == 1) << r << ", replaced " << i % 100 * 40 << " ns after the start";
      if (r != 0 && r != 1) break;
      while (done.load() != i) {
      }
      close_fd(p.in), close_fd(p.out);
    }
    over = true;
  }});
  closer.join();
  close_fd(marker.in);
}

// Its attempt found nothing, and before it waits the number stands for another file.
TEST(IoLife, WhoCameBeforeTheCloseLeavesTheNextFileAlone) {
  run_tasks({[] {
    for (bool by_dup2 : {false, true, false}) {
      Pipe p, other;
      io::BlockingCall call(p.in, io::Direction::In);
      uint32_t seen = call.word();
      if (by_dup2) {
        replace(p.in, other.in);
      } else {
        close_fd(p.in);
        ASSERT_EQ(::dup2(other.in, p.in), p.in);  // as if it were the lowest free one
        io::descriptor_created(p.in, io::kStream, io::kOwn);
      }
      EXPECT_EQ(call.wait(seen), by_dup2 ? io::BlockingCall::kMakeTheCall : -EBADF);
      for (int fd : {p.in, p.out, other.in, other.out}) close_fd(fd);
    }
  }});
}

// The number was another file's before, by dup2.
TEST(IoLife, WhoCameBeforeTheCloseAfterDup2LeavesTheNextFileAlone) {
  run_tasks({[] {
    Pipe p, other;
    replace(p.in, other.in);
    io::BlockingCall call(p.in, io::Direction::In);
    uint32_t seen = call.word();
    close_fd(p.in);
    EXPECT_EQ(call.wait(seen), -EBADF);
    for (int fd : {p.out, other.in, other.out}) close_fd(fd);
  }});
}

// Between the look at the life and the kernel's epoll_ctl, which then knows no such number: refused
// for that, the call was made in the kernel, by the number, and waited on the next file.
TEST(IoLife, WhoRegistersDuringTheCloseLeavesTheNextFileAlone) {
  constexpr int kRounds = 20000;
  std::atomic<int> begun{0}, closed{0};
  int fd = -1;
  std::thread closer([&] {
    for (int i = 1; i <= kRounds; ++i) {
      while (begun.load() != i) std::this_thread::yield();
      for (int n = 0; n < i % 100; ++n) cpu_pause();
      close_fd(fd);
      closed = i;
    }
  });
  run_tasks({[&] {
    int made = 0;
    for (int i = 1; i <= kRounds; ++i) {
      LocalPair p;
      fd = p.a;
      io::BlockingCall call(p.a, io::Direction::In);
      uint32_t seen = call.word();
      begun = i;
      long r = call.wait(seen);
      if (r == io::BlockingCall::kMakeTheCall) ++made;
      while (closed.load() != i) std::this_thread::yield();
      close_fd(p.b);
    }
    EXPECT_EQ(made, 0);
  }});
  closer.join();
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
