// The contended mutex, the kinds that know their owner, and the way to libc for the others. The
// invariant that keeps wake-ups: while somebody is queued on the word, the word is 2, or a thread
// that was woken from it is on its way and will make it 2 (it never takes the lock by the 0 -> 1
// fast path).
#include "sync/mutex.h"

#include <linux/futex.h>

#include "platform/backoff.h"
#include "platform/kernel.h"
#include "sync/early.h"
#include "sync/kernel_wait.h"
#include "sync/parking_lot.h"

namespace wisp {

namespace {

constexpr uint32_t kSpins = 40;  // about as long as a short section of a running holder

std::atomic<uint32_t>& owner_of(pthread_mutex_t* m) {
  return word_at<uint32_t>(m, offsetof(pthread_mutex_t, __data.__owner));
}
// Of one that is ours.
bool knows_owner(const pthread_mutex_t* m) {
  int type = mutex_type(m);
  return type == PTHREAD_MUTEX_RECURSIVE || type == PTHREAD_MUTEX_ERRORCHECK;
}
// Only the owner touches it.
unsigned& count_of(pthread_mutex_t* m) { return m->__data.__count; }

// relaxed: only the caller itself ever stores the caller's tid there, so a match is never stale;
// any other value, old or new, means "not mine".
bool owned_by(pthread_mutex_t* m, uint32_t tid) {
  return owner_of(m).load(std::memory_order_relaxed) == tid;
}

bool spin(std::atomic<uint32_t>& word) {
  // On one carrier the holder is most likely a task that cannot run while we spin.
  if (scheduler_carriers() < 2) return false;
  for (uint32_t i = 0; i < kSpins; ++i) {
    uint32_t value = word.load(std::memory_order_relaxed);
    if (value == 0 && mutex_word_trylock(word)) return true;
    if (value == 2) return false;  // others gave up spinning already
    cpu_pause();
  }
  return false;
}

// Locks and records the owner: kinds recursive and errorcheck.
int lock_owned(pthread_mutex_t* m, uint32_t tid, uint64_t deadline_ns) {
  std::atomic<uint32_t>& word = mutex_word(m);
  if (!mutex_word_trylock(word)) {
    int e = mutex_lock_contended(word, deadline_ns);
    if (e != 0) return e;
  }
  owner_of(m).store(tid, std::memory_order_relaxed);
  count_of(m) = 1;
  return 0;
}

int lock_again(pthread_mutex_t* m) {
  if (count_of(m) + 1 == 0) return EAGAIN;
  ++count_of(m);
  return 0;
}

// --- those that are libc's

bool inherits(const pthread_mutex_t* m) { return (m->__data.__kind & kMutexInherits) != 0; }
bool refused(const pthread_mutex_t* m) {
  int kind = m->__data.__kind;  // below 0: destroyed
  return kind > 0 && (kind & kMutexCeiling) != 0 && current_task() != nullptr;
}

// What libc's trylock leaves undone after a dead owner. One that cannot be recovered it has taken
// and not released (glibc 2.36; with inheritance the kernel should release it, and refuses, since
// it knows no task), so that the next lock would wait for ever instead of saying the same. One that
// can be recovered the kernel takes if it is with inheritance: for the worker, by its tid.
WISP_NOINLINE void settle_trylock(pthread_mutex_t* m, int answer) {
  std::atomic<uint32_t>& word = mutex_word(m);
  uint32_t tid = caller_tid();
  // relaxed: nothing of the program's is read or written under this lock.
  uint32_t now = word.load(std::memory_order_relaxed);
  if (answer == ENOTRECOVERABLE) {
    if ((now & FUTEX_TID_MASK) != tid) return;
    if ((word.exchange(0, std::memory_order_relaxed) & FUTEX_WAITERS) != 0)
      kernel::call(SYS_futex, reinterpret_cast<long>(m), FUTEX_WAKE, 1);
  } else if (inherits(m)) {
    while (!word.compare_exchange_weak(now, (now & ~FUTEX_TID_MASK) | tid,
                                       std::memory_order_relaxed)) {
    }
  }
}

int trylock_in_libc(pthread_mutex_t* m) {
  if (WISP_UNLIKELY(refused(m))) return EINVAL;
  int e = real::pthread_mutex_trylock(m);
  if (WISP_UNLIKELY(e == EOWNERDEAD || e == ENOTRECOVERABLE)) settle_trylock(m, e);
  return e;
}

// After a try that found it busy: `lock` is libc's function, which knows what else may be wrong.
template <typename F>
int wait_in_libc(pthread_mutex_t* m, uint64_t deadline_ns, F&& lock) {
  return wait_in_kernel([&] {
    if (WISP_LIKELY(!inherits(m))) return lock();
    int e;
    for (Backoff backoff; (e = trylock_in_libc(m)) == EBUSY; backoff.wait())
      if (deadline_ns != kForever && monotonic_ns() >= deadline_ns) return ETIMEDOUT;
    return e;
  });
}

int lock_in_libc(pthread_mutex_t* m) {
  int e = trylock_in_libc(m);
  if (e != EBUSY) return e;
  return wait_in_libc(m, kForever, [m] { return real::pthread_mutex_lock(m); });
}

int timedlock_in_libc(pthread_mutex_t* m, clockid_t clock, const timespec* abstime) {
  if (clock != CLOCK_REALTIME && real::pthread_mutex_clocklock == nullptr) return EINVAL;
  if (!valid_lock_clock(clock)) return EINVAL;
  int e = trylock_in_libc(m);
  if (e != EBUSY) return e;
  if (!valid_nsec(*abstime)) return EINVAL;
  return wait_in_libc(m, lock_deadline(clock, *abstime), [=] {
    return clock == CLOCK_REALTIME ? real::pthread_mutex_timedlock(m, abstime)
                                   : real::pthread_mutex_clocklock(m, clock, abstime);
  });
}

int unlock_in_libc(pthread_mutex_t* m) {
  if (WISP_UNLIKELY(refused(m)))  // it cannot be the owner
    return knows_owner(m) ? EPERM : 0;
  if (WISP_UNLIKELY(inherits(m))) {
    // Another program's thread that wanted to wait has left its mark before the kernel told it that
    // there is no such owner. With it libc would ask the kernel to release, in vain.
    WispTask* task = current_task();
    std::atomic<uint32_t>& word = mutex_word(m);
    if (task != nullptr && (word.load(std::memory_order_relaxed) & FUTEX_TID_MASK) == task->tid)
      word.fetch_and(~FUTEX_WAITERS, std::memory_order_relaxed);
  }
  return real::pthread_mutex_unlock(m);
}

}  // namespace

WISP_NOINLINE int mutex_lock_contended(std::atomic<uint32_t>& word, uint64_t deadline_ns) {
  if (spin(word)) return 0;
  // acquire: as in mutex_word_trylock. The exchange also announces that we are about to park.
  while (word.exchange(2, std::memory_order_acquire) != 0) {
    WakeReason reason;
    {
      RuntimeEntry entry;
      reason = park(&word, deadline_ns, [&] { return word.load(std::memory_order_relaxed) == 2; });
    }
    // An interrupted wait has run its signal handler when the entry was left.
    if (reason == WakeReason::TimedOut) return ETIMEDOUT;
  }
  return 0;
}

// An early thread in libc's lock has made the word 2, does so again when it is woken, and unlocks
// as everybody does. So the invariant holds whichever of the two queues the next one comes from.
WISP_NOINLINE void mutex_wake(std::atomic<uint32_t>& word) {
  if (wake_early(&word, 1) != 0) return;
  uint32_t woken;
  {
    RuntimeEntry entry;
    woken = ParkingLot::unpark(&word, 1);
  }
  if (woken != 0 && turn_is_due()) give_turn();
}

int mutex_init(pthread_mutex_t* m, const pthread_mutexattr_t* attributes) {
  int e = real::pthread_mutex_init(m, attributes);
  if (e == 0 && attributes != nullptr && !mutex_is_ours(m)) m->__data.__kind &= ~kMutexInherits;
  return e;
}

WISP_NOINLINE int mutex_lock_other(pthread_mutex_t* m) {
  if (!mutex_is_ours(m)) return lock_in_libc(m);
  if (!knows_owner(m)) {
    if (mutex_word_trylock(mutex_word(m))) return 0;
    return mutex_lock_contended(mutex_word(m), kForever);
  }
  uint32_t tid = caller_tid();
  if (owned_by(m, tid)) return mutex_type(m) == PTHREAD_MUTEX_RECURSIVE ? lock_again(m) : EDEADLK;
  return lock_owned(m, tid, kForever);
}

WISP_NOINLINE int mutex_trylock_other(pthread_mutex_t* m) {
  if (!mutex_is_ours(m)) return trylock_in_libc(m);
  if (!knows_owner(m)) return mutex_word_trylock(mutex_word(m)) ? 0 : EBUSY;
  uint32_t tid = caller_tid();
  if (mutex_type(m) == PTHREAD_MUTEX_RECURSIVE && owned_by(m, tid)) return lock_again(m);
  if (!mutex_word_trylock(mutex_word(m))) return EBUSY;
  owner_of(m).store(tid, std::memory_order_relaxed);
  count_of(m) = 1;
  return 0;
}

WISP_NOINLINE int mutex_unlock_other(pthread_mutex_t* m) {
  if (!mutex_is_ours(m)) return unlock_in_libc(m);
  if (knows_owner(m)) {
    if (!owned_by(m, caller_tid())) return EPERM;
    if (mutex_type(m) == PTHREAD_MUTEX_RECURSIVE && --count_of(m) != 0) return 0;
    count_of(m) = 0;
    owner_of(m).store(0, std::memory_order_relaxed);
  } else {
    mutex_forget_owner(m);
  }
  mutex_word_unlock(mutex_word(m));
  return 0;
}

int mutex_timedlock(pthread_mutex_t* m, clockid_t clock, const timespec* abstime) {
  if (!mutex_is_ours(m)) return timedlock_in_libc(m, clock, abstime);
  if (WISP_UNLIKELY(!valid_lock_clock(clock))) return EINVAL;
  // POSIX: a mutex that can be had at once is had, whatever the time says.
  int e = mutex_trylock(m);
  if (e != EBUSY) return e;
  uint32_t tid = 0;
  if (knows_owner(m)) {
    tid = caller_tid();
    if (owned_by(m, tid)) return EDEADLK;  // errorcheck: trylock took a recursive one
  }
  if (!valid_nsec(*abstime)) return EINVAL;
  uint64_t deadline = lock_deadline(clock, *abstime);
  return tid != 0 ? lock_owned(m, tid, deadline) : mutex_lock_contended(mutex_word(m), deadline);
}

int mutex_destroy(pthread_mutex_t* m) {
  if (!mutex_is_ours(m)) return real::pthread_mutex_destroy(m);
  if (mutex_word(m).load(std::memory_order_relaxed) != 0) return EBUSY;
  m->__data.__kind = -1;  // what libc leaves: no kind at all, so a later use is an error
  return 0;
}

bool mutex_may_unlock(pthread_mutex_t* m) {
  return !mutex_is_ours(m) || !knows_owner(m) || owned_by(m, caller_tid());
}

}  // namespace wisp
