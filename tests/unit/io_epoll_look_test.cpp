// Calls with a timeout of 0 on an epoll instance in user space: they see what has happened before
// them, whoever has the events in hand.
#include "scheduler/poller.h"
#include "sync/sleep.h"
#include "unit/epoll_support.h"

namespace wisp::test {
namespace {

// Who looks without a wait takes one of two that are ready, and leaves: the other one is for who
// waits.
TEST(IoEpoll, WhatALookLeavesIsForTheWaiter) {
  for (int round = 0; round < 200; ++round) {
    int epoll = instance(), a = event_source(), b = event_source();
    ASSERT_EQ(control(epoll, EPOLL_CTL_ADD, a, EPOLLIN), 0);
    ASSERT_EQ(control(epoll, EPOLL_CTL_ADD, b, EPOLLIN), 0);
    std::atomic<bool> looked{false};
    run_tasks({[&] {
                 epoll_event e;
                 for (int got = 0; !looked || got == 0;)
                   got += io::epoll_wait_until(epoll, &e, 1, kForever) == 1 ? 1 : 0;
                 take(a), take(b);
               },
               [&] {
                 epoll_event e;
                 signal(a), signal(b);
                 io::epoll_look(epoll, io::descriptor_find(epoll), &e, 1, io::Look::Exactly);
                 looked = true;
               }});
    close_fd(a), close_fd(b), close_fd(epoll);
  }
}

// An instance that is only ever looked at.
TEST(IoEpoll, PollersGetTheKernels) {
  int epoll = instance(), source = event_source();
  ASSERT_EQ(control(epoll, EPOLL_CTL_ADD, source, EPOLLIN), 0);
  run_tasks({[&] {
    io::Descriptor* d = io::descriptor_find(epoll);
    epoll_event e;
    EXPECT_TRUE(in_user_space(epoll));
    for (int i = 0; i < 1500; ++i) {
      signal(source);
      EXPECT_EQ(io::epoll_look(epoll, d, &e, 1, io::Look::Exactly), 1);
      EXPECT_EQ(take(source), 1);
    }
    EXPECT_EQ(d->state.load() & io::kEpoll, 0u);
  }});
  close_fd(source), close_fd(epoll);
}

// What happened before the call is in its answer, whoever has it in hand at that moment. Returns
// whether the set has given all these answers itself.
bool see_all(int count, uint32_t events) {
  start_scheduler();  // there is a pump
  int epoll = instance();
  std::vector<int> sources(static_cast<size_t>(count));
  for (int& fd : sources) {
    fd = event_source();
    // Somebody has waited for it before, so it may be in any part of the pump.
    io::Descriptor* d = io::descriptor_find(fd);
    uint32_t part = static_cast<uint32_t>(&fd - sources.data()) / 3 % pump_parts();
    EXPECT_EQ(io::make_ready(fd, d, io::life_of(d->state.load()), false, part), io::Wait::Ready);
    EXPECT_EQ(control(epoll, EPOLL_CTL_ADD, fd, events), 0);
  }
  std::atomic<bool> over{false};
  std::vector<std::function<void()>> bodies;
  bodies.push_back([&] {
    for (int round = 0; round < 300; ++round) {
      if (round % 4 == 0) usleep(300);  // the others go idle
      int some = 1 + round % count;
      for (int i = 0; i < some; ++i) signal(sources[i]);
      std::vector<epoll_event> e(sources.size());
      io::Descriptor* d = io::descriptor_find(epoll);
      EXPECT_EQ(io::epoll_look(epoll, d, e.data(), count, io::Look::Exactly), some);
      for (int i = 0; i < some; ++i) EXPECT_EQ(take(sources[i]), 1);
      EXPECT_EQ(io::epoll_look(epoll, d, e.data(), count, io::Look::Exactly), 0);
    }
    over = true;
  });
  bodies.push_back([&] {  // others' events
    LocalPair pair;
    while (!over) {
      char c;
      EXPECT_EQ(io::write(pair.a, "x", 1), 1);
      EXPECT_EQ(io::read(pair.b, &c, 1), 1);
      task_yield();
    }
    close_fd(pair.a), close_fd(pair.b);
  });
  run_tasks(bodies);
  bool own = in_user_space(epoll);
  for (int fd : sources) close_fd(fd);
  close_fd(epoll);
  return own;
}

// One of three: a host that takes a processor away for a tenth of a second makes an instance the
// kernel's.
void sees_all(int count, uint32_t events) {
  bool own = false;
  for (int i = 0; i < 3 && !own; ++i) own = see_all(count, events);
  EXPECT_TRUE(own);
}

TEST(IoEpoll, TimeoutOfZeroSeesAll) {
  sees_all(40, EPOLLIN);
  sees_all(100, EPOLLIN);  // more than are asked about one by one
}
TEST(IoEpoll, TimeoutOfZeroSeesAllEdges) {
  sees_all(40, EPOLLIN | EPOLLET);
  sees_all(100, EPOLLIN | EPOLLET);
}

}  // namespace
}  // namespace wisp::test
