// Deadlines, accept and connect, waiting for several descriptors, the program's own epolls.
#include <sys/epoll.h>

#include "sync/sleep.h"
#include "unit/io_support.h"

namespace wisp::test {
namespace {

uint64_t elapsed_ms(uint64_t since) { return (monotonic_ns() - since) / 1'000'000; }

TEST(IoWait, ReceiveTimeout) {
  TcpPair tcp;
  timeval t{0, 50'000};
  ::setsockopt(tcp.a, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
  io::descriptor_set_timeout(tcp.a, true, 50'000'000);
  run_tasks({[&] {
    char c;
    uint64_t start = monotonic_ns();
    EXPECT_EQ(io::read(tcp.a, &c, 1), -EAGAIN);
    EXPECT_GE(elapsed_ms(start), 50u);
    ::send(tcp.b, "x", 1, 0);
    EXPECT_EQ(io::read(tcp.a, &c, 1), 1);
  }});
  close_fd(tcp.a), close_fd(tcp.b);
}

// Of two that become ready one after the other the one with the answer runs first.
TEST(IoWait, AnAnswerGoesAheadOfARequest) {
  if (carriers() != 1) GTEST_SKIP() << "with one carrier: nobody else takes one of them";
  int first = 0, rounds = 0;
  // In all of ten times 100 rounds, and in none of 1,200 if it does not. But the two may come in
  // two looks into the pump, on a machine that others use as well.
  while (rounds < 100 || (10 * first <= rounds && rounds < 1000)) {
    ++rounds;
    TcpPair request, answer, former;
    std::atomic<int> waiting{0};
    char order[3] = {0, 0, 0};
    std::atomic<uint32_t> said{0};
    auto reads = [&](int fd, char name) {
      char c;
      ++waiting;
      ASSERT_EQ(io::read(fd, &c, 1), 1);
      order[said++] = name;
    };
    run_tasks({[&] { reads(request.b, 'r'); }, [&] { reads(answer.a, 'a'); },
               [&] { reads(former.b, 'f'); },
               [&] {
                 auto soon_after = [](auto holds) {
                   yield_until(holds);
                   for (int i = 0; i < 10; ++i) yield();
                 };
                 soon_after([&] { return waiting.load() == 3; });
                 // Whoever waits in the pump leaves it with this one.
                 ::send(former.a, "x", 1, 0);
                 soon_after([&] { return said.load() == 1; });
                 ::send(request.a, "x", 1, 0);
                 ::send(answer.b, "x", 1, 0);
                 // Until the next look into the pump is due.
                 for (uint64_t end = ticks() + us_to_ticks(100); ticks() < end;) cpu_pause();
               }});
    if (order[1] == 'a') ++first;
    close_fd(request.a), close_fd(request.b), close_fd(answer.a), close_fd(answer.b);
    close_fd(former.a), close_fd(former.b);
  }
  EXPECT_GT(10 * first, rounds);
}

TEST(IoWait, AcceptOneByOneAmongMany) {
  sockaddr_in address;
  int listener = listen_tcp(&address);
  constexpr int kConnections = 120;
  std::atomic<int> accepted{0};
  std::vector<std::function<void()>> bodies;
  for (int i = 0; i < 8; ++i)
    bodies.push_back([&] {
      for (int k = 0; k < kConnections / 8; ++k) {
        long fd = io::accept(listener, nullptr, nullptr, 0);
        ASSERT_GE(fd, 0);
        ++accepted;
        io::descriptor_created(static_cast<int>(fd), io::kSocket, kTcpSocket);
        close_fd(static_cast<int>(fd));
      }
    });
  for (int i = 0; i < kConnections; ++i)
    bodies.push_back([&] {
      int fd = fresh(::socket(AF_INET, SOCK_STREAM, 0), io::kSocket, kTcpSocket);
      ASSERT_EQ(io::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
      EXPECT_EQ(::fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
      char c;
      EXPECT_EQ(io::read(fd, &c, 1), 0);
      close_fd(fd);
    });
  run_tasks(std::move(bodies));
  EXPECT_EQ(accepted.load(), kConnections);
  close_fd(listener);
}

TEST(IoWait, ConnectRefused) {
  sockaddr_in address;
  int nobody = bind_tcp(&address);
  run_tasks({[&] {
    int fd = fresh(::socket(AF_INET, SOCK_STREAM, 0), io::kSocket, kTcpSocket);
    EXPECT_EQ(io::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address),
              -ECONNREFUSED);
    close_fd(fd);
  }});
  close_fd(nobody);
}

TEST(IoWait, PollOneAndMany) {
  for (int round = 0; round < 50; ++round) {
    std::vector<Pipe> pipes(40);
    int hit = round % 40;
    run_tasks({[&] {
                 pollfd one{pipes[hit].in, POLLIN, 0};
                 EXPECT_EQ(io::poll_until(&one, 1, in_ms(60000)), 1);
                 EXPECT_EQ(one.revents, POLLIN);
               },
               [&] {
                 std::vector<pollfd> all;
                 for (auto& p : pipes) all.push_back({p.in, POLLIN, 0});
                 EXPECT_EQ(io::poll_until(all.data(), all.size(), kForever), 1);
                 EXPECT_EQ(all[hit].revents, POLLIN);
               },
               [&] {
                 fd_set in;
                 FD_ZERO(&in);
                 int n = 0;
                 for (auto& p : pipes) {
                   FD_SET(p.in, &in);
                   if (p.in >= n) n = p.in + 1;
                 }
                 EXPECT_EQ(io::select_until(n, &in, nullptr, nullptr, kForever), 1);
                 EXPECT_TRUE(FD_ISSET(pipes[hit].in, &in));
               },
               [&] {
                 if (round % 3 != 0) usleep(300);
                 io::write(pipes[hit].out, "x", 1);
               }});
    for (auto& p : pipes) close_fd(p.in), close_fd(p.out);
  }
}

// AWT's event loop beside threads that wait for answers on the same connection: what wakes it is
// gone when it looks, on one carrier always, and it has to hear of it all the same.
TEST(IoWait, PollBesideAQuickerReader) {
  for (bool by_select : {false, true}) {
    int fds[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    constexpr uint32_t kFlags = io::kOwn | io::kNonBlocking;
    int mine = fresh(fds[0], io::kSocket, kFlags), other = fresh(fds[1], io::kSocket, kFlags);
    Pipe quiet;
    std::atomic<int> told{0};
    auto polls = [&] {
      pollfd both[] = {{mine, POLLRDNORM, 0}, {quiet.in, POLLRDNORM, 0}};
      EXPECT_EQ(io::poll_until(both, 2, in_ms(20000)), 1);
      EXPECT_EQ(both[0].revents, POLLRDNORM);
      EXPECT_EQ(both[1].revents, 0);
    };
    auto selects = [&] {
      fd_set in;
      FD_ZERO(&in);
      FD_SET(mine, &in);
      FD_SET(quiet.in, &in);
      int n = std::max(mine, quiet.in) + 1;
      EXPECT_EQ(io::select_until(n, &in, nullptr, nullptr, in_ms(20000)), 1);
      EXPECT_TRUE(FD_ISSET(mine, &in));
      EXPECT_FALSE(FD_ISSET(quiet.in, &in));
    };
    run_tasks({[&] {
                 char byte;
                 while (told.load() == 0) {
                   pollfd p{mine, POLLIN, 0};
                   io::poll_until(&p, 1, in_ms(100));
                   io::receive(mine, &byte, 1, 0, nullptr, nullptr);
                 }
               },
               [&] {
                 by_select ? selects() : polls();
                 told.store(1);
               },
               [&] {
                 while (told.load() == 0) {
                   EXPECT_EQ(io::send(other, "x", 1, 0, nullptr, 0), 1);
                   timespec ms{0, 1'000'000};
                   task_nanosleep(&ms, nullptr);
                 }
               }});
    close_fd(mine);
    close_fd(other);
    close_fd(quiet.in);
    close_fd(quiet.out);
  }
}

// The timed reads of the JDK: a non-blocking socket, poll, receive. poll may answer from the
// record alone (readable_by_event, and what an EAGAIN showed); each answer must still be right.
TEST(IoWait, PollThenReceiveOfNonBlockingSockets) {
  constexpr int kTurns = 3000;
  int fds[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, fds), 0);
  constexpr uint32_t kFlags = io::kOwn | io::kNonBlocking;
  int a = fresh(fds[0], io::kSocket, kFlags), b = fresh(fds[1], io::kSocket, kFlags);
  TcpPair tcp;
  for (int fd : {tcp.a, tcp.b}) {
    ::fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK);
    io::descriptor_set_nonblocking(fd, true);
  }
  auto take = [](int fd, int wanted) {
    int got = -1;
    pollfd p{fd, POLLIN, 0};
    while (io::receive(fd, &got, sizeof got, 0, nullptr, nullptr) == -EAGAIN) {
      p.revents = 0;
      int r = io::poll_until(&p, 1, in_ms(60000));
      ASSERT_EQ(r, 1) << "nothing within a minute, turn " << wanted;
      ASSERT_EQ(p.revents, POLLIN);
    }
    ASSERT_EQ(got, wanted);
  };
  auto play = [&](int mine, bool first) {
    for (int i = 0; i < kTurns; ++i) {
      if (!first) take(mine, i);
      ASSERT_EQ(io::send(mine, &i, sizeof i, 0, nullptr, 0), static_cast<long>(sizeof i));
      if (first) take(mine, i);
    }
  };
  run_tasks({[&] { play(a, true); }, [&] { play(b, false); }, [&] { play(tcp.a, true); },
             [&] { play(tcp.b, false); }});
  run_tasks({[&] {
               pollfd p{a, POLLIN, 0};
               EXPECT_EQ(io::poll_until(&p, 1, in_ms(20)), 0) << "drained, so nothing to report";
               // The end of a stream is more than POLLIN.
               pollfd end{tcp.a, POLLIN, 0};
               EXPECT_EQ(io::poll_until(&end, 1, in_ms(60000)), 1);
               char c;
               EXPECT_EQ(io::receive(tcp.a, &c, 1, 0, nullptr, nullptr), 0);
             },
             [&] {
               usleep(40000);
               close_fd(tcp.b);
             }});
  for (int fd : {a, b, tcp.a}) close_fd(fd);
}

// An empty error queue says nothing of the data: the next receive must not wait for another edge.
TEST(IoWait, OtherQueuesDoNotDrain) {
  TcpPair tcp;
  run_tasks({[&] {
    char c;
    ASSERT_EQ(io::send(tcp.b, "a", 1, 0, nullptr, 0), 1);
    ASSERT_EQ(io::receive(tcp.a, &c, 1, 0, nullptr, nullptr), 1);
    // Registers it: nothing comes.
    pollfd p{tcp.a, POLLIN, 0};
    ASSERT_EQ(io::poll_until(&p, 1, in_ms(20)), 0);
    ASSERT_EQ(io::send(tcp.b, "b", 1, 0, nullptr, 0), 1);
    p.revents = 0;
    ASSERT_EQ(io::poll_until(&p, 1, in_ms(60000)), 1);
    io::poll_until(nullptr, 0, in_ms(20));  // the pump has delivered the edge: there is no other
    ::fcntl(tcp.a, F_SETFL, O_RDWR | O_NONBLOCK);
    io::descriptor_set_nonblocking(tcp.a, true);
    ASSERT_EQ(io::receive(tcp.a, &c, 1, MSG_ERRQUEUE, nullptr, nullptr), -EAGAIN);
    ::fcntl(tcp.a, F_SETFL, O_RDWR);
    io::descriptor_set_nonblocking(tcp.a, false);
    ASSERT_EQ(io::receive(tcp.a, &c, 1, 0, nullptr, nullptr), 1);
    EXPECT_EQ(c, 'b');
  }});
  close_fd(tcp.a), close_fd(tcp.b);
}

TEST(IoWait, PollTimesOut) {
  Pipe p;
  run_tasks({[&] {
    pollfd both{p.in, POLLIN | POLLOUT, 0};
    uint64_t start = monotonic_ns();
    EXPECT_EQ(io::poll_until(&both, 1, in_ms(30)), 0);
    EXPECT_GE(elapsed_ms(start), 30u);
    pollfd one{p.in, POLLIN, 0};
    EXPECT_EQ(io::poll_until(&one, 1, in_ms(30)), 0);
    EXPECT_EQ(io::poll_until(nullptr, 0, in_ms(10)), 0);
  }});
  close_fd(p.in), close_fd(p.out);
}

TEST(IoWait, EpollOfTheProgram) {
  int epoll = fresh(::epoll_create1(0), io::kStream, io::kOwn);
  std::vector<Pipe> pipes(10);
  for (size_t i = 0; i < pipes.size(); ++i) {
    epoll_event e{};
    e.events = EPOLLIN;
    e.data.u64 = i;
    ASSERT_EQ(::epoll_ctl(epoll, EPOLL_CTL_ADD, pipes[i].in, &e), 0);
  }
  constexpr int kTurns = 2000;
  Pipe back;
  std::atomic<bool> timed_out{false};
  run_tasks({[&] {
               epoll_event e[4];
               EXPECT_EQ(io::epoll_wait_until(epoll, e, 4, in_ms(20)), 0);
               timed_out = true;
               for (int i = 0; i < kTurns; ++i) {
                 ASSERT_EQ(io::epoll_wait_until(epoll, e, 4, kForever), 1);
                 ASSERT_EQ(e[0].data.u64, i % pipes.size());
                 char c;
                 ASSERT_EQ(io::read(pipes[e[0].data.u64].in, &c, 1), 1);
                 ASSERT_EQ(io::write(back.out, &c, 1), 1);
               }
             },
             [&] {
               while (!timed_out) usleep(1000);
               for (int i = 0; i < kTurns; ++i) {
                 char c;
                 ASSERT_EQ(io::write(pipes[i % pipes.size()].out, "x", 1), 1);
                 ASSERT_EQ(io::read(back.in, &c, 1), 1);
               }
             }});
  for (auto& p : pipes) close_fd(p.in), close_fd(p.out);
  close_fd(epoll);
}

}  // namespace
}  // namespace wisp::test
