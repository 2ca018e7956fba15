// The parking lot's table and its waiting half. See parking_lot.h for the contract.
#include "sync/parking_lot.h"

#include "platform/backoff.h"
#include "platform/cleanup.h"

namespace wisp {

// 2,048 buckets: with tens of thousands of waiters a lookup stays short, and 128 KiB of zero pages
// cost nothing until used.
static constexpr uint32_t kBucketBits = 11;
static Bucket g_buckets[1u << kBucketBits];

Bucket& ParkingLot::bucket_of(const void* key) {
  // Fibonacci hashing: the low bits of addresses are alike, the product's high bits are not.
  uint64_t h = reinterpret_cast<uintptr_t>(key) * 0x9E3779B97F4A7C15ull;
  return g_buckets[h >> (64 - kBucketBits)];
}

void ParkingLot::append(Bucket& b, const void* key, Waiter* w) {
  w->key.store(key, std::memory_order_relaxed);
  w->next = nullptr;
  w->prev = b.tail;
  if (b.tail != nullptr)
    b.tail->next = w;
  else
    b.head = w;
  b.tail = w;
  // release: who sees it queued (cancel, before it takes the lock) sees the key, too.
  w->queued.store(true, std::memory_order_release);
}

void ParkingLot::take_out(Bucket& b, Waiter* w) {
  (w->prev != nullptr ? w->prev->next : b.head) = w->next;
  (w->next != nullptr ? w->next->prev : b.tail) = w->prev;
}

void ParkingLot::unlink(Bucket& b, Waiter* w) {
  take_out(b, w);
  w->queued.store(false, std::memory_order_relaxed);
}

void ParkingLot::wake(Waiter* w) {
  if (w->task != nullptr) {
    ready(w->task);
    return;
  }
  // release: the woken thread sees `reason`. The waiter may be gone right after this store (it is
  // on a stack); waking a dead address is a spurious wake-up for whoever waits there, as in glibc.
  std::atomic<uint32_t>* word = &w->wake;
  word->store(kWakened, std::memory_order_release);
  kernel::futex_wake(word, 1);
}

// A kernel thread's wait that a handler does not come back to: nobody may find the waiter.
static void give_up(void* waiter) {
  auto* w = static_cast<Waiter*>(waiter);
  thread_self().compares = nullptr;
  RuntimeEntry entry;
  if (ParkingLot::cancel(w, WakeReason::Interrupted)) return;
  // Dequeued, and about to be written to.
  for (Backoff backoff; w->wake.load(std::memory_order_acquire) != kWakened;) backoff.wait();
}

WakeReason ParkingLot::wait(Waiter* w, uint64_t deadline_ns) {
  WispTask* self = w->task;
  if (self != nullptr) {
    // pthread_kill sets the pending bit, does a membarrier and then looks for a queued waiter; we
    // have queued the waiter before this load, and the membarrier orders the two: one of us sees
    // the other.
    // The two marks are no reason to stay: what is deferred, the next flow here takes over. Nor are
    // signals if this is a wait within the runtime (an allocator's mutex): nothing is delivered
    // before its outermost entry is left, and whoever waits again at once would keep its carrier.
    bool outermost = self->self->depth.load(std::memory_order_relaxed) == 1;
    uint64_t pending = self->self->pending_signals.load(std::memory_order_relaxed) &
                       ~(kDeferredMark | kLoaderMark);
    if (WISP_UNLIKELY((pending & ~self->signal_mask) != 0) && outermost &&
        cancel(w, WakeReason::Interrupted))
      return WakeReason::Interrupted;
    if (deadline_ns == kForever)
      park_current(self);
    else
      park_current_until(self, deadline_ns);
    return w->reason;
  }
  ThreadSelf& me = thread_self();
  CleanupScope given_up(give_up, w);
  for (;;) {
    // acquire: pairs with the waker's release store.
    uint32_t state = w->wake.load(std::memory_order_acquire);
    if (state == kWakened) return w->reason;
    // A failed exchange: woken meanwhile.
    if (state == kCompares &&
        w->wake.compare_exchange_strong(state, kWaiting, std::memory_order_relaxed) &&
        cancel(w, WakeReason::Mismatch))
      return WakeReason::Mismatch;
    // Asleep it holds no lock of ours, so handlers run right here: with SA_RESTART the kernel would
    // put us back to sleep with a deferred signal still unhandled.
    uint32_t depth = me.depth.load(std::memory_order_relaxed);
    me.depth.store(0, std::memory_order_relaxed);
    compiler_barrier();
    if (me.pending_signals.load(std::memory_order_relaxed) != 0) runtime_leave_slow(me);
    int r = kernel::futex_wait(&w->wake, kWaiting, deadline_ns);
    compiler_barrier();
    me.depth.store(depth, std::memory_order_relaxed);
    if (r == -ETIMEDOUT && cancel(w, WakeReason::TimedOut)) return WakeReason::TimedOut;
    if (r == -EINTR && cancel(w, WakeReason::Interrupted)) return WakeReason::Interrupted;
    // cancel failed: somebody has dequeued us and is about to store `wake`.
  }
}

bool ParkingLot::cancel(Waiter* w, WakeReason reason) {
  for (;;) {
    if (!w->queued.load(std::memory_order_acquire)) return false;
    const void* key = w->key.load(std::memory_order_relaxed);
    Bucket& b = bucket_of(key);
    SpinGuard guard(b.lock);
    if (!w->queued.load(std::memory_order_relaxed)) return false;
    // A requeue, or a new wait of the same task, may have moved it meanwhile: find its new bucket.
    if (w->key.load(std::memory_order_relaxed) != key) continue;
    unlink(b, w);
    w->reason = reason;
    return true;
  }
}

void ParkingLot::interrupt(WispTask* task) {
  if (cancel(&task->waiter, WakeReason::Interrupted)) ready(task);
}

uint32_t ParkingLot::requeue(const void* from, const void* to, uint32_t wake_count, uint32_t move,
                             uint32_t* moved) {
  Bucket& source = bucket_of(from);
  Bucket& target = bucket_of(to);
  // Two bucket locks: by address, so that two opposite requeues cannot wait for each other.
  SpinLock* first = &source < &target ? &source.lock : &target.lock;
  SpinLock* second = &source < &target ? &target.lock : &source.lock;
  Waiter* woken = nullptr;
  Waiter** last = &woken;
  uint32_t count = 0, moves = 0;
  first->lock();
  if (second != first) second->lock();
  for (Waiter* w = source.head; w != nullptr && (count < wake_count || moves < move);) {
    Waiter* following = w->next;
    if (w->key.load(std::memory_order_relaxed) == from) {
      if (count < wake_count) {
        unlink(source, w);
        w->reason = WakeReason::Unparked;
        *last = w;
        last = &w->next;
        ++count;
      } else {
        // Queued all the while: cancel looks at that before it takes a lock, and who finds it false
        // takes the waiter for woken.
        if (from != to) {
          take_out(source, w);
          append(target, to, w);
        }
        ++moves;
      }
    }
    w = following;
  }
  *last = nullptr;
  if (second != first) second->unlock();
  first->unlock();
  while (woken != nullptr) {
    Waiter* w = woken;
    woken = w->next;
    wake(w);
  }
  if (moved != nullptr) *moved = moves;
  return count;
}

}  // namespace wisp
