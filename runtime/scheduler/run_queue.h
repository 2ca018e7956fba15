// The run queue of one carrier: a bounded ring, one producer (the carrier's worker), many consumers
// (the worker itself and thieves). Templated on the element and on the atomics, so that the model
// checker in tests/model runs this very code.
//
// Memory order. `tail_` is written only by the owner: its release store publishes the slot before
// it; a consumer's acquire load of tail_ therefore sees the slot. Consumers claim [head, head+n) by
// CAS on `head_`; a slot is read before the CAS, and the CAS fails if anybody else claimed it. The
// owner may overwrite a slot only after it has seen head_ move past it (acquire load in push).
#pragma once
#include <atomic>

#include "platform/compiler.h"

namespace wisp {

template <typename T, uint32_t Capacity, template <typename> class Atomic = std::atomic>
class RunQueue {
  static_assert((Capacity & (Capacity - 1)) == 0, "a power of two");

 public:
  // Owner only. False when full.
  bool push(T* item) {
    uint32_t tail = tail_.load(std::memory_order_relaxed);
    uint32_t head = head_.load(std::memory_order_acquire);
    if (WISP_UNLIKELY(tail - head >= Capacity)) return false;
    slots_[tail % Capacity].store(item, std::memory_order_relaxed);
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }
  // Owner only. Null when empty.
  T* pop() {
    uint32_t head = head_.load(std::memory_order_acquire);
    for (;;) {
      if (head == tail_.load(std::memory_order_relaxed)) return nullptr;
      T* item = slots_[head % Capacity].load(std::memory_order_relaxed);
      if (head_.compare_exchange_weak(head, head + 1, std::memory_order_acq_rel,
                                      std::memory_order_acquire))
        return item;
    }
  }
  // Owner only, and only where nobody ever steals: the claim needs no CAS.
  T* pop_alone() {
    uint32_t head = head_.load(std::memory_order_relaxed);
    if (head == tail_.load(std::memory_order_relaxed)) return nullptr;
    T* item = slots_[head % Capacity].load(std::memory_order_relaxed);
    head_.store(head + 1, std::memory_order_relaxed);
    return item;
  }
  // Any thread. Takes up to half (rounded up) of the items, oldest first, into out[0..max).
  uint32_t steal(T** out, uint32_t max) {
    uint32_t head = head_.load(std::memory_order_acquire);
    for (;;) {
      uint32_t tail = tail_.load(std::memory_order_acquire);
      uint32_t size = tail - head;
      // head may be older than tail by more than the ring: a stale pair, read again.
      if (size > Capacity) {
        head = head_.load(std::memory_order_acquire);
        continue;
      }
      uint32_t n = size - size / 2;
      if (n == 0) return 0;
      if (n > max) n = max;
      for (uint32_t i = 0; i < n; ++i)
        out[i] = slots_[(head + i) % Capacity].load(std::memory_order_relaxed);
      if (head_.compare_exchange_weak(head, head + n, std::memory_order_acq_rel,
                                      std::memory_order_acquire))
        return n;
    }
  }
  // Any thread: what is queued now, more or less; for observers. The items may be gone already.
  uint32_t look(T** out, uint32_t max) const {
    uint32_t head = head_.load(std::memory_order_acquire);
    uint32_t n = tail_.load(std::memory_order_acquire) - head;
    if (n > Capacity) return 0;
    if (n > max) n = max;
    for (uint32_t i = 0; i < n; ++i)
      out[i] = slots_[(head + i) % Capacity].load(std::memory_order_relaxed);
    return n;
  }
  uint32_t size() const {
    uint32_t head = head_.load(std::memory_order_acquire);
    uint32_t tail = tail_.load(std::memory_order_acquire);
    return tail - head > Capacity ? 0 : tail - head;
  }
  bool empty() const { return size() == 0; }

 private:
  // head_ is fought over by thieves, tail_ is the owner's: separate lines.
  alignas(kCacheLine) Atomic<uint32_t> head_{0};
  alignas(kCacheLine) Atomic<uint32_t> tail_{0};
  Atomic<T*> slots_[Capacity] = {};
};

}  // namespace wisp
