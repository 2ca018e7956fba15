// What SysMonitor remembers of a parked task's stack, and how long it pauses between its passes
// over all tasks (trim.cpp). Pure rules, without the scheduler.
#pragma once
#include <algorithm>
#include <cstdint>

namespace wisp {

// How often a task had run at the last look, whether it has given back unused stack since, and
// whether it had ever done so before.
class TrimNote {
 public:
  static constexpr uint64_t kNone = ~uint64_t{3};  // of no number of runs, and nothing given

  constexpr explicit TrimNote(uint64_t word) : word_(word) {}
  constexpr uint64_t word() const { return word_; }
  constexpr bool is_of(uint64_t times_run) const { return (word_ ^ times_run << 2) <= 3; }
  constexpr bool given() const { return (word_ & kGiven) != 0; }
  constexpr bool given_before() const { return (word_ & kBefore) != 0; }
  constexpr TrimNote at(uint64_t times_run) const {
    return TrimNote(times_run << 2 | (given() || given_before() ? kBefore : 0));
  }
  constexpr TrimNote gives() const { return TrimNote(word_ | kGiven); }

 private:
  static constexpr uint64_t kGiven = 1, kBefore = 2;
  uint64_t word_;
};

// With a hundred thousand tasks a pass costs milliseconds, and tasks that wake up every few seconds
// would give and fault in their pages each time: then the passes come less often. What a task gives
// for the first time is no such cost: it comes once in its life, and is most of the memory.
class TrimPace {
 public:
  static constexpr uint64_t kCostPart = 100;  // of its time SysMonitor may spend on this: 1/100
  // But no pause is longer than so many periods: a pass during which the machine stood still for
  // half a second, which is not its cost, would otherwise be the last one for a minute.
  static constexpr uint64_t kLongestPause = 100;

  void begin() { once_ns_ = 0; }
  // `all` stacks were trimmed in `ns`, of them `first` for the first time.
  void trimmed(uint64_t ns, uint32_t first, uint32_t all) { once_ns_ += ns * first / all; }
  // After a pass that took `pass_ns`.
  uint64_t pause_ns(uint64_t pass_ns, uint64_t period_ns) const {
    uint64_t cost = pass_ns - std::min(pass_ns, once_ns_);
    return std::clamp(cost * kCostPart, period_ns, period_ns * kLongestPause);
  }

 private:
  uint64_t once_ns_ = 0;
};

}  // namespace wisp
