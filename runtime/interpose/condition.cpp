// pthread conditions: C ABI to sync/condition.h. Process-shared ones with process-shared mutexes,
// and every one while Wisp is off, go to libc. pthread_cond_init is not here: libc's leaves exactly
// what we read.
#include "sync/condition.h"

#include "interpose/entry.h"
#include "sync/kernel_wait.h"

using namespace wisp;

namespace {
inline bool ours(pthread_cond_t* c) { return interposing() && condition_is_ours(c); }

// Somebody has waited in the lot for a process-shared condition. relaxed: who has a claim to wake
// him holds the mutex after him (condition_signal).
std::atomic<bool> g_shared_in_lot{false};

// A process-shared condition waited for with a mutex of ours, which no other process can lock: in
// libc the waiter would unlock and lock that mutex behind our back.
bool ours_with(pthread_cond_t* c, pthread_mutex_t* m) {
  if (!interposing()) return false;
  if (condition_is_ours(c)) return true;
  if (!mutex_is_ours(m)) return false;
  g_shared_in_lot.store(true, std::memory_order_relaxed);
  return true;
}

// In a forked child, before a wait of libc's: the hint of waiters that only the parent has would be
// part of libc's count of waits.
void ready_for_libc(pthread_cond_t* c) {
  if (!g_interposing.load(std::memory_order_relaxed) && condition_is_ours(c) &&
      condition_hint(c).load(std::memory_order_relaxed) == kConditionHint)
    condition_hint(c).store(0, std::memory_order_relaxed);
}

// One that is libc's.
template <typename F>
int wait_in_libc(pthread_cond_t* c, F&& wait) {
  ready_for_libc(c);
  return interposing() ? wait_in_kernel(wait) : wait();
}

bool perhaps_in_lot() { return interposing() && g_shared_in_lot.load(std::memory_order_relaxed); }
}  // namespace

WISP_EXPORT int pthread_cond_wait(pthread_cond_t* c, pthread_mutex_t* m) {
  if (!ours_with(c, m)) {
    real::ensure();
    return wait_in_libc(c, [=] { return real::pthread_cond_wait(c, m); });
  }
  return condition_wait(c, m, kForever);
}

WISP_EXPORT int pthread_cond_timedwait(pthread_cond_t* c, pthread_mutex_t* m,
                                       const timespec* abstime) {
  if (!ours_with(c, m)) {
    real::ensure();
    return wait_in_libc(c, [=] { return real::pthread_cond_timedwait(c, m, abstime); });
  }
  return condition_timedwait(c, m, abstime);
}

// glibc 2.30; nobody can have been linked against it where libc has none.
WISP_EXPORT int pthread_cond_clockwait(pthread_cond_t* c, pthread_mutex_t* m, clockid_t clock,
                                       const timespec* abstime) {
  if (!ours_with(c, m)) {
    real::ensure();
    if (real::pthread_cond_clockwait == nullptr) return ENOSYS;
    return wait_in_libc(c, [=] { return real::pthread_cond_clockwait(c, m, clock, abstime); });
  }
  return condition_clockwait(c, m, clock, abstime);
}

WISP_EXPORT int pthread_cond_signal(pthread_cond_t* c) {
  if (!ours(c)) {
    if (perhaps_in_lot()) condition_signal(c);
    return real::ensure(), real::pthread_cond_signal(c);
  }
  condition_signal(c);
  return 0;
}

WISP_EXPORT int pthread_cond_broadcast(pthread_cond_t* c) {
  if (!ours(c)) {
    if (perhaps_in_lot()) condition_broadcast(c);
    return real::ensure(), real::pthread_cond_broadcast(c);
  }
  condition_broadcast(c);
  return 0;
}

WISP_EXPORT int pthread_cond_destroy(pthread_cond_t* c) {
  if (!ours(c)) return real::ensure(), real::pthread_cond_destroy(c);
  return condition_destroy(c);
}
