// Narrow: whether one of two or three carriers is kept back. Width (width.h) asks how long the
// carriers are busy; with few of them and a few connections that says nothing: they wait for each
// event in the kernel, which makes each dearer, and so they are busy. With 4 connections to Tomcat
// a sixth to four fifths of all switches came after a sleep, and two carriers took about twice the
// processor time of one for a request, and made fewer of them: the second processor was wanted by
// those who ask and answer (docs/performance-conditions.md, "A few connections"). One carrier that
// has all of it hardly ever sleeps.
//
// So it is kept back where carriers run dry at every few switches, and wanted again where tasks
// queue for longer than it takes to wake it and it to run.
//
// Pure rules, without the scheduler; SysMonitor's own.
#pragma once
#include <stdint.h>

#include <algorithm>

#include "scheduler/width.h"

namespace wisp {

class Narrow {
 public:
  static constexpr bool possible(uint32_t carriers) {
    return carriers > 1 && carriers < Width::kMany;
  }
  // Until it is kept back, and, sooner, until it is wanted again.
  static constexpr uint64_t kWindowUs = 100'000, kWindowBackUs = 50'000;
  // At least every so many-th switch a carrier runs dry: with 4 connections every second to fifth,
  // with 64 every fifteenth at most.
  static constexpr uint64_t kDryPart = 8;
  // And if the others still do at every so many-th, it was no use: each of their tasks waits alone.
  // With one connection its only carrier stays on one processor, those who answer on the other, and
  // each wake-up goes across; two that take turns are spared that at times. On one host they cost a
  // third more, on another one alone makes half as many requests (docs/performance-conditions.md,
  // "One connection").
  static constexpr uint64_t kStillDryPart = 3;
  // Switches in such a time; fewer cost little, and tell little.
  static constexpr uint64_t kLeast = 200;
  // The mean slice, at most: so long a task waits for another. To be woken beside other programs
  // takes as long (waits in queues, under load; some 50 us alone, from a halted processor).
  static constexpr uint64_t kBriefUs = 150;
  // In the others' queues, on average of the looks.
  static constexpr uint64_t kLongUs = 150;
  // For one of so many parts of the time at most a task had kept its carrier for a tick: else
  // somebody computes, or the others have lost their processor.
  static constexpr uint64_t kStuckPart = 4;
  // Soon wanted again, it is left alone for a while, twice as long each time.
  static constexpr uint64_t kSoonUs = 2'000'000, kShortestUs = 100'000, kLongestUs = 10'000'000;

  // All since the start, of all carriers together.
  struct Seen {
    uint64_t now_us;
    uint64_t run_us;    // tasks ran on them
    uint64_t switches;  // to tasks
    uint64_t woken;     // tasks, by descriptors
    uint64_t dry;       // they had nothing left to run
  };

  // Each of SysMonitor's looks: how long those that queue will wait (a guess), and whether a task
  // has kept its carrier for a tick.
  void note(uint64_t now_us, uint64_t queued_us, bool stuck) {
    ++looks_;
    // One that has hardly run yet guesses anything.
    queued_us_ += std::min<uint64_t>(queued_us, 10'000);
    if (stuck) stuck_us_ += now_us - noted_us_;
    noted_us_ = now_us;
  }
  bool due(uint64_t now_us) const {
    return now_us - last_.now_us >= (back_ ? kWindowBackUs : kWindowUs);
  }
  bool keeps_back() const { return back_; }
  // At the end of a window: whether one of so many is kept back from now on.
  bool look(const Seen& seen, uint32_t carriers) {
    Seen before = last_;
    uint64_t passed = seen.now_us - before.now_us,
             queued = queued_us_ / std::max<uint64_t>(looks_, 1);
    bool computes = stuck_us_ * kStuckPart > passed;
    last_ = seen;
    looks_ = queued_us_ = stuck_us_ = 0;
    uint64_t switches = more(seen.switches, before.switches);
    if (before.now_us == 0 || switches == 0) return back_;
    uint64_t run = more(seen.run_us, before.run_us);
    bool ours = run <= kBriefUs * switches && !computes &&
                more(seen.woken, before.woken) * Width::kWokenPart >= switches;
    uint64_t dry = more(seen.dry, before.dry);
    bool counts = switches * kWindowUs >= kLeast * passed;
    if (back_) {
      if (!counts && !computes && queued <= kLongUs) return true;
      bool settled = before.now_us > began_us_;
      if (!ours || queued > kLongUs || (settled && dry * kStillDryPart >= switches))
        end(seen.now_us);
      return back_;
    }
    // What they run has room on the others.
    bool fits = run < (carriers - 1) * passed;
    back_ = ours && fits && counts && dry * kDryPart >= switches && seen.now_us >= not_before_us_;
    if (back_) began_us_ = seen.now_us;
    return back_;
  }

 private:
  static uint64_t more(uint64_t now, uint64_t before) { return now > before ? now - before : 0; }
  void end(uint64_t now_us) {
    back_ = false;
    bool soon = now_us - began_us_ < kSoonUs;
    pause_us_ = soon ? std::min(2 * pause_us_, kLongestUs) : kShortestUs;
    not_before_us_ = now_us + pause_us_;
  }

  Seen last_{};
  bool back_ = false;
  uint64_t looks_ = 0, queued_us_ = 0, stuck_us_ = 0, noted_us_ = 0;
  uint64_t began_us_ = 0, not_before_us_ = 0, pause_us_ = kShortestUs;
};

}  // namespace wisp
