// POSIX semaphores: C ABI (errno and -1) to sync/semaphore.h. sem_init, sem_destroy, sem_getvalue
// and sem_open are libc's: it keeps the value where we do.
#include "sync/semaphore.h"

#include "interpose/entry.h"
#include "sync/kernel_wait.h"

using namespace wisp;

namespace {

inline bool ours(sem_t* s) { return interposing() && sem_is_ours(s); }

// One that is libc's. `wait` is its function; it also knows what is wrong with a time, for which
// it looks first.
template <typename F>
int wait_in_libc(sem_t* s, bool valid, F&& wait) {
  if (!interposing() || !valid) return wait();
  int error = errno;
  if (real::sem_trywait(s) == 0) return 0;
  errno = error;
  return wait_in_kernel(wait);
}

}  // namespace

WISP_EXPORT int sem_wait(sem_t* s) {
  if (!ours(s)) {
    real::ensure();
    return wait_in_libc(s, true, [s] { return real::sem_wait(s); });
  }
  return error_answer(semaphore_wait(s, kForever));
}

WISP_EXPORT int sem_timedwait(sem_t* s, const timespec* abstime) {
  if (!ours(s)) {
    real::ensure();
    return wait_in_libc(s, valid_nsec(*abstime), [=] { return real::sem_timedwait(s, abstime); });
  }
  return error_answer(semaphore_clockwait(s, CLOCK_REALTIME, abstime));
}

// glibc 2.30; nobody can have been linked against it where libc has none.
WISP_EXPORT int sem_clockwait(sem_t* s, clockid_t clock, const timespec* abstime) {
  if (!ours(s)) {
    real::ensure();
    if (real::sem_clockwait == nullptr) return error_answer(ENOSYS);
    return wait_in_libc(s, valid_lock_clock(clock) && valid_nsec(*abstime),
                        [=] { return real::sem_clockwait(s, clock, abstime); });
  }
  return error_answer(semaphore_clockwait(s, clock, abstime));
}

WISP_EXPORT int sem_trywait(sem_t* s) {
  if (!ours(s)) return real::ensure(), real::sem_trywait(s);
  return error_answer(semaphore_trywait(s));
}

WISP_EXPORT int sem_post(sem_t* s) {
  if (!ours(s)) return real::ensure(), real::sem_post(s);
  return error_answer(semaphore_post(s));
}
