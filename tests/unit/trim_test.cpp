// Long-parked tasks give back unused stack, and what they use stays as it was. The fixture's
// scheduler looks every millisecond.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <vector>

#include "scheduler/internal.h"
#include "unit/scheduler_fixture.h"

namespace wisp::test {
namespace {

constexpr size_t kDeep = 40 * 1024;

// Leaves kDeep bytes of the stack below its caller touched.
WISP_NOINLINE uint32_t touch(uint32_t seed) {
  volatile unsigned char deep[kDeep];
  for (size_t i = 0; i < kDeep; i += 512) deep[i] = static_cast<unsigned char>(seed + i);
  return deep[512];
}

size_t resident_pages(const char* from, size_t bytes) {
  std::vector<unsigned char> present(bytes / 4096);
  if (mincore(const_cast<char*>(from), bytes, present.data()) != 0) return 0;
  size_t n = 0;
  for (unsigned char p : present) n += p & 1;
  return n;
}

struct Sleeper {
  std::atomic<uint32_t> woken{0};
  std::atomic<bool> parked{false};
  WispTask* task = nullptr;
};

TEST(Trim, ParkedTasksGiveBackWhatTheyTouched) {
  constexpr int kTasks = 256;  // on 4 carriers still more each than a pass is worth
  std::vector<Sleeper> sleepers(kTasks);
  Latch done(kTasks);
  std::atomic<int> right{0};
  uint64_t before = g_scheduler.trimmed_bytes.load();
  for (int i = 0; i < kTasks; ++i) {
    sleepers[i].task = spawn([&, i] {
      Sleeper& s = sleepers[i];
      volatile uint32_t mine[64];
      for (uint32_t k = 0; k < 64; ++k) mine[k] = k * static_cast<uint32_t>(i);
      touch(static_cast<uint32_t>(i));
      s.parked = true;
      while (s.woken.load() == 0) {
        RuntimeEntry entry;
        park(&s.woken, kForever, [&] { return s.woken.load() == 0; });
      }
      bool all = touch(3) == static_cast<unsigned char>(3 + 512);
      for (uint32_t k = 0; k < 64; ++k) all &= mine[k] == k * static_cast<uint32_t>(i);
      if (all) right++;
      done.count_down();
    });
  }
  for (Sleeper& s : sleepers)
    while (!s.parked) usleep(1000);
  // A minute: other programs may have the processors.
  auto fat = [&] {
    int n = 0;
    for (Sleeper& s : sleepers) {
      const Stack& stack = s.task->stack;
      if (resident_pages(stack.base, stack.size) > 9) n++;
    }
    return n;
  };
  for (int looks = 0; looks < 6000 && fat() != 0; ++looks) usleep(10000);
  // Some that came late are not worth SysMonitor's sleep.
  uint64_t late = g_scheduler.carrier_count * kWorthAPass / 2;
  EXPECT_LE(fat(), static_cast<int>(late));
  // 10 pages each; a stack that an earlier task used may have had more.
  EXPECT_GE(g_scheduler.trimmed_bytes.load() - before, (kTasks - late) * (kDeep - 4 * 4096));
  for (Sleeper& s : sleepers) {
    RuntimeEntry entry;
    s.woken = 1;
    ParkingLot::unpark(&s.woken, 1);
  }
  done.wait();
  EXPECT_EQ(kTasks, right);
}

// A pass meets the task while it runs, and its wait is the last thing that happens. The others make
// SysMonitor look (trim_notice); it cannot go back to sleep while the task keeps its carrier. One
// that was handed off (on a busy machine) may take a carrier again while SysMonitor sleeps, and is
// late.
TEST(Trim, TheOnlyTaskThatParksAfterAPass) {
  constexpr int kRounds = 60, kOthers = 200;
  for (int round = 0; round < kRounds && !HasFailure(); ++round) {
    Sleeper s;
    Latch done(1);
    std::atomic<int> others{0};
    s.task = spawn([&] {
      for (int i = 0; i < kOthers; ++i) spawn([&] { others++; });
      while (others != kOthers) {
        RuntimeEntry entry;
        yield_current(entry.task());
      }
      touch(1);
      uint64_t until = monotonic_ns() + 1000 * static_cast<uint64_t>(500 + 50 * round);
      while (monotonic_ns() < until) {
      }
      s.parked = true;
      while (s.woken.load() == 0) {
        RuntimeEntry entry;
        park(&s.woken, kForever, [&] { return s.woken.load() == 0; });
      }
      done.count_down();
    });
    while (!s.parked) usleep(1000);
    const Stack& stack = s.task->stack;
    auto fat = [&] { return resident_pages(stack.base, stack.size) > 9; };
    auto handed_off = [&] { return s.task->times_preempted.load() != 0; };
    EXPECT_TRUE(until([&] { return !fat() || handed_off(); })) << "round " << round;
    RuntimeEntry entry;
    s.woken = 1;
    ParkingLot::unpark(&s.woken, 1);
    done.wait();
  }
}

// A handed-off task is a kernel thread's; no carrier counts its wait, and SysMonitor may sleep for
// ever while it computes.
TEST(Trim, WhoWasHandedOffAndParksLast) {
  Sleeper s;
  std::atomic<bool> taken{false};
  const int others = carriers();
  Latch done(static_cast<uint32_t>(others) + 1);
  s.task = spawn([&] {
    touch(1);
    WispTask* self = current_task();
    while (self->times_preempted.load() == 0) {
    }
    taken = true;
    uint64_t end = monotonic_ns() + 2'000'000'000;
    while (sysmon_wakes_at() != ~0ull && monotonic_ns() < end) {
    }
    s.parked = true;
    while (s.woken.load() == 0) {
      RuntimeEntry entry;
      park(&s.woken, kForever, [&] { return s.woken.load() == 0; });
    }
    done.count_down();
  });
  // Somebody waits for a carrier, again when handed off himself.
  for (int i = 0; i < others; ++i)
    spawn([&] {
      WispTask* self = current_task();
      uint64_t preempted = 0;
      while (!taken) {
        if (self->times_preempted.load() == preempted) continue;
        preempted = self->times_preempted.load();
        RuntimeEntry entry;
        yield_current(self);
      }
      done.count_down();
    });
  while (!s.parked) usleep(1000);
  const Stack& stack = s.task->stack;
  auto fat = [&] { return resident_pages(stack.base, stack.size) > 9; };
  EXPECT_TRUE(until([&] { return !fat(); }));
  RuntimeEntry entry;
  s.woken = 1;
  ParkingLot::unpark(&s.woken, 1);
  done.wait();
}

// Wake-ups that come just when SysMonitor has its hands on the stack.
TEST(Trim, WakesWhileItTrims) {
  constexpr uint32_t kTasks = 32, kRounds = 150;
  std::vector<std::atomic<uint32_t>> turn(kTasks);
  Latch done(kTasks);
  std::atomic<uint32_t> wrong{0};
  for (uint32_t i = 0; i < kTasks; ++i)
    spawn([&, i] {
      for (uint32_t n = 0; n < kRounds; ++n) {
        volatile uint32_t mine = n * 31 + i;
        if (touch(i) != static_cast<unsigned char>(i + 512)) wrong++;
        // Times on both sides of the two looks that make a task old.
        RuntimeEntry entry;
        park(&turn[i], monotonic_ns() + 1000 * (500 + 97 * ((n * 7 + i) % 40)),
             [&] { return turn[i].load() == n; });
        turn[i] = n + 1;
        if (mine != n * 31 + i) wrong++;
      }
      done.count_down();
    });
  std::atomic<bool> stop{false};
  std::thread waker([&] {
    for (uint32_t k = 0; !stop; ++k) {
      RuntimeEntry entry;
      ParkingLot::unpark(&turn[k % kTasks], 1);
      usleep(50);
    }
  });
  done.wait();
  stop = true;
  waker.join();
  EXPECT_EQ(0u, wrong);
}

}  // namespace
}  // namespace wisp::test
