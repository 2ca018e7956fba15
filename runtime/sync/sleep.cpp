// A sleep parks on an address of its own, a local of the sleeper that nobody else knows.
#include "sync/sleep.h"

#include "sync/interruption.h"
#include "sync/parking_lot.h"
#include "sync/words.h"

namespace wisp {

int task_sleep_until(uint64_t deadline_ns) {
  for (;;) {
    RuntimeEntry entry;
    char nobody_knows;
    WakeReason reason = park(&nobody_knows, deadline_ns, [] { return true; });
    if (reason == WakeReason::TimedOut) return 0;
    // No handler's flag restarts a sleep.
    if (reason == WakeReason::Interrupted && after_signal(entry.task()) != AfterSignal::GoesOn)
      return EINTR;
    // Unparked: a late wake-up of something that once lived at this stack address.
  }
}

int task_nanosleep(const timespec* req, timespec* rem) {
  if (req == nullptr) return EFAULT;
  if (!valid_nsec(*req) || req->tv_sec < 0) return EINVAL;
  if (req->tv_sec == 0 && req->tv_nsec == 0) {
    task_yield();
    return 0;
  }
  uint64_t deadline = deadline_after(*req);
  int e = task_sleep_until(deadline);
  if (e == EINTR && rem != nullptr) *rem = time_left(deadline);
  return e;
}

int task_clock_nanosleep(clockid_t clock, int flags, const timespec* req, timespec* rem) {
  if (!task_sleeps_on(clock)) return EINVAL;
  if ((flags & TIMER_ABSTIME) == 0) return task_nanosleep(req, rem);
  if (req == nullptr) return EFAULT;
  if (!valid_nsec(*req) || req->tv_sec < 0) return EINVAL;
  uint64_t deadline = monotonic_deadline(clock, *req);
  if (deadline <= monotonic_ns()) return 0;
  return task_sleep_until(deadline);
}

void task_yield() {
  RuntimeEntry entry;
  if (WispTask* task = entry.task())
    yield_current(task);
  else
    kernel::sched_yield();
}

}  // namespace wisp
