// The contended mutex, and the kinds that know their owner. The invariant that keeps wake-ups:
// while somebody is queued on the word, the word is 2, or a thread that was woken from it is on its
// way and will make it 2 (it never takes the lock by the 0 -> 1 fast path).
#include "sync/mutex.h"

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

WISP_NOINLINE void mutex_wake(std::atomic<uint32_t>& word) {
  uint32_t woken;
  {
    RuntimeEntry entry;
    woken = ParkingLot::unpark(&word, 1);
  }
  if (woken != 0 && turn_is_due()) give_turn();
}

WISP_NOINLINE int mutex_lock_other(pthread_mutex_t* m) {
  if (!mutex_is_ours(m)) return real::pthread_mutex_lock(m);
  if (!knows_owner(m)) {
    if (mutex_word_trylock(mutex_word(m))) return 0;
    return mutex_lock_contended(mutex_word(m), kForever);
  }
  uint32_t tid = caller_tid();
  if (owned_by(m, tid)) return mutex_type(m) == PTHREAD_MUTEX_RECURSIVE ? lock_again(m) : EDEADLK;
  return lock_owned(m, tid, kForever);
}

WISP_NOINLINE int mutex_trylock_other(pthread_mutex_t* m) {
  if (!mutex_is_ours(m)) return real::pthread_mutex_trylock(m);
  if (!knows_owner(m)) return mutex_word_trylock(mutex_word(m)) ? 0 : EBUSY;
  uint32_t tid = caller_tid();
  if (mutex_type(m) == PTHREAD_MUTEX_RECURSIVE && owned_by(m, tid)) return lock_again(m);
  if (!mutex_word_trylock(mutex_word(m))) return EBUSY;
  owner_of(m).store(tid, std::memory_order_relaxed);
  count_of(m) = 1;
  return 0;
}

WISP_NOINLINE int mutex_unlock_other(pthread_mutex_t* m) {
  if (!mutex_is_ours(m)) return real::pthread_mutex_unlock(m);
  if (knows_owner(m)) {
    if (!owned_by(m, caller_tid())) return EPERM;
    if (mutex_type(m) == PTHREAD_MUTEX_RECURSIVE && --count_of(m) != 0) return 0;
    count_of(m) = 0;
    owner_of(m).store(0, std::memory_order_relaxed);
  }
  mutex_word_unlock(mutex_word(m));
  return 0;
}

int mutex_timedlock(pthread_mutex_t* m, clockid_t clock, const timespec* abstime) {
  if (!mutex_is_ours(m)) {
    if (clock == CLOCK_REALTIME) return real::pthread_mutex_timedlock(m, abstime);
    return real::pthread_mutex_clocklock != nullptr
               ? real::pthread_mutex_clocklock(m, clock, abstime)
               : EINVAL;
  }
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
