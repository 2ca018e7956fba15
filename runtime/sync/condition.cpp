// The wait: queue the waiter, then release the mutex, then leave the stack, then take the mutex
// again. A signal between any two of these finds the waiter. See condition.h for the hint word.
#include "sync/condition.h"

#include <string.h>

#include "sync/parking_lot.h"

namespace wisp {

uint32_t g_condition_flags_offset = 36;

namespace {

// 0 or an error of the unlock; then the caller still holds (or never held) the mutex.
inline int queue_and_wait(pthread_cond_t* c, pthread_mutex_t* m, Waiter* w, uint64_t deadline_ns,
                          WakeReason* reason) {
  ParkingLot::enqueue(c, w, [c] {
    // relaxed: ordered for signallers by the mutex, which we hold (condition_signal).
    condition_hint(c).store(kConditionHint, std::memory_order_relaxed);
    return true;
  });
  int e = mutex_unlock(m);
  if (WISP_UNLIKELY(e != 0) && ParkingLot::cancel(w, WakeReason::Interrupted)) return e;
  *reason = ParkingLot::wait(w, deadline_ns);
  return e;
}

// Init a condition with the attributes; its words go to out. False when libc refuses.
bool sample(int shared, clockid_t clock, uint32_t (&out)[sizeof(pthread_cond_t) / 4]) {
  pthread_condattr_t attr;
  pthread_cond_t c;
  memset(&c, 0xa5, sizeof c);
  if (pthread_condattr_init(&attr) != 0) return false;
  bool ok = pthread_condattr_setpshared(&attr, shared) == 0 &&
            pthread_condattr_setclock(&attr, clock) == 0 && pthread_cond_init(&c, &attr) == 0;
  pthread_condattr_destroy(&attr);
  // Not destroyed: a condition that nobody has used holds nothing.
  memcpy(out, &c, sizeof out);
  return ok;
}

}  // namespace

bool condition_layout_probe(const char** why) {
  constexpr size_t kWords = sizeof(pthread_cond_t) / 4;
  uint32_t plain[kWords], monotonic[kWords], shared[kWords], both[kWords];
  if (!sample(PTHREAD_PROCESS_PRIVATE, CLOCK_REALTIME, plain) ||
      !sample(PTHREAD_PROCESS_PRIVATE, CLOCK_MONOTONIC, monotonic) ||
      !sample(PTHREAD_PROCESS_SHARED, CLOCK_REALTIME, shared) ||
      !sample(PTHREAD_PROCESS_SHARED, CLOCK_MONOTONIC, both)) {
    *why = "pthread_cond_init refuses clock or process-shared attributes";
    return false;
  }
  size_t at = 0;
  for (size_t i = 1; i < kWords; ++i)
    if (monotonic[i] != 0) at = i;
  bool ok = at > 1;
  for (size_t i = 0; i < kWords && ok; ++i) {
    bool flags = i == at;
    ok = plain[i] == 0 && monotonic[i] == (flags ? kConditionMonotonic : 0) &&
         shared[i] == (flags ? kConditionShared : 0) &&
         both[i] == (flags ? (kConditionMonotonic | kConditionShared) : 0);
  }
  if (!ok) {
    *why = "this libc lays out pthread_cond_t in a way Wisp does not know";
    return false;
  }
  g_condition_flags_offset = static_cast<uint32_t>(at * 4);
  return true;
}

WISP_NOINLINE void condition_wake(pthread_cond_t* c, bool all) {
  bool in_libc = condition_waits_in_libc(c);
  uint32_t woken;
  {
    RuntimeEntry entry;
    woken = ParkingLot::unpark(c, all ? UINT32_MAX : 1, [c](uint32_t, bool more) {
      // relaxed: under the bucket lock, as the waiter's store. Before any of the woken can run, so
      // the condition cannot be gone yet.
      if (!more) condition_hint(c).store(0, std::memory_order_relaxed);
    });
  }
  // Last: one that we have woken may destroy the condition, but that waits for those in libc.
  if (in_libc) all ? real::pthread_cond_broadcast(c) : real::pthread_cond_signal(c);
  if (woken != 0 && turn_is_due()) give_turn();
}

int condition_destroy(pthread_cond_t* c) {
  // libc's waits until those that are woken there have let go of the condition; ours never touch it
  // again.
  return condition_waits_in_libc(c) ? real::pthread_cond_destroy(c) : 0;
}

int condition_wait(pthread_cond_t* c, pthread_mutex_t* m, uint64_t deadline_ns) {
  // Asked before queueing: once queued, a signal may be spent on us.
  if (WISP_UNLIKELY(mutex_kind(m) != PTHREAD_MUTEX_NORMAL) && !mutex_may_unlock(m)) return EPERM;
  WakeReason reason = WakeReason::Unparked;
  int e;
  {
    RuntimeEntry entry;
    if (WispTask* task = entry.task()) {
      e = queue_and_wait(c, m, &task->waiter, deadline_ns, &reason);
    } else {
      Waiter own;
      e = queue_and_wait(c, m, &own, deadline_ns, &reason);
    }
  }  // a pending signal is handled here, before the mutex is held again
  if (WISP_UNLIKELY(e != 0)) return e;
  e = mutex_lock(m);  // a recursive mutex: one level, as it was given up
  if (WISP_UNLIKELY(e != 0)) return e;
  return reason == WakeReason::TimedOut ? ETIMEDOUT : 0;
}

int condition_timedwait(pthread_cond_t* c, pthread_mutex_t* m, const timespec* abstime) {
  if (WISP_UNLIKELY(!valid_nsec(*abstime))) return EINVAL;
  clockid_t clock =
      (condition_flags(c) & kConditionMonotonic) != 0 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
  return condition_wait(c, m, lock_deadline(clock, *abstime));
}

int condition_clockwait(pthread_cond_t* c, pthread_mutex_t* m, clockid_t clock,
                        const timespec* abstime) {
  if (WISP_UNLIKELY(!valid_nsec(*abstime) || !valid_lock_clock(clock))) return EINVAL;
  return condition_wait(c, m, lock_deadline(clock, *abstime));
}

}  // namespace wisp
