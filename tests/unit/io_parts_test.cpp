// Registrations that follow who waits from one part of the event pump to another:
// io/registration.cpp. With one part there is nothing to follow.
#include <sys/epoll.h>

#include <thread>

#include "io/epoll_set.h"
#include "io/event_pump.h"
#include "scheduler/internal.h"
#include "scheduler/narrow.h"
#include "scheduler/width.h"
#include "sync/sleep.h"
#include "unit/io_support.h"

namespace wisp::test {
namespace {

using io::kStrays;

class IoParts : public ::testing::Test {
 protected:
  void SetUp() override {
    start_scheduler();
    if (pump_parts() == 1) GTEST_SKIP() << "there is one part only";
  }
};

// Where the calling task's waits belong as long as it does not wait; some other part.
struct Wish {
  uint32_t wanted, other;
};
Wish make_a_wish() {
  uint32_t wanted = kAnyPart;
  EXPECT_TRUE(until([&] { return (wanted = pump_part_wanted()) != kAnyPart; }));
  return {wanted, (wanted + 1) % pump_parts()};
}

TEST_F(IoParts, AWaiterIsFollowed) {
  run_tasks({[] {
    for (int attempt = 0; attempt < 100; ++attempt) {
      Pipe p;
      io::Descriptor* d = io::descriptor_find(p.in);
      uint32_t life = life_of_number(p.in), calls = 0;
      Wish wish = make_a_wish();
      EXPECT_EQ(io::make_ready(p.in, d, life, false, wish.other), io::Wait::Ready);
      EXPECT_EQ(d->part.load(), wish.other);
      uint64_t moves = io::pump_counts().moves;
      bool same = true;
      for (; d->part == wish.other && calls < 2 * kStrays; ++calls) {
        same &= pump_part_wanted() == wish.wanted;
        io::pump_follow(p.in, d, life);
        same &= pump_part_wanted() == wish.wanted;
      }
      std::thread writer([&] {
        usleep(2000);
        EXPECT_EQ(::write(p.out, "x", 1), 1);
      });
      char c;
      EXPECT_EQ(io::read(p.in, &c, 1), 1) << "it is registered where it went";
      writer.join();
      close_fd(p.in), close_fd(p.out);
      if (!same) continue;  // carriers went to sleep or got up meanwhile
      EXPECT_EQ(calls, kStrays);
      EXPECT_EQ(d->part.load(), wish.wanted);
      EXPECT_GE(io::pump_counts().moves, moves + 1);
      return;
    }
    ADD_FAILURE() << "the other carriers do not rest";
  }});
}

// Until `holds`, which is found from outside.
bool meanwhile(std::atomic<bool>* stop, const std::function<bool()>& holds,
               std::initializer_list<std::function<void()>> tasks) {
  bool held = false;
  std::thread watcher([&] {
    held = until(holds);
    *stop = true;
  });
  run_tasks(tasks);
  watcher.join();
  return held;
}

// Tasks that no descriptor wakes, more than there are carriers.
std::function<void()> switches_of_many(std::atomic<bool>* stop) {
  return [stop] {
    uint32_t n = 2 * g_scheduler.carrier_count;
    Latch over(n);
    for (uint32_t i = 0; i < n; ++i)
      spawn([&] {
        yield_until([&] { return stop->load(); });
        over.count_down();
      });
    over.wait();
  };
}

TEST_F(IoParts, FewCarriersAreWantedWhereTasksWait) {
  uint32_t all = g_scheduler.carrier_count;
  if (all < Width::kMany) GTEST_SKIP() << "OneIsKeptBackWhereCarriersRunDry is for so few";
  auto wanted = [] { return g_scheduler.width(); };
  Pipe there, back;
  std::atomic<bool> stop{false};
  auto ask = [&] {
    char c = 'x';
    while (!stop && ::write(there.out, &c, 1) == 1 && io::read(back.in, &c, 1) == 1) {
    }
    close_fd(there.out);
  };
  auto answer = [&] {
    char c;
    while (io::read(there.in, &c, 1) == 1) EXPECT_EQ(::write(back.out, &c, 1), 1);
  };
  EXPECT_TRUE(meanwhile(&stop, [&] { return wanted() == Width::least(all); }, {ask, answer}));
  close_fd(there.in), close_fd(back.in), close_fd(back.out);

  stop = false;
  EXPECT_TRUE(meanwhile(&stop, [&] { return wanted() == all; }, {switches_of_many(&stop)}));
}

// Each question is answered by another program, as it were: its task waits, and the carrier has
// nothing else to do.
TEST_F(IoParts, OneIsKeptBackWhereCarriersRunDry) {
  uint32_t all = g_scheduler.carrier_count;
  if (!Narrow::possible(all)) GTEST_SKIP() << "FewCarriersAreWantedWhereTasksWait is for so many";
  auto wanted = [] { return g_scheduler.width(); };
  constexpr int kTasks = 2;
  Pipe there[kTasks], back[kTasks];
  std::vector<std::thread> others;
  for (int i = 0; i < kTasks; ++i)
    others.emplace_back([in = there[i].in, out = back[i].out] {
      char c;
      while (::read(in, &c, 1) == 1) EXPECT_EQ(::write(out, &c, 1), 1);
    });
  std::atomic<bool> stop{false};
  auto ask = [&](int i) {
    return [&, i] {
      char c = 'x';
      while (!stop && ::write(there[i].out, &c, 1) == 1 && io::read(back[i].in, &c, 1) == 1) {
      }
      close_fd(there[i].out);
    };
  };
  EXPECT_TRUE(meanwhile(&stop, [&] { return wanted() == all - 1; }, {ask(0), ask(1)}));
  for (std::thread& t : others) t.join();
  for (int i = 0; i < kTasks; ++i)
    close_fd(there[i].in), close_fd(back[i].in), close_fd(back[i].out);

  stop = false;
  EXPECT_TRUE(meanwhile(&stop, [&] { return wanted() == all; }, {switches_of_many(&stop)}));
}

// It follows who waits in its instance (io_member_parts_test.cpp), not who waits for itself.
TEST_F(IoParts, AMemberStays) {
  run_tasks({[] {
    int epoll = fresh(::epoll_create1(0), io::kStream, io::kOwn | io::kEpoll);
    Pipe p;
    io::Descriptor* d = io::descriptor_find(p.in);
    uint32_t life = life_of_number(p.in);
    Wish wish = make_a_wish();
    EXPECT_EQ(io::make_ready(p.in, d, life, false, wish.other), io::Wait::Ready);
    epoll_event e{EPOLLIN, {.fd = p.in}};
    EXPECT_EQ(io::epoll_control(epoll, EPOLL_CTL_ADD, p.in, &e), 0);
    for (uint32_t i = 0; i < 4 * kStrays; ++i) io::pump_follow(p.in, d, life);
    EXPECT_EQ(d->part.load(), wish.other);
    close_fd(p.in), close_fd(p.out), close_fd(epoll);
  }});
}

// Pairs of tasks talk over sockets that are moved at every wait, and now and then closed, so that
// their numbers go to others.
TEST_F(IoParts, NothingIsLostOnTheWay) {
  constexpr int kPairs = 12, kLives = 40, kTrips = 60;
  std::atomic<int> numbers[2 * kPairs];
  for (auto& n : numbers) n = -1;
  std::atomic<bool> over{false};
  std::thread hurry([&] {
    while (!over)
      for (auto& n : numbers)
        if (io::Descriptor* d = io::descriptor_find(n)) d->strays = kStrays - 1;
  });
  uint64_t moves = io::pump_counts().moves;
  std::vector<std::function<void()>> bodies;
  std::atomic<int> trips{0};
  for (int i = 0; i < kPairs; ++i)
    bodies.push_back([&, i] {
      for (int life = 0; life < kLives; ++life) {
        LocalPair pair;
        numbers[2 * i] = pair.a, numbers[2 * i + 1] = pair.b;
        std::atomic<bool> ended{false};
        spawn([&] {
          char c;
          while (io::read(pair.b, &c, 1) == 1) EXPECT_EQ(io::write(pair.b, &c, 1), 1);
          close_fd(pair.b);
          ended = true;
        });
        char c;
        for (int t = 0; t < kTrips; ++t) {
          EXPECT_EQ(io::write(pair.a, "x", 1), 1);
          EXPECT_EQ(io::read(pair.a, &c, 1), 1);
          ++trips;
        }
        close_fd(pair.a);
        while (!ended) task_yield();
      }
    });
  run_tasks(bodies);
  over = true;
  hurry.join();
  EXPECT_EQ(trips, kPairs * kLives * kTrips);
  EXPECT_GT(io::pump_counts().moves, moves);
}

}  // namespace
}  // namespace wisp::test
