// The init routine is run by libc's pthread_once, not by us: it knows how to undo the claim when
// the routine throws (std::call_once) or forks. Others park until it is over; the deadline covers
// the one wake-up we cannot give, that of a routine that left by an exception. It moves away, as
// routines that take long seldom throw, and hundreds may wait for one.
#include "sync/once.h"

#include "sync/parking_lot.h"
#include "sync/sleep.h"

namespace wisp {

int once_slow(pthread_once_t* control, void (*init)(void)) {
  std::atomic<uint32_t>& word = word_at<uint32_t>(control, 0);
  constexpr long kFirstWait = 1'000'000, kLongestWait = 64'000'000;
  for (timespec wait{0, kFirstWait}; (word.load(std::memory_order_acquire) & 3) == kOnceInProgress;
       wait.tv_nsec = wait.tv_nsec < kLongestWait ? wait.tv_nsec * 2 : kLongestWait) {
    uint64_t deadline = deadline_after(wait);
    RuntimeEntry entry;
    park(control, deadline,
         [&] { return (word.load(std::memory_order_relaxed) & 3) == kOnceInProgress; });
  }
  if (once_done(control)) return 0;
  int e = real::pthread_once(control, init);
  RuntimeEntry entry;
  ParkingLot::unpark(control, UINT32_MAX);
  return e;
}

int spin_lock(pthread_spinlock_t* lock) {
  constexpr uint32_t kSpins = 100;
  for (;;) {
    for (uint32_t i = 0; i < kSpins; ++i) {
      if (real::pthread_spin_trylock(lock) == 0) return 0;
      cpu_pause();
    }
    task_yield();  // the holder may be a task that waits for our carrier
  }
}

}  // namespace wisp
