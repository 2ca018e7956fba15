// Pace: how brief the time slices on a carrier are. Tasks that only pass on a message need some
// 5 us each; another carrier that takes one of them does so with the caches of the first, and so
// do those to whom it answers (seen with echo in one process: 10 instead of 5 us of processor time
// for each round trip). A few of them that queue behind each other are done sooner where they are.
#pragma once
#include <stdint.h>

#include <atomic>

namespace wisp {

class Pace {
 public:
  // Owner of the carrier, now and then: what its tasks have run in all (ticks), its switches.
  void look(uint64_t run, uint64_t switches) {
    uint64_t n = switches - seen_switches_;
    if (n < kLeast) return;
    uint64_t mean = (run - seen_run_) / n, old = mean_.load(std::memory_order_relaxed);
    mean_.store(old == kUnknown ? mean : old - old / 4 + mean / 4, std::memory_order_relaxed);
    seen_run_ = run;
    seen_switches_ = switches;
  }
  // Any thread: ticks that so many tasks will take; a guess. Relaxed: as good as any other's.
  uint64_t expected(uint32_t tasks) const { return tasks * mean_.load(std::memory_order_relaxed); }

 private:
  static constexpr uint64_t kLeast = 16;            // slices to a sample
  static constexpr uint64_t kUnknown = 1ull << 40;  // ticks: nobody waits that long
  std::atomic<uint64_t> mean_{kUnknown};
  uint64_t seen_run_ = 0, seen_switches_ = 0;  // the owner's
};

}  // namespace wisp
