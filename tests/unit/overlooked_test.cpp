// What nobody but SysMonitor or another carrier would see: in a quiet process SysMonitor sleeps for
// ever, so whoever leaves something behind has to say so.
#include "unit/overlooked.h"

#include <thread>
#include <vector>

#include "scheduler/internal.h"
#include "sync/sleep.h"
#include "unit/io_support.h"

namespace wisp::test {
namespace {

void park_on(std::atomic<uint32_t>* key) {
  RuntimeEntry entry;
  park(key, kForever, [key] { return key->load() == 0; });
}

// The sleeper in the event pump is also the one that watches the clock: when it leaves for a timer,
// the pump is without a worker, and the task that the timer wakes may compute for as long as it
// likes. Here it computes until a task has run that waits for a descriptor.
TEST(Overlooked, ADescriptorWhileTheTaskOfATimerComputes) {
  start_scheduler();
  Pipe first, second;
  std::atomic<bool> computes{false}, flag{false}, seen{false};
  std::atomic<int> left{2};
  spawn([&] {
    char c;
    EXPECT_EQ(io::read(first.in, &c, 1), 1);  // its worker is the last to have been in the pump
    task_sleep_until(monotonic_ns() + 200'000'000);
    computes = true;
    seen = compute_until([&] { return flag.load(); });
    --left;
  });
  spawn([&] {
    char c;
    EXPECT_EQ(io::read(second.in, &c, 1), 1);
    flag = true;
    --left;
  });
  until(sysmon_sleeps);
  EXPECT_EQ(::write(first.out, "x", 1), 1);
  until([&] { return computes.load(); });
  usleep(50'000);
  EXPECT_EQ(::write(second.out, "x", 1), 1);
  until([&] { return left == 0; });
  EXPECT_TRUE(seen) << "nobody looked at the pump";
  if (left != 0) abort();  // they use this stack
  close_fd(first.in), close_fd(first.out), close_fd(second.in), close_fd(second.out);
}

// A task without a carrier puts its timer among those of a carrier that may be busy and switch all
// the time, so that SysMonitor finds nothing wrong with it.
TEST(Overlooked, ATimerOfAHandedOffTaskOnABusyCarrier) {
  start_scheduler();
  std::atomic<bool> stop{false};
  std::atomic<int> left{0};
  auto switches_all_the_time = [&] {
    while (!stop) task_yield();
    --left;
  };
  for (uint32_t i = 0; i < 2 * g_scheduler.carrier_count; ++i) {
    ++left;
    spawn(switches_all_the_time);
  }
  std::atomic<bool> back{false}, without_carrier{false};
  std::atomic<uint32_t> tid{0};
  ++left;
  spawn([&] {
    WispTask* self = current_task();
    // Somebody waits on this carrier too: the others may all be on another one, and thieves come.
    uint64_t next_at = 0;
    without_carrier = compute_until([&] {
      if (monotonic_ns() >= next_at) {
        next_at = monotonic_ns() + 10'000'000;
        ++left;
        spawn(switches_all_the_time);
      }
      return self->handoff.load() == HandOff::Taken;
    });
    tid = self->tid;
    task_sleep_until(monotonic_ns() + 500'000'000);
    back = true;
    --left;
  });
  // By luck SysMonitor sees the carrier between two tasks and fires the timer, so what tells is
  // when the carrier itself would have a look.
  until([&] { return tid != 0; });
  const Carrier& c = g_scheduler.carriers[tid % g_scheduler.carrier_count];
  until([&] { return back || c.next_deadline.load() != ~0ull; });
  uint64_t last = ticks() + us_to_ticks(1'000'000);
  EXPECT_LE(c.timer_check_at.load(), last);
  until([&] { return back.load(); });
  EXPECT_TRUE(without_carrier) << "the case did not come about";
  EXPECT_TRUE(back) << "its timer did not fire";
  stop = true;
  until([&] { return left == 0; });
  if (left != 0) abort();
}

// One worker wakes up for the timers of all carriers: what it finds in several heaps is more than
// it can run at once, although each has only one task.
TEST(Overlooked, TimersOfTwoCarriersAtOnce) {
  start_scheduler();
  for (int round = 0; round < 3; ++round) {
    std::atomic<int> together{0}, ran{0}, gave_up{0}, left{2};
    uint64_t when = monotonic_ns() + 200'000'000;
    for (int i = 0; i < 2; ++i)
      spawn([&, when] {
        ++together;
        compute_until([&] { return together == 2; });  // so each is on a carrier of its own
        task_sleep_until(when);
        ++ran;
        if (!compute_until([&] { return ran == 2; })) ++gave_up;
        --left;
      });
    until([&] { return left == 0; });
    if (left != 0) abort();
    ASSERT_EQ(gave_up, 0) << "one of them computed, the other one waited for it";
  }
}

// Two woken by a task that goes on computing: one goes to the worker that is on its way, the other
// stays in the next slot, and each who has a carrier keeps it.
TEST(Overlooked, TheSecondOfTwoWokenByAComputingTask) {
  start_scheduler();
  for (int round = 0; round < 20; ++round) {
    std::atomic<uint32_t> key{0};
    std::atomic<int> ran{0}, gave_up{0}, left{3};
    auto compute = [&] {
      if (!compute_until([&] { return ran == 2; })) ++gave_up;
      --left;
    };
    for (int i = 0; i < 2; ++i)
      spawn([&, compute] {
        park_on(&key);
        ++ran;
        compute();
      });
    spawn([&, compute] {
      task_sleep_until(monotonic_ns() + 20'000'000);
      {
        RuntimeEntry entry;
        key = 1;
        ParkingLot::unpark(&key, ~0u);
      }
      compute();
    });
    until([&] { return left == 0; });
    if (left != 0) abort();
    ASSERT_EQ(gave_up, 0) << "in round " << round;
  }
}

// Who arms a timer on a carrier that has nothing else to run leaves it to the worker that will go
// to sleep; but this one finds another task after all.
TEST(Overlooked, ATimerOfACarrierThatFindsWorkBeforeItSleeps) {
  start_scheduler();
  std::atomic<uint32_t> key{0};
  std::atomic<bool> sleeps{false}, back{false}, in_time{false};
  std::atomic<int> left{2};
  spawn([&] {
    park_on(&key);
    in_time = compute_until([&] { return back.load(); });
    --left;
  });
  usleep(50'000);  // it is parked
  spawn([&] {
    // The worker is to search for so long that what comes meanwhile is found by it.
    current_task()->worker.load()->spin_ticks = us_to_ticks(300'000);
    uint64_t when = monotonic_ns() + 500'000'000;
    sleeps = true;
    task_sleep_until(when);
    back = true;
    --left;
  });
  until([&] { return sleeps.load(); });
  usleep(100'000);
  {
    RuntimeEntry entry;
    key = 1;
    ParkingLot::unpark(&key, ~0u);
  }
  until([&] { return left == 0; });
  EXPECT_TRUE(in_time) << "nobody watched the timer";
  if (left != 0) abort();
}

// As if the sleeper had set its alarm here, and it were time. For a task.
void make_due_here(WispTask* sleeper) {
  RuntimeEntry entry;
  Carrier& here = *entry.task()->carrier;
  Carrier& there = g_scheduler.carriers[sleeper->timer.carrier_index];
  {
    SpinGuard guard(there.timer_lock);
    there.timers.remove(&sleeper->timer);
    there.next_deadline = ~0ull;
  }
  SpinGuard guard(here.timer_lock);
  sleeper->timer.deadline = 1;
  sleeper->timer.carrier_index = here.index;
  here.timers.insert(&sleeper->timer);
  here.timer_check_at = 0;
}

// Who gives way with nobody to give way to has told nobody; then a timer's task comes to lie behind
// it, one task for a carrier that comes to look.
TEST(Overlooked, ATimersTaskBehindOneThatGaveWay) {
  if (carriers() == 1) GTEST_SKIP() << "nobody could help";
  start_scheduler();
  std::atomic<WispTask*> sleeper{nullptr};
  std::atomic<uint32_t> key{0};
  std::atomic<bool> alone{false}, back{false}, in_time{false};
  std::atomic<int> left{2};
  spawn([&] {
    sleeper = current_task();
    task_sleep_until(monotonic_ns() + 3'600'000'000'000);
    back = true;
    --left;
  });
  until([&] { return sleeper != nullptr && sleeper.load()->state == TaskState::Parked; });
  spawn([&] {
    while (!alone) {
      park_on(&key);
      key = 0;
      alone = sysmon_sleeps();
    }
    make_due_here(sleeper);
    task_yield();
    in_time = compute_until([&] { return back.load(); });
    --left;
  });
  until([&] {
    if (!alone && sysmon_sleeps()) {
      RuntimeEntry entry;
      key = 1;
      ParkingLot::unpark(&key, 1);
    }
    return left == 0;
  });
  EXPECT_TRUE(alone) << "the case did not come about";
  EXPECT_TRUE(in_time) << "nobody was told of it";
  if (left != 0) abort();
}

// SysMonitor is on its way to sleep when the sleeper leaves the pump, for a task that reads and
// then waits in the kernel: all carriers are idle again, and nobody is in the pump. What stops
// SysMonitor for so long is the lock of a carrier's timers; it has looked at the pump before.
TEST(Overlooked, ThePumpLeftWhileSysMonitorLooks) {
  start_scheduler();
  Pipe first, second;
  std::atomic<bool> flag{false}, waits{false}, seen{false};
  std::atomic<int> left{2};
  spawn([&] {
    char c;
    EXPECT_EQ(io::read(first.in, &c, 1), 1);
    {
      BlockingRegion region;
      waits = true;
      until([&] { return flag.load(); });
    }
    seen = flag.load();
    --left;
  });
  spawn([&] {
    char c;
    EXPECT_EQ(io::read(second.in, &c, 1), 1);
    flag = true;
    --left;
  });
  usleep(50'000);  // both wait, and the workers sleep
  until(sysmon_sleeps);
  Carrier& c = g_scheduler.carriers[0];
  {
    RuntimeEntry entry;
    c.timer_lock.lock();
    uint64_t was = c.next_deadline.exchange(1);
    sysmon_notice_slow();
    usleep(50'000);
    c.next_deadline = was;
    EXPECT_EQ(::write(first.out, "x", 1), 1);
    until([&] { return waits.load(); });
    usleep(50'000);  // its worker has given the carrier away
    c.timer_lock.unlock();
  }
  usleep(50'000);
  EXPECT_EQ(::write(second.out, "x", 1), 1);
  until([&] { return left == 0; });
  EXPECT_TRUE(seen) << "nobody looked at the pump";
  if (left != 0) abort();
  close_fd(first.in), close_fd(first.out), close_fd(second.in), close_fd(second.out);
}

// Work, an idle carrier, and no worker to be had: SysMonitor looks again and again, but sleeps in
// between.
TEST(Overlooked, NoWorkerToBeHad) {
  start_scheduler();
  std::atomic<int> left{0}, inside{0};
  std::atomic<bool> go_on{false};
  auto some_sleep = [] { return g_scheduler.idle.spares() != 0 || g_scheduler.idle.polling(); };
  until([&] { return some_sleep() && g_scheduler.workers_starting.load() == 0; });
  uint32_t had = g_scheduler.worker_count.exchange(kMaxWorkers);
  for (int i = 0; some_sleep(); ++i) {
    if (i == 200) abort();
    ++left;
    spawn([&] {
      BlockingRegion region;
      ++inside;
      until([&] { return go_on.load(); });
      --left;
    });
    until([&] { return inside == left; });
    usleep(20'000);  // it has given its carrier away
  }
  spawn([&] { ++inside; });
  int before = inside;
  timespec from, to;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
  usleep(300'000);
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
  EXPECT_EQ(inside, before) << "the case did not come about";
  EXPECT_LT((to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1'000'000, 150);
  g_scheduler.worker_count = had;
  go_on = true;
  until([&] { return left == 0 && inside == before + 1; });
  EXPECT_EQ(inside, before + 1);
  if (left != 0) abort();
}

}  // namespace
}  // namespace wisp::test
