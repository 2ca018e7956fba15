// A lock for critical sections of a few instructions that make no system call. It blocks the
// kernel thread, so a task never parks, allocates or calls out while it holds one.
#pragma once

#include <sched.h>

#include <atomic>

namespace wisp {

class SpinLock {
 public:
  void lock() {
    // acquire pairs with the release in unlock(): the protected data are seen complete.
    for (int spins = 0; held_.exchange(true, std::memory_order_acquire);) {
      while (held_.load(std::memory_order_relaxed)) {
        // The holder may be preempted; after a while give it our time slice.
        if (++spins > 100) sched_yield();
      }
    }
  }
  void unlock() { held_.store(false, std::memory_order_release); }

  // Only in a fork child, where no other thread exists.
  void reset() { held_.store(false, std::memory_order_relaxed); }

 private:
  std::atomic<bool> held_{false};
};

}  // namespace wisp
