// What nobody but SysMonitor or another carrier would see: in a quiet process SysMonitor sleeps for
// ever, so whoever leaves something behind has to say so. No passes over stacks here, which would
// wake it within a millisecond.
#include <thread>
#include <vector>

#include "scheduler/internal.h"
#include "sync/sleep.h"
#include "unit/io_support.h"

namespace wisp::test {
namespace {

constexpr uint64_t kPatience = 20'000'000'000;
[[maybe_unused]] const uint32_t g_no_trimming = g_trim_ms = 0;

bool sysmon_sleeps() { return g_sysmon_lazy.load() != 0 && sysmon_wakes_at() == ~0ull; }

void until(const std::function<bool()>& holds) {
  uint64_t end = monotonic_ns() + kPatience;
  while (!holds() && monotonic_ns() < end) usleep(1000);
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
    for (uint64_t end = monotonic_ns() + kPatience; !flag && monotonic_ns() < end;) {
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
  for (uint32_t i = 0; i < 2 * g_scheduler.carrier_count; ++i) {
    ++left;
    spawn([&] {
      while (!stop) task_yield();
      --left;
    });
  }
  std::atomic<bool> back{false}, without_carrier{false};
  std::atomic<uint32_t> tid{0};
  ++left;
  spawn([&] {
    WispTask* self = current_task();
    for (uint64_t end = monotonic_ns() + kPatience; monotonic_ns() < end;) {
      if (self->handoff.load() == HandOff::Taken) {
        without_carrier = true;
        break;
      }
    }
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

}  // namespace
}  // namespace wisp::test
