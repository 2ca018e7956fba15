// Who may touch a task's stack and saved registers.
//
//   from     to       by                when
//   -------  -------  ----------------  -----------------------------------------------------------
//   Clear    Running  who dispatches    it has seen Clear (acquire) on a task it took from a queue
//   Running  Clear    the next flow     the task that was left has saved its registers (release)
//   Clear    Claimed  SysMonitor        it wants a parked task's unused stack (trim.cpp)
//   Claimed  Clear    SysMonitor        it is done
//   Claimed  Running  who dispatches    it had seen Clear before the claim
//
// A waker may queue a task that has announced its wait but has not left its stack; so a dispatcher
// waits for Clear. It then writes Running with a plain store, not with a locked instruction, and
// that is what a claim has to live with. So a dispatcher says that it is about to enter before it
// looks for Clear (two plain accesses), and takes that back behind Running. SysMonitor claims, does
// membarrier(2), then asks whether somebody is about to enter and whether the claim stands: either
// the dispatcher's look comes behind the barrier and sees the claim, or SysMonitor sees that it is
// about to enter, or that Running was written over the claim.
#pragma once
#include <atomic>
#include <cstdint>

namespace wisp {

// Templated on the atomics, so that tests/model checks these very words.
template <template <typename> class Atomic = std::atomic>
class BasicOnCpu {
 public:
  // acquire: the registers that were saved, and everything the task wrote.
  bool clear() const { return word_.load(std::memory_order_acquire) == kClear; }
  bool running() const { return word_.load(std::memory_order_relaxed) == kRunning; }

  // Who has taken the task from a queue, until it answers true; then enter().
  bool may_enter() {
    about_.store(1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // the rest is membarrier's
    return clear();
  }
  void enter() {
    word_.store(kRunning, std::memory_order_relaxed);
    about_.store(0, std::memory_order_release);  // who sees it sees Running
  }
  // The flow that was switched to. release: see clear().
  void leave() { word_.store(kClear, std::memory_order_release); }

  // SysMonitor. acquire: as clear().
  bool claim() {
    uint16_t expected = kClear;
    return word_.compare_exchange_strong(expected, kClaimed, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }
  // After the claim and a membarrier: nobody enters before unclaim().
  bool claim_stands() const {
    return about_.load(std::memory_order_acquire) == 0 &&
           word_.load(std::memory_order_relaxed) == kClaimed;
  }
  // release: a dispatcher that waits finds the stack as SysMonitor left it. Where a dispatcher has
  // written over the claim there is nothing to take back.
  void unclaim() {
    uint16_t expected = kClaimed;
    word_.compare_exchange_strong(expected, kClear, std::memory_order_release,
                                  std::memory_order_relaxed);
  }

 private:
  static constexpr uint16_t kClear = 0, kRunning = 1, kClaimed = 2;
  // Together four bytes, for the task's first cache line.
  Atomic<uint16_t> word_{kClear};
  Atomic<uint16_t> about_{0};
};

using OnCpu = BasicOnCpu<>;

}  // namespace wisp
