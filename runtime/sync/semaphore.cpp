// A waiter counts itself in, looks, and parks only if there is no unit; it counts itself out in the
// same CAS that takes a unit. So post's one fetch_add tells it whether to look for a sleeper.
#include "sync/semaphore.h"

#include <limits.h>
#include <string.h>

#include "sync/early.h"
#include "sync/interruption.h"
#include "sync/parking_lot.h"

namespace wisp {

bool semaphore_layout_probe(const char** why) {
  sem_t own, shared;
  memset(&own, 0xa5, sizeof own);
  memset(&shared, 0xa5, sizeof shared);
  bool ok = sem_init(&own, 0, 7) == 0 && sem_init(&shared, 1, 7) == 0 &&
            sem_word(&own).load() == 7 && sem_is_ours(&own) && !sem_is_ours(&shared);
  if (!ok) *why = "this libc lays out sem_t in a way Wisp does not know";
  return ok;
}

namespace {

// Takes a unit and `less` from the word if there is one. acquire: pairs with post's release.
bool take(std::atomic<uint64_t>& word, uint64_t less) {
  uint64_t now = word.load(std::memory_order_relaxed);
  while (sem_value(now) != 0) {
    if (word.compare_exchange_weak(now, now - 1 - less, std::memory_order_acquire,
                                   std::memory_order_relaxed))
      return true;
  }
  return false;
}

WISP_NOINLINE int wait_slow(std::atomic<uint64_t>& word, uint64_t deadline_ns) {
  // relaxed: post's fetch_add is on the same word, so it either comes before (then our look below
  // sees its unit) or after (then it sees us waiting and goes to the bucket lock).
  word.fetch_add(kSemWaiter, std::memory_order_relaxed);
  for (;;) {
    if (take(word, kSemWaiter)) return 0;
    WakeReason reason;
    AfterSignal signal = AfterSignal::Ends;
    {
      RuntimeEntry entry;
      reason = park(&word, deadline_ns,
                    [&] { return sem_value(word.load(std::memory_order_relaxed)) == 0; });
      if (reason == WakeReason::Interrupted) signal = after_signal(entry.task());
    }
    // Unparked or Mismatch: look again, even when the deadline has passed by now.
    if (reason == WakeReason::TimedOut || reason == WakeReason::Interrupted) {
      // A unit that came meanwhile is taken all the same: its post may have skipped others for us.
      if (take(word, kSemWaiter)) return 0;
      if (reason == WakeReason::Interrupted && begins_anew(signal, deadline_ns)) continue;
      word.fetch_sub(kSemWaiter, std::memory_order_relaxed);
      return reason == WakeReason::TimedOut ? ETIMEDOUT : EINTR;
    }
  }
}

}  // namespace

int semaphore_trywait(sem_t* s) { return take(sem_word(s), 0) ? 0 : EAGAIN; }

int semaphore_wait(sem_t* s, uint64_t deadline_ns) {
  if (WISP_LIKELY(take(sem_word(s), 0))) return 0;
  return wait_slow(sem_word(s), deadline_ns);
}

int semaphore_clockwait(sem_t* s, clockid_t clock, const timespec* abstime) {
  if (!valid_lock_clock(clock) || !valid_nsec(*abstime)) return EINVAL;
  if (WISP_LIKELY(take(sem_word(s), 0))) return 0;
  return wait_slow(sem_word(s), lock_deadline(clock, *abstime));
}

int semaphore_post(sem_t* s) {
  std::atomic<uint64_t>& word = sem_word(s);
  uint64_t now = word.load(std::memory_order_relaxed);
  do {
    if (sem_value(now) == SEM_VALUE_MAX) return EOVERFLOW;
    // release: whoever takes the unit sees what was done before the post.
  } while (!word.compare_exchange_weak(now, now + 1, std::memory_order_release,
                                       std::memory_order_relaxed));
  // An early thread in libc's wait sleeps on the low half of the word, is counted in the high half
  // like ours, and takes its unit in the same way.
  if (WISP_UNLIKELY(now >= kSemWaiter) && wake_early(&word, 1) == 0) {
    RuntimeEntry entry;
    ParkingLot::unpark(&word, 1);  // by address only: the semaphore may be gone
  }
  return 0;
}

}  // namespace wisp
