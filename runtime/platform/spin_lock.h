// The lock of short runtime sections (tens of instructions). Waits by Backoff: the holder may have
// been descheduled by the kernel. Take it only with ThreadSelf::depth > 0, so that no signal
// handler runs, and no hand-off happens, while it is held. See docs/design.md for the one lock
// order.
#pragma once
#include <atomic>

#include "platform/backoff.h"

namespace wisp {

class SpinLock {
 public:
  void lock() {
    // acquire: the section sees everything the previous holder wrote before its release.
    if (WISP_LIKELY(word_.exchange(1, std::memory_order_acquire) == 0)) return;
    lock_slow();
  }
  bool try_lock() { return word_.exchange(1, std::memory_order_acquire) == 0; }
  void unlock() { word_.store(0, std::memory_order_release); }
  // Only in a fork child, where no other thread exists.
  void reset() { word_.store(0, std::memory_order_relaxed); }

 private:
  WISP_NOINLINE void lock_slow() {
    for (Backoff backoff;; backoff.wait()) {
      if (word_.load(std::memory_order_relaxed) == 0 &&
          word_.exchange(1, std::memory_order_acquire) == 0)
        return;
    }
  }
  std::atomic<uint32_t> word_{0};
};

class SpinGuard {
 public:
  explicit SpinGuard(SpinLock& l) : lock_(l) { lock_.lock(); }
  ~SpinGuard() { lock_.unlock(); }
  SpinGuard(const SpinGuard&) = delete;
  SpinGuard& operator=(const SpinGuard&) = delete;

 private:
  SpinLock& lock_;
};

}  // namespace wisp
