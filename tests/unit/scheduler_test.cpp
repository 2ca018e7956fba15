// The scheduler without Java: tasks run, yield, park, are woken from everywhere, are handed off.
#include "scheduler/scheduler.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "unit/scheduler_fixture.h"

namespace wisp::test {

TEST(Scheduler, RunsATask) {
  Latch done(1);
  std::atomic<bool> on_task{false};
  spawn([&] {
    on_task = current_task() != nullptr;
    done.count_down();
  });
  done.wait();
  EXPECT_TRUE(on_task);
}

TEST(Scheduler, RunsTenThousandTasks) {
  constexpr int kTasks = WISP_SWITCH_FS ? 10000 : 1000;
  Latch done(kTasks);
  std::atomic<int> ran{0};
  for (int i = 0; i < kTasks; ++i)
    spawn([&] {
      ran++;
      done.count_down();
    });
  done.wait();
  EXPECT_EQ(kTasks, ran);
}

TEST(Scheduler, YieldAlternates) {
  Latch done(2);
  std::atomic<int> turns{0};
  for (int i = 0; i < 2; ++i)
    spawn([&] {
      for (int n = 0; n < 10000; ++n) {
        RuntimeEntry entry;
        turns++;
        yield_current(entry.task());
      }
      done.count_down();
    });
  done.wait();
  EXPECT_EQ(20000, turns);
}

// One side of two that hit a ball to and fro.
void play(std::atomic<uint32_t>& ball, uint32_t side, uint32_t rounds) {
  for (uint32_t n = 0; n < rounds; ++n) {
    RuntimeEntry entry;
    while (ball.load() % 2 != side) park(&ball, kForever, [&] { return ball.load() % 2 != side; });
    ball++;
    ParkingLot::unpark(&ball, 1);
  }
}

TEST(Scheduler, PingPong) {
  std::atomic<uint32_t> ball{0};
  Latch done(2);
  constexpr uint32_t kRounds = 100000;
  for (uint32_t side = 0; side < 2; ++side)
    spawn([&, side] {
      play(ball, side, kRounds);
      done.count_down();
    });
  done.wait();
  EXPECT_EQ(2 * kRounds, ball);
}

TEST(Scheduler, KernelThreadAndTaskWakeEachOther) {
  std::atomic<uint32_t> ball{0};
  Latch done(1);
  constexpr uint32_t kRounds = 2000;
  spawn([&] {
    play(ball, 0, kRounds);
    done.count_down();
  });
  play(ball, 1, kRounds);
  done.wait();
  EXPECT_EQ(2 * kRounds, ball);
}

// Who has run for long while others queue makes way for them, be nobody woken by it.
TEST(Scheduler, MakesWayAfterALongRun) {
  if (carriers() != 1) GTEST_SKIP() << "with one carrier: nobody else takes who queues";
  auto run_for = [](uint64_t us) {
    for (uint64_t end = ticks() + us_to_ticks(us); ticks() < end;) cpu_pause();
  };
  bool stayed = false, stayed_for_the_ring = false;
  int attempts = 0, gave_way = 0;
  for (int round = 0; round < 200; ++round) {
    std::atomic<bool> over{false};
    std::atomic<int> turns{0};
    Latch done(2);
    spawn([&] {
      spawn([&] {
        while (!over) {
          RuntimeEntry entry;
          ++turns;
          yield_current(entry.task());
        }
        done.count_down();
      });
      {
        RuntimeEntry entry;
        yield_current(entry.task());
      }
      auto others_ran = [&](uint64_t us) {
        int before = turns;
        run_for(us);
        if (make_way_is_due()) make_way();
        return turns != before;
      };
      stayed |= !others_ran(50);
      {
        RuntimeEntry entry;
        yield_current(entry.task());
      }
      stayed_for_the_ring |= !others_ran(600);
      {
        RuntimeEntry entry;
        yield_current(entry.task());
      }
      bool others = others_ran(1050);
      // Without a carrier: the machine stood still, and SysMonitor came first.
      if (current_task()->carrier != nullptr) {
        ++attempts;
        gave_way += others;
      }
      over = true;
      done.count_down();
    });
    done.wait();
  }
  EXPECT_TRUE(stayed);
  EXPECT_GT(attempts, 0);
  EXPECT_GE(2 * gave_way, attempts);
  EXPECT_TRUE(stayed_for_the_ring);
}

// Whom a task has woken runs at its next call that makes way; then the task, before those who
// queue.
TEST(Scheduler, MakesWayForWhomItHasWoken) {
  if (carriers() != 1) GTEST_SKIP() << "with one carrier: nobody else takes the woken one";
  bool seen = false;
  // In rounds: nobody makes way when the carrier's slice of 50 us is used up.
  for (int round = 0; round < 500 && !seen; ++round) {
    std::atomic<uint32_t> words[2] = {};
    // Not a string: when a carrier is taken from one of them, they run side by side.
    char order[3];
    std::atomic<uint32_t> said{0};
    Latch wait(2), done(3);
    auto says = [&](char c) {
      order[said++] = c;
      done.count_down();
    };
    auto waiter = [&](std::atomic<uint32_t>& word, char name) {
      spawn([&wait, &word, says, name] {
        RuntimeEntry entry;
        wait.count_down();
        while (word.load() == 0) park(&word, kForever, [&] { return word.load() == 0; });
        says(name);
      });
    };
    auto wake = [](std::atomic<uint32_t>& word) {
      word = 1;
      ParkingLot::unpark(&word, 1);
    };
    waiter(words[0], 'q');
    waiter(words[1], 'w');
    wait.wait();
    spawn([&] {
      spawn([] {});
      RuntimeEntry entry;
      yield_current(entry.task());  // comes back from the ring, with a slice of its own
      wake(words[0]);
      wake(words[1]);  // w is the next one now, q is in the ring
      make_way();
      make_way();  // nobody is woken any more
      says('a');
    });
    done.wait();
    EXPECT_EQ(said.load(), 3u);
    seen = std::string(order, 3) == "waq";
  }
  EXPECT_TRUE(seen);
}

TEST(Scheduler, TimedParkEndsInTime) {
  Latch done(50);
  std::atomic<int> timed_out{0}, early{0};
  for (int i = 0; i < 50; ++i)
    spawn([&, i] {
      for (int n = 0; n < 10; ++n) {
        uint64_t deadline = monotonic_ns() + 1000000ull * (i % 7 + 1);
        {
          RuntimeEntry entry;
          uint32_t key = 0;
          if (park(&key, deadline, [] { return true; }) == WakeReason::TimedOut) timed_out++;
        }
        if (monotonic_ns() < deadline) early++;
      }
      done.count_down();
    });
  done.wait();
  EXPECT_EQ(500, timed_out);
  EXPECT_EQ(0, early);
}

TEST(Scheduler, ASpinningTaskDoesNotStopTheOthers) {
  // More spinners than carriers, waiting for a task that can run only if a carrier is taken away.
  int spinners = carriers() + 1;
  std::atomic<bool> go{false};
  Latch done(spinners + 1);
  for (int i = 0; i < spinners; ++i)
    spawn([&] {
      while (!go.load(std::memory_order_relaxed)) cpu_pause();
      done.count_down();
    });
  spawn([&] {
    go = true;
    done.count_down();
  });
  done.wait();
}

TEST(Scheduler, BlockedKernelCallsDoNotStopTheOthers) {
  int pipes[2];
  ASSERT_EQ(0, pipe(pipes));
  int readers = carriers() + 3;
  Latch done(readers + 1);
  for (int i = 0; i < readers; ++i)
    spawn([&, announced = i % 2 == 0] {
      char c;
      if (announced) {
        BlockingRegion region;
        EXPECT_EQ(1, read(pipes[0], &c, 1));
      } else {
        EXPECT_EQ(1, read(pipes[0], &c, 1));
      }
      done.count_down();
    });
  spawn([&] {
    for (int i = 0; i < readers; ++i) EXPECT_EQ(1, write(pipes[1], "x", 1));
    done.count_down();
  });
  done.wait();
  close(pipes[0]);
  close(pipes[1]);
}

TEST(Scheduler, StressWakeUpsFromEverywhere) {
  constexpr int kSlots = 16, kPerTask = 3000;
  std::atomic<uint32_t> tokens[kSlots] = {};
  std::atomic<int> taken{0};
  constexpr int kTakers = 32;
  Latch done(kTakers);
  for (int i = 0; i < kTakers; ++i)
    spawn([&, i] {
      for (int n = 0; n < kPerTask; ++n) {
        auto& slot = tokens[(i + n) % kSlots];
        RuntimeEntry entry;
        for (;;) {
          uint32_t v = slot.load();
          if (v != 0 && slot.compare_exchange_strong(v, v - 1)) break;
          if (v == 0) park(&slot, monotonic_ns() + 50000000, [&] { return slot.load() == 0; });
        }
        taken++;
        if (n % 64 == 0) yield_current(entry.task());
      }
      done.count_down();
    });
  std::vector<std::thread> givers;
  for (int g = 0; g < 2; ++g)
    givers.emplace_back([&, g] {
      for (int n = 0; n < kTakers * kPerTask / 2; ++n) {
        auto& slot = tokens[(n * 2 + g) % kSlots];
        RuntimeEntry entry;
        slot++;
        ParkingLot::unpark(&slot, 1);
      }
    });
  for (auto& t : givers) t.join();
  // Tokens are spread evenly, takers ask evenly: all are served.
  done.wait();
  EXPECT_EQ(kTakers * kPerTask, taken);
}

}  // namespace wisp::test
