// pthread read-write locks of this process, in the caller's pthread_rwlock_t. One 64-bit word says
// everything, so that the operation that releases the lock also tells whom to wake and the lock's
// memory need not be touched again (its next holder may free it):
//
//   bit 1      a writer holds it       bits 3-22  readers holding it
//   bits 23-43 readers waiting         bits 44-63 writers waiting
//
// Who holds it stands where glibc writes that: a library whose constructor runs before ours may
// have used or still hold the lock, and in a forked child libc unlocks. Bits 0 and 2 are what libc
// keeps from one phase to the next (a write phase outlasts its writer); they say nothing about who
// is inside and are left alone. Where libc may have waiters, the lock is libc's (early.h): a writer
// that leaves hands over to them, some of whom are counted as inside already.
//
// A waiter counts itself in before it parks and out in the CAS that gives it the lock. Readers park
// on the lock's address, writers four bytes above. The preferred kind is where libc's init and
// static initialisers put it; process-shared locks are libc's. As libc: readers are preferred
// unless the kind is PREFER_WRITER_NONRECURSIVE.
#pragma once
#include <pthread.h>

#include "platform/real.h"
#include "sync/early.h"
#include "sync/words.h"

namespace wisp {

// Ours are the first eight bytes and libc's __cur_writer; __flags and __shared stay libc's.
static_assert(offsetof(pthread_rwlock_t, __data.__cur_writer) >= 8);
static_assert(offsetof(pthread_rwlock_t, __data.__shared) >= 8);
static_assert(offsetof(pthread_rwlock_t, __data.__flags) >= 8);
static_assert(alignof(pthread_rwlock_t) >= 8);

inline bool rwlock_is_ours(const pthread_rwlock_t* l) {
  return l->__data.__shared == 0 && !early_threads();
}
// Compares what libc's calls leave with the bits above. Call once, at start.
bool rwlock_layout_probe(const char** why);

// 0 or an errno value; deadline kForever, or ns of CLOCK_MONOTONIC.
int rwlock_tryrdlock(pthread_rwlock_t* l);
int rwlock_trywrlock(pthread_rwlock_t* l);
int rwlock_rdlock(pthread_rwlock_t* l, uint64_t deadline_ns);
int rwlock_wrlock(pthread_rwlock_t* l, uint64_t deadline_ns);
int rwlock_clockrdlock(pthread_rwlock_t* l, clockid_t clock, const timespec* abstime);
int rwlock_clockwrlock(pthread_rwlock_t* l, clockid_t clock, const timespec* abstime);
int rwlock_unlock(pthread_rwlock_t* l);

}  // namespace wisp
