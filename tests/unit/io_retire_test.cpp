// Events that nobody waits for: room to write is told of once somebody has waited for it, and a
// descriptor whose events are nobody's leaves the event pump (io/registration.cpp).
#include <sys/epoll.h>

#include <thread>

#include "io/epoll_set.h"
#include "unit/io_support.h"

namespace wisp::test {
namespace {

uint64_t state_of(int fd) { return io::descriptor_find(fd)->state.load(); }

// Linux tells of room on a datagram socket after each message that its peer has taken.
TEST(IoRetire, RoomIsToldOfToWhoHasWaited) {
  start_scheduler();
  LocalPair s(SOCK_DGRAM);
  io::Descriptor* d = io::descriptor_find(s.a);
  uint32_t before = 0, after = 1;
  run_tasks({[&] {
               char c = 'a';
               EXPECT_EQ(io::read(s.a, &c, 1), 1);
               before = d->out.load();
               for (int i = 0; i < 100; ++i) {
                 EXPECT_EQ(io::write(s.a, &c, 1), 1);
                 EXPECT_EQ(io::read(s.a, &c, 1), 1);
               }
               after = d->out.load();
             },
             [&] {
               char c = 'b';
               for (int i = 0; i < 100; ++i) {
                 EXPECT_EQ(io::write(s.b, &c, 1), 1);
                 EXPECT_EQ(io::read(s.b, &c, 1), 1);
               }
               EXPECT_EQ(io::write(s.b, &c, 1), 1);
             }});
  EXPECT_EQ(before, after) << "events of room that nobody had asked for";
  constexpr int kMany = 5000;  // more than a socket's queue has room for
  run_tasks({[&] {
               for (int i = 0; i < kMany; ++i) EXPECT_EQ(io::write(s.a, &i, sizeof i), 4);
             },
             [&] {
               while ((d->out.load() & 1) == 0) usleep(1000);  // the writer waits
               for (int i = 0, got; i < kMany; ++i) {
                 EXPECT_EQ(io::read(s.b, &got, sizeof got), 4);
                 EXPECT_EQ(got, i);
               }
             }});
  close_fd(s.a), close_fd(s.b);
}

// A reader and a writer of one socket, neither of which has waited before.
TEST(IoRetire, BothWaysFromTheStart) {
  start_scheduler();
  for (int round = 0; round < 300; ++round) {
    LocalPair s;
    int small = 1;
    ::setsockopt(s.a, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    std::string much(20'000, 'x');
    std::thread peer([&] {
      if (round % 2 != 0) usleep(static_cast<useconds_t>(round));
      std::string got(much.size(), 0);
      for (size_t n = 0; n < much.size();) {
        ssize_t r = ::read(s.b, &got[n], much.size() - n);
        if (r <= 0) abort();
        n += static_cast<size_t>(r);
      }
      EXPECT_EQ(got, much);
      EXPECT_EQ(::write(s.b, "y", 1), 1);
    });
    run_tasks({[&] {
                 char c;
                 EXPECT_EQ(io::read(s.a, &c, 1), 1);
               },
               [&] {
                 EXPECT_EQ(io::write(s.a, much.data(), much.size()),
                           static_cast<long>(much.size()));
               }});
    peer.join();
    close_fd(s.a), close_fd(s.b);
  }
}

TEST(IoRetire, WhatComesForNobodyLeavesThePump) {
  start_scheduler();
  LocalPair s;
  char c = 'c';
  auto wait_once = [&] {
    run_tasks({[&] { EXPECT_EQ(io::read(s.a, &c, 1), 1); },
               [&] { EXPECT_EQ(io::write(s.b, &c, 1), 1); }});
  };
  // Who comes late finds it there without a wait.
  for (int i = 0; i < 1000 && (state_of(s.a) & io::kRegistered) == 0; ++i) wait_once();
  ASSERT_NE(state_of(s.a) & io::kRegistered, 0u);
  uint64_t before = io::pump_counts().retired;
  int messages = 0;
  for (; messages < 10'000 && (state_of(s.a) & io::kRegistered) != 0; ++messages) {
    ASSERT_EQ(::write(s.b, &c, 1), 1);
    usleep(300);  // so that each is an event of its own
    ASSERT_EQ(::read(s.a, &c, 1), 1);
  }
  EXPECT_EQ(state_of(s.a) & (io::kRegistered | io::kRegistering), 0u);
  EXPECT_GT(messages, io::kVain / 2);
  EXPECT_TRUE(until([&] { return io::pump_counts().retired == before + 1; }));
  std::thread writer([&] {
    while ((io::descriptor_find(s.a)->in.load() & 1) == 0) usleep(100);
    EXPECT_EQ(::write(s.b, &c, 1), 1);
  });
  run_tasks({[&] { EXPECT_EQ(io::read(s.a, &c, 1), 1); }});
  writer.join();
  EXPECT_NE(state_of(s.a) & io::kRegistered, 0u) << "it is back";
  close_fd(s.a), close_fd(s.b);
}

// Each end waits for the other while both are taken out of the pump all the time. A number of more
// than a byte, so that what is lost or double shows.
void pass_on(const LocalPair& s, const std::function<void(int)>& wait) {
  constexpr int kTrips = 2000;
  std::atomic<bool> stop{false};
  std::thread retirer([&] {
    while (!stop)
      for (int fd : {s.a, s.b}) {
        uint64_t state = state_of(fd);
        io::pump_retire(fd, io::descriptor_find(fd), io::life_of(state));
      }
  });
  auto side = [&](int fd, bool first) {
    for (int i = 0, got = -1; i < kTrips; ++i) {
      if (first) {
        EXPECT_EQ(io::write(fd, &i, sizeof i), 4);
      }
      wait(fd);
      EXPECT_EQ(io::read(fd, &got, sizeof got), 4);
      EXPECT_EQ(got, i);
      if (!first) {
        EXPECT_EQ(io::write(fd, &i, sizeof i), 4);
      }
    }
  };
  run_tasks({[&] { side(s.a, true); }, [&] { side(s.b, false); }});
  stop = true;
  retirer.join();
}

TEST(IoRetire, UnderCalls) {
  start_scheduler();
  LocalPair s;
  pass_on(s, [](int) {});
  close_fd(s.a), close_fd(s.b);
}

TEST(IoRetire, UnderPolls) {
  start_scheduler();
  LocalPair s;
  Pipe never;
  pass_on(s, [&](int fd) {
    pollfd both[] = {{fd, POLLIN, 0}, {never.in, POLLIN, 0}};
    EXPECT_EQ(io::poll_until(both, 2, in_ms(100'000)), 1);
  });
  pass_on(s, [&](int fd) {
    pollfd one{fd, POLLIN, 0};
    EXPECT_EQ(io::poll_until(&one, 1, in_ms(100'000)), 1);
  });
  close_fd(s.a), close_fd(s.b), close_fd(never.in), close_fd(never.out);
}

// Added and taken out at each wait, so that it is taken out of the pump in between.
TEST(IoRetire, UnderEpollInstances) {
  start_scheduler();
  LocalPair s;
  int sets[2];
  for (int& set : sets)
    set = fresh(::epoll_create1(EPOLL_CLOEXEC), io::kStream, io::kOwn | io::kEpoll);
  pass_on(s, [&](int fd) {
    int set = sets[fd == s.b];
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    EXPECT_EQ(io::epoll_control(set, EPOLL_CTL_ADD, fd, &event), 0);
    EXPECT_EQ(io::epoll_wait_until(set, &event, 1, in_ms(100'000)), 1);
    EXPECT_EQ(io::epoll_control(set, EPOLL_CTL_DEL, fd, nullptr), 0);
  });
  for (int set : sets) close_fd(set);
  close_fd(s.a), close_fd(s.b);
}

}  // namespace
}  // namespace wisp::test
