// Epoll instances in user space under several threads: nothing is lost when entries come and go,
// when descriptors are closed or get duplicates, and when the kernel takes the instance over in
// mid-run. tests/preload/epoll_sets.c compares single calls with the kernel's.
#include "sync/sleep.h"
#include "unit/epoll_support.h"

namespace wisp::test {
namespace {

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

}  // namespace
}  // namespace wisp::test
