// Sleeping and yielding: C ABI to sync/sleep.h. On a kernel thread they are libc's. C11's
// thrd_sleep and thrd_yield stay libc's (nothing in the JDK imports them): a task in thrd_sleep
// keeps its kernel thread, and SysMonitor takes the carrier away.
#include "interpose/entry.h"
#include "platform/kernel.h"
#include "sync/sleep.h"

using namespace wisp;

namespace {

inline bool on_task() { return calling_task() != nullptr; }

}  // namespace

WISP_EXPORT int nanosleep(const timespec* req, timespec* rem) {
  if (!on_task()) return real::ensure(), real::nanosleep(req, rem);
  return error_answer(task_nanosleep(req, rem));
}

WISP_EXPORT int clock_nanosleep(clockid_t clock, int flags, const timespec* req, timespec* rem) {
  if (!on_task() || !task_sleeps_on(clock))
    return real::ensure(), real::clock_nanosleep(clock, flags, req, rem);
  return task_clock_nanosleep(clock, flags, req, rem);
}

WISP_EXPORT int usleep(useconds_t microseconds) {
  if (!on_task()) return real::ensure(), real::usleep(microseconds);
  timespec t{static_cast<time_t>(microseconds / 1000000),
             static_cast<long>(microseconds % 1000000) * 1000};
  return error_answer(task_nanosleep(&t, nullptr));
}

WISP_EXPORT unsigned sleep(unsigned seconds) {
  if (!on_task()) return real::ensure(), real::sleep(seconds);
  timespec t{static_cast<time_t>(seconds), 0};
  timespec left{0, 0};
  return task_nanosleep(&t, &left) == 0 ? 0 : static_cast<unsigned>(left.tv_sec);
}

WISP_EXPORT int sched_yield() {
  if (on_task())
    task_yield();
  else
    kernel::sched_yield();
  return 0;
}

// Old programs import it; the header makes the name an alias of sched_yield, hence the label.
WISP_EXPORT int old_pthread_yield() asm("pthread_yield");
int old_pthread_yield() { return sched_yield(); }
