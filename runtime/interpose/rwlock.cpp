// pthread read-write locks and barriers: C ABI to sync/rwlock.h and sync/barrier.h. Init and the
// attributes are libc's; so is pthread_rwlock_destroy, which does nothing but mark the memory.
#include "sync/rwlock.h"

#include "interpose/entry.h"
#include "sync/barrier.h"
#include "sync/kernel_wait.h"

using namespace wisp;

namespace {
inline bool ours(const pthread_rwlock_t* l) { return interposing() && rwlock_is_ours(l); }

bool valid_time(clockid_t clock, const timespec* abstime) {
  return valid_lock_clock(clock) && valid_nsec(*abstime);
}

// One that is libc's. `lock` is its function; it also knows what is wrong with a time, for which it
// looks first, and whether the caller waits for itself (EDEADLK).
template <typename F>
int lock_in_libc(pthread_rwlock_t* l, int (*attempt)(pthread_rwlock_t*), bool valid, F&& lock) {
  if (!interposing() || !valid) return lock();
  int e = attempt(l);
  return e != EBUSY ? e : wait_in_kernel(lock);
}
}  // namespace

WISP_EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t* l) {
  if (!ours(l)) {
    real::ensure();
    return lock_in_libc(l, real::pthread_rwlock_tryrdlock, true,
                        [l] { return real::pthread_rwlock_rdlock(l); });
  }
  return rwlock_rdlock(l, kForever);
}

WISP_EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t* l) {
  if (!ours(l)) {
    real::ensure();
    return lock_in_libc(l, real::pthread_rwlock_trywrlock, true,
                        [l] { return real::pthread_rwlock_wrlock(l); });
  }
  return rwlock_wrlock(l, kForever);
}

WISP_EXPORT int pthread_rwlock_tryrdlock(pthread_rwlock_t* l) {
  if (!ours(l)) return real::ensure(), real::pthread_rwlock_tryrdlock(l);
  return rwlock_tryrdlock(l);
}

WISP_EXPORT int pthread_rwlock_trywrlock(pthread_rwlock_t* l) {
  if (!ours(l)) return real::ensure(), real::pthread_rwlock_trywrlock(l);
  return rwlock_trywrlock(l);
}

WISP_EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t* l, const timespec* abstime) {
  if (!ours(l)) {
    real::ensure();
    return lock_in_libc(l, real::pthread_rwlock_tryrdlock, valid_nsec(*abstime),
                        [=] { return real::pthread_rwlock_timedrdlock(l, abstime); });
  }
  return rwlock_clockrdlock(l, CLOCK_REALTIME, abstime);
}

WISP_EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t* l, const timespec* abstime) {
  if (!ours(l)) {
    real::ensure();
    return lock_in_libc(l, real::pthread_rwlock_trywrlock, valid_nsec(*abstime),
                        [=] { return real::pthread_rwlock_timedwrlock(l, abstime); });
  }
  return rwlock_clockwrlock(l, CLOCK_REALTIME, abstime);
}

// The clock variants are glibc 2.30; nobody can have been linked against one that libc lacks.
WISP_EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t* l, clockid_t clock,
                                           const timespec* abstime) {
  if (!ours(l)) {
    real::ensure();
    if (real::pthread_rwlock_clockrdlock == nullptr) return ENOSYS;
    return lock_in_libc(l, real::pthread_rwlock_tryrdlock, valid_time(clock, abstime),
                        [=] { return real::pthread_rwlock_clockrdlock(l, clock, abstime); });
  }
  return rwlock_clockrdlock(l, clock, abstime);
}

WISP_EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t* l, clockid_t clock,
                                           const timespec* abstime) {
  if (!ours(l)) {
    real::ensure();
    if (real::pthread_rwlock_clockwrlock == nullptr) return ENOSYS;
    return lock_in_libc(l, real::pthread_rwlock_trywrlock, valid_time(clock, abstime),
                        [=] { return real::pthread_rwlock_clockwrlock(l, clock, abstime); });
  }
  return rwlock_clockwrlock(l, clock, abstime);
}

WISP_EXPORT int pthread_rwlock_unlock(pthread_rwlock_t* l) {
  if (!ours(l)) return real::ensure(), real::pthread_rwlock_unlock(l);
  return rwlock_unlock(l);
}

WISP_EXPORT int pthread_barrier_wait(pthread_barrier_t* b) {
  real::ensure();
  if (!interposing()) return real::pthread_barrier_wait(b);
  if (barrier_is_ours(b)) return barrier_wait(b);
  return wait_in_kernel([b] { return real::pthread_barrier_wait(b); });
}

WISP_EXPORT int pthread_barrier_destroy(pthread_barrier_t* b) {
  if (!interposing() || !barrier_is_ours(b))
    return real::ensure(), real::pthread_barrier_destroy(b);
  return barrier_destroy(b);
}

// As in locks.cpp.
WISP_EXPORT int __pthread_rwlock_rdlock(pthread_rwlock_t* l) { return pthread_rwlock_rdlock(l); }
WISP_EXPORT int __pthread_rwlock_wrlock(pthread_rwlock_t* l) { return pthread_rwlock_wrlock(l); }
WISP_EXPORT int __pthread_rwlock_tryrdlock(pthread_rwlock_t* l) {
  return pthread_rwlock_tryrdlock(l);
}
WISP_EXPORT int __pthread_rwlock_trywrlock(pthread_rwlock_t* l) {
  return pthread_rwlock_trywrlock(l);
}
WISP_EXPORT int __pthread_rwlock_unlock(pthread_rwlock_t* l) { return pthread_rwlock_unlock(l); }
