// Threads that ran before Wisp interposed: of other preloaded or linked libraries, whose
// constructors ld.so runs before ours (jemalloc's background thread). Such a thread may sit in a
// wait of libc's on a mutex, a condition or a semaphore that is ours from then on; it sleeps in the
// kernel, where no unpark finds it. What each kind of object does about that stands with it:
//   mutex, semaphore, futex   whoever wakes wakes in the kernel first (wake_early)
//   condition                 its own word counts libc's waiters (condition.h)
//   read-write lock, barrier  libc's in such a process: its waiters are no mere sleepers but take
//                             part in the protocol (hand-over, counts)
// Where no such thread exists nobody can wait in libc, and what libc has left in an object is at
// rest or held by the one thread there is.
//
// From its next call on such a thread is like others. Left open: a thread that has asked
// interposing() before the flag was set and is stopped between that and libc's first access until
// somebody queues in the lot for that very object. Its unlock, signal or post finds nobody.
//
// Why the kernel first, and why its answer is exact: early waiters are the oldest, so that is FIFO;
// and who is counted as woken has left the kernel's queue by that wake-up and no other way, so it
// goes on to look at the word and neither times out nor is lost.
#pragma once
#include <stdint.h>

#include <atomic>

#include "platform/compiler.h"
#include "platform/kernel.h"

namespace wisp {

extern std::atomic<bool> g_early_threads __attribute__((visibility("hidden")));

// relaxed: set before anybody could ask, and early threads pass a membarrier after that.
inline bool early_threads() {
  return WISP_UNLIKELY(g_early_threads.load(std::memory_order_relaxed));
}

// Call once, at start, before interposing begins and before any thread of ours has been: one that
// was joined may still count. Looks whether there is any other thread.
void early_threads_find();

// Wakes up to n that sleep on the word in the kernel; how many. By address only: the object may be
// gone. No RuntimeEntry needed. bitset as in FUTEX_WAKE_BITSET. (The kernel wakes one for 0.)
inline uint32_t wake_early(const void* word, uint32_t n, uint32_t bitset = FUTEX_BITSET_MATCH_ANY) {
  if (!early_threads() || n == 0) return 0;
  long count = n > INT32_MAX ? INT32_MAX : n;
  long woken = kernel::call(SYS_futex, reinterpret_cast<long>(word),
                            FUTEX_WAKE_BITSET | FUTEX_PRIVATE_FLAG, count, 0, 0, bitset);
  return woken > 0 ? static_cast<uint32_t>(woken) : 0;
}

}  // namespace wisp
