// pthread conditions, kept in the caller's pthread_cond_t. One bit is ours: "somebody may wait". It
// is written only under the condition's bucket lock: set by a waiter before it releases the mutex,
// cleared by the signaller that took the last one. A waiter that times out leaves it set (the next
// signal finds nobody and clears it), so no waiter touches the condition after it has been woken,
// and the condition may be destroyed right after a broadcast.
// Clock and process-shared bits stay where libc's pthread_cond_init put them; pthread_cond_init is
// therefore not interposed. Process-shared conditions are libc's, unless they are waited for with a
// mutex of ours (interpose/condition.cpp).
//
// A thread may wait in libc all the while (early.h). libc counts its waiters above the two bits, in
// while they hold the mutex, so whoever has a claim to wake one sees the count, as with our hint.
// While there are any, each signal and broadcast goes to both queues. The count cannot tell whether
// they have been woken already, so neither queue alone would be right; a wake-up too many is a
// spurious one. Nor need a signal cross over when its waiter gives up at that moment: both have had
// their own, and each queue passes on within itself.
// So the hint must be where it does not disturb them: the top bit of libc's 64-bit __wseq, which
// counts waits by twos. The other 31 bits of that half are 0 (there have not been 2^31 waits), so
// a plain store of the half does; libc adds to the whole and changes the lowest bit. Its signals
// use only the low 32 bits of what they compute from it (glibc, nptl/pthread_cond_common.c,
// __condvar_quiesce_and_switch_g1). A waiter keeps its own number, taken while the bit was not set.
#pragma once
#include <pthread.h>

#include "platform/real.h"
#include "sync/mutex.h"
#include "sync/words.h"

namespace wisp {

// Where libc keeps the two bits moved between versions: condition_layout_probe() finds it.
extern uint32_t g_condition_flags_offset __attribute__((visibility("hidden")));
constexpr uint32_t kConditionShared = 1;
constexpr uint32_t kConditionMonotonic = 2;
constexpr uint32_t kConditionInLibc = 8;  // one waiter of libc's; bit 2 is its destroy's
constexpr uint32_t kConditionHint = 1u << 31;

// Makes conditions with each attribute and looks what differs. False (and why) when this libc
// keeps its attributes in a way we do not know: Wisp must then stay off. Call once, at start.
bool condition_layout_probe(const char** why);

inline std::atomic<uint32_t>& condition_hint(pthread_cond_t* c) { return word_at<uint32_t>(c, 4); }
inline uint32_t condition_flags(pthread_cond_t* c) {
  return word_at<uint32_t>(c, g_condition_flags_offset).load(std::memory_order_relaxed);
}
inline bool condition_is_ours(pthread_cond_t* c) {
  return WISP_LIKELY((condition_flags(c) & kConditionShared) == 0);
}

// One of a private condition's waiters, or who has just been woken, is in libc.
inline bool condition_waits_in_libc(pthread_cond_t* c) {
  uint32_t flags = condition_flags(c);
  return WISP_UNLIKELY(flags >= kConditionInLibc) && (flags & kConditionShared) == 0;
}
inline bool condition_may_have_waiters(pthread_cond_t* c) {
  return condition_hint(c).load(std::memory_order_relaxed) != 0 ||
         condition_flags(c) >= kConditionInLibc;
}

// Whether or not somebody waits; any thread.
void condition_wake(pthread_cond_t* c, bool all);
int condition_destroy(pthread_cond_t* c);  // 0; libc's answer where libc has waiters
// 0, ETIMEDOUT or EPERM. May return 0 without a signal, as POSIX allows: so it does after a signal
// handler has run. The wait and the relock are both behind this one call.
int condition_wait(pthread_cond_t* c, pthread_mutex_t* m, uint64_t deadline_ns);
// With the condition's own clock.
int condition_timedwait(pthread_cond_t* c, pthread_mutex_t* m, const timespec* abstime);
int condition_clockwait(pthread_cond_t* c, pthread_mutex_t* m, clockid_t clock,
                        const timespec* abstime);

// Why a relaxed load is enough when nobody waits: a waiter sets the hint while it holds the mutex.
// A signaller that has held the mutex after that saw the release, so this load cannot see an older
// value. One that has not held it has no claim that its signal came after the wait began.
inline void condition_signal(pthread_cond_t* c) {
  if (condition_may_have_waiters(c)) condition_wake(c, false);
}
// Wakes all at once rather than moving them to the mutex one by one: HotSpot's rare broadcasts
// start its GC workers, which want to run in parallel.
inline void condition_broadcast(pthread_cond_t* c) {
  if (condition_may_have_waiters(c)) condition_wake(c, true);
}

}  // namespace wisp
