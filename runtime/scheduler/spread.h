// Spread: are workers to be kept off each other's processors? With two or three carriers Linux may
// keep both workers on one processor for milliseconds while another is idle: a woken thread is put
// where its waker or it itself was, a halted virtual processor does not count as idle for that
// (placement.h), and who is balanced later are the many, not the few. Plain threads are many. Seen
// with a back end, on two processors: half to four fifths of the time on one of them, a sixth of
// the machine idle, and a sixth more requests without that (docs/performance-io.md, "Two workers on
// one processor").
//
// But what two workers do on two processors they wake each other more often for, which takes
// processor time. Where one processor is enough for all that the process
// does (event loops behind a load generator that is the slower one) they are better together, and
// where the others are busy nothing is to be gained. So: only while the workers were seen on one
// processor, and others were idle meanwhile; and not for longer than the process needs more than
// one.
//
// Pure rules, without the scheduler; SysMonitor's own.
#pragma once
#include <stdint.h>

#include <algorithm>

namespace wisp {

class Spread {
 public:
  // So many carriers at most; with more of them it was not measured. Two at least.
  static constexpr uint32_t kFew = 3;
  static constexpr bool possible(uint32_t carriers) { return carriers > 1 && carriers <= kFew; }
  // The clock of idle time goes by 10 ms.
  static constexpr uint64_t kWindowUs = 250'000;
  // Parts of a window: at least so many of the looks have seen two on one processor; so much of one
  // processor was idle; the process used so much of one, else it is idle and tells nothing, and not
  // more than so much.
  static constexpr uint64_t kTogetherPart = 4;
  static constexpr uint64_t kIdlePercent = 20, kBusyPercent = 60, kEnoughPercent = 110;
  // In so many windows in a row, without those in which it was idle: load comes and goes within
  // one.
  static constexpr int kEndsAfter = 3;
  // After a time that was soon over the next one has to wait, twice as long each time.
  static constexpr uint64_t kSoonUs = 2'000'000, kLongestUs = 32'000'000;

  // All since the start.
  struct Seen {
    uint64_t looks, together;  // of workers around them; those that saw another one where they are
    uint64_t cpu_us;           // of the process
    uint64_t idle_us;          // of all processors; 0: not known
  };

  bool due(uint64_t now_us) const { return now_us - since_us_ >= kWindowUs; }
  // At the end of a window: whether the idle time has to be asked for, which is a system call.
  bool asks(uint64_t looks, uint64_t together) const {
    uint64_t more = looks - last_.looks;
    return !on_ && more != 0 && (together - last_.together) * kTogetherPart >= more;
  }
  // The same moment: from now on. An idle_us of 0 if it was not asked for.
  bool look(uint64_t now_us, const Seen& seen) {
    Seen before = last_;
    uint64_t passed = now_us - since_us_;
    bool first = since_us_ == 0;
    last_ = seen;
    since_us_ = now_us;
    uint64_t cpu = 100 * (seen.cpu_us - before.cpu_us);
    if (first || cpu < kBusyPercent * passed) return on_;
    if (on_) {
      enough_ = cpu < kEnoughPercent * passed ? enough_ + 1 : 0;
      if (enough_ == kEndsAfter) end(now_us);
      return on_;
    }
    // Known at both ends, so the window before was one of these, too.
    if (before.idle_us == 0 || seen.idle_us == 0 || now_us < not_before_us_) return false;
    // That clock goes back where a processor's sleep turns out to be a wait for a disk (Linux,
    // get_cpu_idle_time_us).
    uint64_t idle = seen.idle_us > before.idle_us ? seen.idle_us - before.idle_us : 0;
    on_ = 100 * idle >= kIdlePercent * passed;
    if (on_) began_us_ = now_us;
    enough_ = 0;
    return on_;
  }

 private:
  void end(uint64_t now_us) {
    on_ = false;
    pause_us_ = now_us - began_us_ < kSoonUs ? std::min(2 * pause_us_, kLongestUs) : kSoonUs;
    not_before_us_ = now_us + pause_us_;
  }

  Seen last_{0, 0, 0, 0};
  uint64_t since_us_ = 0, began_us_ = 0, not_before_us_ = 0, pause_us_ = kSoonUs;
  int enough_ = 0;
  bool on_ = false;
};

}  // namespace wisp
