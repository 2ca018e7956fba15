// Hand-off: who owns the carrier of a task that is busy outside the runtime. One word per task, so
// every race between the task and whoever wants its carrier is decided by one CAS.
//
//   from       to         by              when
//   ---------  ---------  --------------  ---------------------------------------------------------
//   None       Requested  SysMonitor      the task ran past its tick and others wait
//   Requested  None       the task        it entered the runtime first: it keeps the carrier
//   Requested  None       SysMonitor      it withdraws (the task was inside the runtime)
//   Requested  Taken      SysMonitor      after a membarrier it saw depth == 0
//   None       Taken      the task        before a call known to block it gave its carrier away
//   Taken      None       the task        it got a carrier again (re-attached or dispatched)
//
// Why the fast path needs no atomic: on entry the task stores depth = 1, then loads this word
// (compiler barrier only). SysMonitor stores Requested, does membarrier, then loads depth. The
// membarrier gives the missing store->load order on the task's side: either SysMonitor sees
// depth == 1 and withdraws, or the task sees Requested and the CAS decides.
#pragma once
#include <atomic>

#include "platform/compiler.h"

namespace wisp {

enum class HandOff : uint32_t { None = 0, Requested = 1, Taken = 2 };

// Templated on the atomics, so that tests/model checks this very word.
template <template <typename> class Atomic = std::atomic>
class BasicHandOffWord {
 public:
  HandOff load() const { return word_.load(std::memory_order_acquire); }
  bool is_none() const { return word_.load(std::memory_order_relaxed) == HandOff::None; }
  bool move(HandOff from, HandOff to) {
    return word_.compare_exchange_strong(from, to, std::memory_order_acq_rel,
                                         std::memory_order_acquire);
  }
  void set(HandOff v) { word_.store(v, std::memory_order_release); }

 private:
  Atomic<HandOff> word_{HandOff::None};
};

using HandOffWord = BasicHandOffWord<>;

}  // namespace wisp
