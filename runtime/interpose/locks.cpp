// pthread mutexes, once and spin locks: C ABI to sync/mutex.h and sync/once.h. The attributes are
// libc's: we read what they leave. C11's mtx_ and cnd_ functions stay libc's, too:
// libc implements them without a call we could see, nothing in the JDK imports them, and a lock
// used only through them is consistent in itself (its waiters sleep in the kernel).
// None of these is a cancellation point for a task; HotSpot cancels nobody.
#include <errno.h>

#include "interpose/entry.h"
#include "platform/backoff.h"
#include "sync/mutex.h"
#include "sync/once.h"

using namespace wisp;

// A vfork child (`straight` is set) has our mutexes in common with tasks, those of a memory
// allocator above all. libc's lock would sleep for a wake-up that an owner of ours gives to the
// parking lot only, and libc's unlock would leave those asleep who are parked there. So it asks
// again and again, and unlocks as we do.
static bool among_tasks() { return g_interposing.load(std::memory_order_relaxed); }

static WISP_NOINLINE int lock_patiently(pthread_mutex_t* m) {
  int r;
  for (Backoff backoff; (r = mutex_trylock(m)) == EBUSY;) backoff.wait();
  return r;
}

WISP_EXPORT int pthread_mutex_init(pthread_mutex_t* m,
                                   const pthread_mutexattr_t* attributes) noexcept {
  real::ensure();
  if (!among_tasks()) return real::pthread_mutex_init(m, attributes);
  return mutex_init(m, attributes);
}

WISP_EXPORT int pthread_mutex_lock(pthread_mutex_t* m) {
  if (interposing()) return mutex_lock(m);
  if (among_tasks()) return lock_patiently(m);
  return real::ensure(), real::pthread_mutex_lock(m);
}

WISP_EXPORT int pthread_mutex_trylock(pthread_mutex_t* m) {
  if (!among_tasks()) return real::ensure(), real::pthread_mutex_trylock(m);
  return mutex_trylock(m);
}

WISP_EXPORT int pthread_mutex_unlock(pthread_mutex_t* m) {
  if (!among_tasks()) return real::ensure(), real::pthread_mutex_unlock(m);
  return mutex_unlock(m);
}

WISP_EXPORT int pthread_mutex_timedlock(pthread_mutex_t* m, const timespec* abstime) {
  if (!interposing()) return real::ensure(), real::pthread_mutex_timedlock(m, abstime);
  return mutex_timedlock(m, CLOCK_REALTIME, abstime);
}

// glibc 2.30; nobody can have been linked against it where libc has none.
WISP_EXPORT int pthread_mutex_clocklock(pthread_mutex_t* m, clockid_t clock,
                                        const timespec* abstime) {
  if (!interposing()) {
    real::ensure();
    return real::pthread_mutex_clocklock != nullptr
               ? real::pthread_mutex_clocklock(m, clock, abstime)
               : ENOSYS;
  }
  return mutex_timedlock(m, clock, abstime);
}

WISP_EXPORT int pthread_mutex_destroy(pthread_mutex_t* m) {
  real::ensure();
  // In a forked child libc would count users: of one that we have unlocked there is one too few.
  if (!among_tasks() && !scheduler_running()) return real::pthread_mutex_destroy(m);
  return mutex_destroy(m);
}

WISP_EXPORT int pthread_once(pthread_once_t* control, void (*init)(void)) {
  if (!interposing()) return real::ensure(), real::pthread_once(control, init);
  return WISP_LIKELY(once_done(control)) ? 0 : once_slow(control, init);
}

WISP_EXPORT int pthread_spin_lock(pthread_spinlock_t* lock) {
  if (!interposing()) return real::ensure(), real::pthread_spin_lock(lock);
  return spin_lock(lock);
}

// libc's second names, which old libraries import. Who waits here must not be left to an unlock
// there.
WISP_EXPORT int __pthread_mutex_init(pthread_mutex_t* m, const pthread_mutexattr_t* attr) {
  return pthread_mutex_init(m, attr);
}
WISP_EXPORT int __pthread_mutex_lock(pthread_mutex_t* m) { return pthread_mutex_lock(m); }
WISP_EXPORT int __pthread_mutex_trylock(pthread_mutex_t* m) { return pthread_mutex_trylock(m); }
WISP_EXPORT int __pthread_mutex_unlock(pthread_mutex_t* m) { return pthread_mutex_unlock(m); }
WISP_EXPORT int __pthread_mutex_destroy(pthread_mutex_t* m) { return pthread_mutex_destroy(m); }
WISP_EXPORT int __pthread_once(pthread_once_t* control, void (*init)(void)) {
  return pthread_once(control, init);
}
