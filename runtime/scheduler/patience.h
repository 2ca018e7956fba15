// When SysMonitor takes a carrier away from the task that keeps it while others wait. Pure rules,
// without the scheduler. One per carrier, SysMonitor's own.
//
// What counts is the processor time of the carrier's kernel thread, not the clock on the wall. On
// busy processors a worker waits for its own as often as it runs; a carrier taken from it then
// makes one more kernel thread that waits, moves its tasks' data to another processor, and costs
// two wake-ups (docs/tried-carriers.md, "A worker that waits for its processor"). But who gets no
// processor time may also be blocked in a system call that the runtime does not know, which looks
// the same from outside (/proc would tell, at the price of a descriptor number that the program may
// miss): hence the limits.
#pragma once
#include <stdint.h>

#include <algorithm>

namespace wisp {

class Patience {
 public:
  static constexpr uint64_t kUnknown = ~0ull;
  // All in ticks of SysMonitor's.
  static constexpr uint64_t kStandsStill = 2;  // blocked, if it uses no processor for so long
  static constexpr uint64_t kAtMost = 16;      // whatever it uses
  // Of a tick: so much used since the last progress is progress, and so little less than a tick
  // is one (the two clocks are not read at the same moment).
  static constexpr uint64_t kProgressPart = 16, kNearlyPart = 8;

  // The carrier has switched since the last look. `cpu`: processor time of its kernel thread, ns,
  // or kUnknown.
  void moved(uint64_t now_ns, uint64_t cpu) {
    since_ns_ = progress_ns_ = now_ns;
    since_cpu_ = progress_cpu_ = cpu;
  }
  uint64_t since_ns() const { return since_ns_; }
  // It has not, and the tick is over by the wall. `cpu`: of the same kernel thread. True: take it.
  // False: not before *look_ns.
  bool ends(uint64_t now_ns, uint64_t cpu, uint64_t tick_ns, uint64_t* look_ns) {
    if (since_cpu_ == kUnknown || cpu == kUnknown || cpu < since_cpu_) return true;
    uint64_t used = cpu - since_cpu_, enough = tick_ns - tick_ns / kNearlyPart;
    if (used >= enough) return true;
    if (cpu - progress_cpu_ >= tick_ns / kProgressPart) {
      progress_cpu_ = cpu;
      progress_ns_ = now_ns;
    }
    uint64_t limit = std::min(progress_ns_ + kStandsStill * tick_ns, since_ns_ + kAtMost * tick_ns);
    if (now_ns >= limit) return true;
    *look_ns = std::min(now_ns + (enough - used), limit);
    return false;
  }

 private:
  uint64_t since_ns_ = 0, since_cpu_ = kUnknown;
  uint64_t progress_ns_ = 0, progress_cpu_ = kUnknown;
};

}  // namespace wisp
