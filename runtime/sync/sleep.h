// Sleeping and giving way, for tasks: a wait that nobody ends but the clock or a signal.
#pragma once
#include <time.h>

#include "platform/compiler.h"

namespace wisp {

struct WispTask;

// Until deadline_ns (CLOCK_MONOTONIC). 0, or EINTR after a signal handler has run.
int task_sleep_until(uint64_t deadline_ns);
// nanosleep's contract, errors as values: 0, EINTR (*rem set unless null), EINVAL, EFAULT.
int task_nanosleep(const timespec* req, timespec* rem);
// clock_nanosleep's; EINVAL also for clocks that are none of ours (see task_sleeps_on).
int task_clock_nanosleep(clockid_t clock, int flags, const timespec* req, timespec* rem);
inline bool task_sleeps_on(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
}
void task_yield();

}  // namespace wisp
