// pthread mutexes that tasks can wait for, kept in the caller's pthread_mutex_t with the words
// glibc uses: lock 0 free, 1 locked, 2 locked and somebody may be parked. So a mutex that libc
// locked before Wisp started is unlocked by us, and the other way round in a forked child.
// Robust and process-shared mutexes are libc's: its waiters sleep in the kernel, on a task without
// the carrier. With priority inheritance libc has the kernel hand over the lock, which knows kernel
// threads only: of a lock that a task holds it finds no owner, and libc then waits for ever or
// aborts (glibc, nptl/pthread_mutex_lock.c, ESRCH). So nobody inherits: mutexes of this process are
// ours like others, and mutex_init takes the inheritance from robust and shared ones. The kind lies
// in the mutex, so all processes agree. For one that another program has made we ask again and
// again; a thread of that program that waits while a task holds it fares as said.
// A priority ceiling is for real-time threads, which no task is: libc's error for others is EINVAL.
//
// Why it barges (a woken thread competes again) instead of handing the lock over: a hand-over makes
// everybody wait for the switch to the chosen thread; with tasks that is a whole queue of others.
// A thread that loses goes back to the end of the queue, as with libc's mutex; a task that takes
// the lock again and again without ever parking loses its carrier to SysMonitor, and from then on
// competes like one kernel thread with others. So no thread fares worse than under libc.
#pragma once
#include <pthread.h>

#include "platform/real.h"
#include "sync/words.h"

namespace wisp {

// glibc's kinds. Elision bits only ask for, or against, a hardware trick we do not play.
constexpr int kMutexTypeMask = 3;
constexpr int kMutexElisionBits = 256 | 512;
constexpr int kMutexInherits = 32;  // PTHREAD_MUTEX_PRIO_INHERIT_NP
constexpr int kMutexCeiling = 64;   // PTHREAD_MUTEX_PRIO_PROTECT_NP
static_assert(offsetof(pthread_mutex_t, __data.__lock) == 0);
static_assert(offsetof(pthread_mutex_t, __data.__count) == 4);
static_assert(offsetof(pthread_mutex_t, __data.__owner) == 8);
static_assert(offsetof(pthread_mutex_t, __data.__kind) == 16);
static_assert(PTHREAD_MUTEX_NORMAL == 0 && PTHREAD_MUTEX_RECURSIVE == 1 &&
              PTHREAD_MUTEX_ERRORCHECK == 2 && PTHREAD_MUTEX_ADAPTIVE_NP == 3);

inline std::atomic<uint32_t>& mutex_word(pthread_mutex_t* m) { return word_at<uint32_t>(m, 0); }
inline int mutex_kind(const pthread_mutex_t* m) { return m->__data.__kind & ~kMutexElisionBits; }
// Of one that is ours.
inline int mutex_type(const pthread_mutex_t* m) { return m->__data.__kind & kMutexTypeMask; }
inline bool mutex_is_ours(const pthread_mutex_t* m) {
  return (mutex_kind(m) & ~(kMutexTypeMask | kMutexInherits)) == 0;
}

// --- everything but the uncontended normal mutex: 0 or an errno value, as pthread's
int mutex_lock_contended(std::atomic<uint32_t>& word, uint64_t deadline_ns);  // 0 or ETIMEDOUT
void mutex_wake(std::atomic<uint32_t>& word);  // the word was 2 when it was released
int mutex_init(pthread_mutex_t* m, const pthread_mutexattr_t* attributes);
int mutex_lock_other(pthread_mutex_t* m);  // any other kind
int mutex_trylock_other(pthread_mutex_t* m);
int mutex_unlock_other(pthread_mutex_t* m);
int mutex_timedlock(pthread_mutex_t* m, clockid_t clock, const timespec* abstime);
int mutex_destroy(pthread_mutex_t* m);
// False when `m` is of a kind that knows its owner and that is not the caller.
bool mutex_may_unlock(pthread_mutex_t* m);

inline bool mutex_word_trylock(std::atomic<uint32_t>& word) {
  uint32_t free = 0;
  // acquire: pairs with the release in mutex_word_unlock.
  return word.compare_exchange_strong(free, 1, std::memory_order_acquire,
                                      std::memory_order_relaxed);
}
inline void mutex_word_unlock(std::atomic<uint32_t>& word) {
  // release: the next holder sees this section. The word is not touched after it: the next holder
  // may free the mutex; mutex_wake uses only its address.
  if (WISP_UNLIKELY(word.exchange(0, std::memory_order_release) == 2)) mutex_wake(word);
}

// Of a kind that does not know its owner, before it is released. libc's lock notes one for each
// kind, and insists on finding none (an assertion): as an early thread does that is woken in it
// (early.h), and a forked child. So what a lock in libc has left goes with the unlock.
inline void mutex_forget_owner(pthread_mutex_t* m) {
  if (WISP_UNLIKELY(m->__data.__owner != 0)) m->__data.__owner = 0;
}

inline int mutex_lock(pthread_mutex_t* m) {
  if (WISP_UNLIKELY(mutex_kind(m) != PTHREAD_MUTEX_NORMAL)) return mutex_lock_other(m);
  if (WISP_LIKELY(mutex_word_trylock(mutex_word(m)))) return 0;
  return mutex_lock_contended(mutex_word(m), kForever);
}
inline int mutex_trylock(pthread_mutex_t* m) {
  if (WISP_UNLIKELY(mutex_kind(m) != PTHREAD_MUTEX_NORMAL)) return mutex_trylock_other(m);
  return WISP_LIKELY(mutex_word_trylock(mutex_word(m))) ? 0 : EBUSY;
}
inline int mutex_unlock(pthread_mutex_t* m) {
  if (WISP_UNLIKELY(mutex_kind(m) != PTHREAD_MUTEX_NORMAL)) return mutex_unlock_other(m);
  mutex_forget_owner(m);
  mutex_word_unlock(mutex_word(m));
  return 0;
}

}  // namespace wisp
