// The one blocking primitive: threads (tasks and kernel threads alike, in one queue) wait on an
// address. Address-keyed like WebKit's parking lot; the queue of an address is FIFO.
//
// A wait is made in two steps, so that a caller can release its own lock in between without losing
// a wake-up:
//     enqueue(key, waiter, still_wanted)  ->  release the lock  ->  wait(waiter, deadline)
// From enqueue on an unpark finds the waiter, even while its thread has not left its stack yet.
//
// Memory order: everything about a key happens under its bucket's lock. enqueue's `still_wanted`
// is evaluated under it, and unpark takes it, so "value changed, then unpark" cannot slip between
// the test and the queueing.
// All calls need a RuntimeEntry in the calling thread; none allocates.
#pragma once
#include <time.h>

#include "platform/clock.h"
#include "platform/spin_lock.h"
#include "scheduler/own_thread.h"
#include "scheduler/scheduler.h"
#include "sync/waiter.h"

namespace wisp {

struct alignas(kCacheLine) Bucket {
  SpinLock lock;
  Waiter* head = nullptr;
  Waiter* tail = nullptr;
};

class ParkingLot {
 public:
  static Bucket& bucket_of(const void* key);

  // Queues `w` on `key` if still_wanted() (called under the bucket lock) says so; false otherwise.
  template <typename F>
  static bool enqueue(const void* key, Waiter* w, F&& still_wanted) {
    w->task = current_task();
    if (w->task != nullptr) note_own_thread(w->task);
    w->wake.store(0, std::memory_order_relaxed);
    Bucket& b = bucket_of(key);
    SpinGuard guard(b.lock);
    if (!still_wanted()) return false;
    append(b, key, w);
    return true;
  }
  // Waits until dequeued, or until deadline_ns (CLOCK_MONOTONIC; kForever = none), or
  // until a signal is pending for this task (Interrupted: the caller handles it by leaving its
  // RuntimeEntry, then decides whether to wait again). Returns why.
  static WakeReason wait(Waiter* w, uint64_t deadline_ns);

  // Wakes up to n waiters of key, oldest first; returns how many. `before_release(woken, more)`
  // runs under the bucket lock after they are dequeued: `more` = waiters remain on this key.
  template <typename F>
  static uint32_t unpark(const void* key, uint32_t n, F&& before_release);
  static uint32_t unpark(const void* key, uint32_t n) {
    return unpark(key, n, [](uint32_t, bool) {});
  }
  // Wakes up to n waiters for which pred(const Waiter&) is true (futex bitsets).
  template <typename P>
  static uint32_t unpark_if(const void* key, uint32_t n, P&& pred);
  // Takes `w` out of its queue and records `reason`; false if it was dequeued already. Does not
  // wake. Any thread; the waiter's memory must be readable (a task's always is).
  static bool cancel(Waiter* w, WakeReason reason);
  // cancel(Interrupted) and wake: what pthread_kill does to a parked task.
  static void interrupt(WispTask* task);
  // Wakes up to `wake` waiters of `from` and moves up to `move` more to the queue of `to`, which
  // may be the same: they stay where they are and count as moved.
  static uint32_t requeue(const void* from, const void* to, uint32_t wake, uint32_t move,
                          uint32_t* moved);

 private:
  static void append(Bucket& b, const void* key, Waiter* w);
  static void take_out(Bucket& b, Waiter* w);  // of the list only
  static void unlink(Bucket& b, Waiter* w);
  static void wake(Waiter* w);
};

// The waiter of the calling thread: the task's own, or for kernel threads `local`.
inline Waiter* my_waiter(WispTask* task, Waiter* local) {
  return task != nullptr ? &task->waiter : local;
}

// enqueue + wait for the common case without a lock to release. Mismatch if `still_wanted` was
// false.
template <typename F>
WakeReason park(const void* key, uint64_t deadline_ns, F&& still_wanted) {
  Waiter local;
  Waiter* w = my_waiter(current_task(), &local);
  if (!ParkingLot::enqueue(key, w, still_wanted)) return WakeReason::Mismatch;
  return ParkingLot::wait(w, deadline_ns);
}

template <typename F>
uint32_t ParkingLot::unpark(const void* key, uint32_t n, F&& before_release) {
  Bucket& b = bucket_of(key);
  Waiter* woken = nullptr;
  Waiter** last = &woken;
  uint32_t count = 0;
  bool more = false;
  b.lock.lock();
  for (Waiter* w = b.head; w != nullptr;) {
    Waiter* following = w->next;
    if (w->key.load(std::memory_order_relaxed) == key) {
      if (count == n) {
        more = true;
        break;
      }
      unlink(b, w);
      w->reason = WakeReason::Unparked;
      *last = w;
      last = &w->next;
      ++count;
    }
    w = following;
  }
  *last = nullptr;
  before_release(count, more);
  b.lock.unlock();
  while (woken != nullptr) {
    Waiter* w = woken;
    woken = w->next;  // before wake(): from then on the waiter belongs to its thread again
    wake(w);
  }
  return count;
}

template <typename P>
uint32_t ParkingLot::unpark_if(const void* key, uint32_t n, P&& pred) {
  Bucket& b = bucket_of(key);
  Waiter* woken = nullptr;
  Waiter** last = &woken;
  uint32_t count = 0;
  b.lock.lock();
  for (Waiter* w = b.head; w != nullptr && count < n;) {
    Waiter* following = w->next;
    if (w->key.load(std::memory_order_relaxed) == key && pred(*w)) {
      unlink(b, w);
      w->reason = WakeReason::Unparked;
      *last = w;
      last = &w->next;
      ++count;
    }
    w = following;
  }
  *last = nullptr;
  b.lock.unlock();
  while (woken != nullptr) {
    Waiter* w = woken;
    woken = w->next;
    wake(w);
  }
  return count;
}

}  // namespace wisp
