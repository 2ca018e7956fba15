// Epoll instances in user space under several threads: nothing is lost when entries come and go,
// when descriptors are closed or get duplicates, and when the kernel takes the instance over in
// mid-run. tests/preload/epoll_sets.c compares single calls with the kernel's.
#include <sys/epoll.h>

#include "io/epoll_set.h"
#include "scheduler/poller.h"
#include "sync/sleep.h"
#include "unit/io_support.h"

namespace wisp::test {
namespace {

int instance() {
  start_scheduler();
  return fresh(::epoll_create1(0), io::kStream, io::kOwn | io::kEpoll);
}
int event_source() {
  return fresh(::eventfd(0, EFD_NONBLOCK), io::kStream, io::kOwn | io::kNonBlocking);
}
long control(int epoll, int operation, int fd, uint32_t events) {
  epoll_event e{events, {.fd = fd}};
  return io::epoll_control(epoll, operation, fd, &e);
}
void signal(int source) {
  uint64_t one = 1;
  ASSERT_EQ(::write(source, &one, sizeof one), 8);
}
int take(int source) {
  uint64_t n;
  return ::read(source, &n, sizeof n) == sizeof n ? static_cast<int>(n) : 0;
}
bool in_user_space(int epoll) {
  epoll_event e;
  return (io::descriptor_find(epoll)->state.load() & io::kEpoll) != 0 &&
         ::epoll_wait(epoll, &e, 1, 0) == 0;
}

// Of several that wait each event wakes one, and all get what is level-triggered.
void several_wait(int epoll) {
  constexpr int kWaiters = 8, kSources = 8, kRounds = 200;
  int sources[kSources];
  for (int& fd : sources)
    ASSERT_EQ(control(epoll, EPOLL_CTL_ADD, fd = event_source(), EPOLLIN | EPOLLET), 0);
  int stop = event_source();
  ASSERT_EQ(control(epoll, EPOLL_CTL_ADD, stop, EPOLLIN), 0);
  std::atomic<int> got{0}, ended{0};
  for (int i = 0; i < kWaiters; ++i)
    spawn([&] {
      for (;;) {
        epoll_event e;
        EXPECT_EQ(io::epoll_wait_until(epoll, &e, 1, kForever), 1);
        if (e.data.fd == stop) break;
        got += take(e.data.fd);
      }
      ++ended;
    });
  for (int round = 1; round <= kRounds; ++round) {
    for (int fd : sources) signal(fd);
    ASSERT_TRUE(until([&] { return got.load() == round * kSources; })) << got;
  }
  signal(stop);
  EXPECT_TRUE(until([&] { return ended.load() == kWaiters; })) << ended;
  for (int fd : sources) close_fd(fd);
  close_fd(stop);
}

TEST(IoEpoll, SeveralWait) {
  int epoll = instance();
  several_wait(epoll);
  EXPECT_TRUE(in_user_space(epoll));
  close_fd(epoll);
}

// What is put in before the scheduler runs: nobody can say yet in which part of the pump.
TEST(IoEpoll, OlderThanTheScheduler) {
  if (scheduler_running()) GTEST_SKIP() << "it runs already";
  int early = fresh(::epoll_create1(0), io::kStream, io::kOwn | io::kEpoll);
  int source = event_source();
  ASSERT_EQ(control(early, EPOLL_CTL_ADD, source, EPOLLIN), 0);
  int epoll = instance();
  several_wait(epoll);
  EXPECT_TRUE(in_user_space(epoll));
  run_tasks({[&] {
    signal(source);
    epoll_event e;
    EXPECT_EQ(io::epoll_wait_until(early, &e, 1, in_ms(10'000)), 1);
    EXPECT_EQ(e.data.fd, source);
  }});
  for (int fd : {early, source, epoll}) close_fd(fd);
}

TEST(IoEpoll, SeveralWaitForTheKernels) {
  int epoll = fresh(::epoll_create1(0), io::kStream, io::kOwn);
  several_wait(epoll);
  close_fd(epoll);
}

// A loop that takes each source out before it hands it to a worker, which puts it in again; another
// task changes what is waited for all the time.
TEST(IoEpoll, TakenOutAndPutIn) {
  constexpr int kSources = 16, kSignals = 300;
  int epoll = instance();
  int sources[kSources];
  for (int& fd : sources) ASSERT_EQ(control(epoll, EPOLL_CTL_ADD, fd = event_source(), EPOLLIN), 0);
  std::atomic<int> got{0};
  std::atomic<bool> over{false};
  std::vector<std::function<void()>> bodies;
  bodies.push_back([&] {
    while (got.load() != kSources * kSignals) {
      epoll_event e[4];
      long n = io::epoll_wait_until(epoll, e, 4, in_ms(100));
      for (long i = 0; i < n; ++i) {
        int fd = e[i].data.fd;
        if (control(epoll, EPOLL_CTL_DEL, fd, 0) != 0) continue;
        spawn([&, fd] {
          got += take(fd);
          EXPECT_EQ(control(epoll, EPOLL_CTL_ADD, fd, EPOLLIN), 0);
        });
      }
    }
    over = true;
  });
  bodies.push_back([&] {
    for (uint32_t i = 0; !over; ++i) {
      control(epoll, EPOLL_CTL_MOD, sources[i % kSources],
              EPOLLIN | (i % 3 == 0   ? EPOLLPRI
                         : i % 3 == 1 ? EPOLLRDHUP
                                      : 0u));
      task_yield();
    }
  });
  bodies.push_back([&] {
    for (int i = 0; i < kSources * kSignals; ++i) signal(sources[i % kSources]);
  });
  run_tasks(bodies);
  EXPECT_TRUE(until([&] {  // the last workers
    int there = 0;
    for (int fd : sources) there += control(epoll, EPOLL_CTL_ADD, fd, EPOLLIN) == -EEXIST ? 1 : 0;
    return there == kSources;
  }));
  for (int fd : sources) close_fd(fd);
  close_fd(epoll);
}

// What is ready when it is asked for, long after its event, ends a wait that has begun before.
TEST(IoEpoll, ChangedWhileOneWaits) {
  int epoll = instance(), ready = event_source();
  ASSERT_EQ(control(epoll, EPOLL_CTL_ADD, ready, 0), 0);
  signal(ready);
  for (uint32_t events : {uint32_t{EPOLLIN}, EPOLLIN | EPOLLET, EPOLLIN | EPOLLONESHOT}) {
    std::atomic<int> got{-1};
    spawn([&] {
      epoll_event e;
      EXPECT_EQ(io::epoll_wait_until(epoll, &e, 1, kForever), 1);
      got = e.data.fd;
    });
    usleep(20'000);  // the wait has begun, and the pump has told of the event
    EXPECT_EQ(got, -1);
    ASSERT_EQ(control(epoll, EPOLL_CTL_MOD, ready, events), 0);
    EXPECT_TRUE(until([&] { return got.load() == ready; }));
    ASSERT_EQ(control(epoll, EPOLL_CTL_MOD, ready, 0), 0);
  }
  close_fd(ready), close_fd(epoll);
}

// Duplicates are taken, and the instance is polled from outside, while events come.
TEST(IoEpoll, HandedOverInMidRun) {
  constexpr int kSources = 8, kSignals = 100;
  for (int round = 0; round < 40; ++round) {
    int epoll = instance();
    int sources[kSources];
    for (int& fd : sources)
      ASSERT_EQ(control(epoll, EPOLL_CTL_ADD, fd = event_source(),
                        round % 2 == 0 ? EPOLLIN : EPOLLIN | EPOLLET),
                0);
    std::atomic<int> got{0};
    int copy = -1;
    std::vector<std::function<void()>> bodies;
    bodies.push_back([&] {
      while (got.load() != kSources * kSignals) {
        epoll_event e[4];
        long n = io::epoll_wait_until(epoll, e, 4, kForever);
        for (long i = 0; i < n; ++i) got += take(e[i].data.fd);
      }
    });
    bodies.push_back([&] {
      for (int i = 0; i < kSources * kSignals; ++i) {
        signal(sources[i % kSources]);
        if (i == 20 * round) {
          copy = ::dup(sources[round % kSources]);
          io::descriptor_shared(sources[round % kSources]);
        }
        if (i == 10 * round) io::epoll_surrender(epoll);
      }
    });
    run_tasks(bodies);
    for (int fd : sources) close_fd(fd);
    if (copy >= 0) ::close(copy);
    close_fd(epoll);
  }
}

// Descriptors end, and instances, while events come for them.
TEST(IoEpoll, ClosedWhileEventsCome) {
  for (int round = 0; round < 60; ++round) {
    int epoll = instance(), lasting = event_source();
    ASSERT_EQ(control(epoll, EPOLL_CTL_ADD, lasting, EPOLLIN), 0);
    std::atomic<bool> over{false};
    std::vector<std::function<void()>> bodies;
    bodies.push_back([&] {
      while (!over) {
        epoll_event e[4];
        long n = io::epoll_wait_until(epoll, e, 4, in_ms(20));
        for (long i = 0; i < n; ++i)
          if (e[i].data.fd == lasting) take(lasting);
      }
    });
    for (int k = 0; k < 2; ++k)
      bodies.push_back([&] {
        for (int i = 0; i < 30; ++i) {
          Pipe pipe;
          EXPECT_EQ(control(epoll, EPOLL_CTL_ADD, pipe.in, EPOLLIN), 0);
          EXPECT_EQ(::write(pipe.out, "x", 1), 1);
          signal(lasting);
          close_fd(pipe.in);
          EXPECT_NE(control(epoll, EPOLL_CTL_DEL, pipe.out, 0), 0);
          close_fd(pipe.out);
        }
        over = true;
      });
    run_tasks(bodies);
    EXPECT_TRUE(in_user_space(epoll));
    // The instance first: its entries leave the chains.
    if (round % 2 == 0) close_fd(epoll), close_fd(lasting);
    if (round % 2 != 0) close_fd(lasting), close_fd(epoll);
  }
}

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
