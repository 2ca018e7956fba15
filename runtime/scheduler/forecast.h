// Forecast: does a timer bring work for a second carrier? A periodic job that spreads over a pool
// finds every processor asleep, and to wake one takes tens of microseconds (30 measured on a
// virtual machine), a good part of such a job's length. So the process learns from its last timers
// whether help was called for soon after. If so, two sleeping workers watch the earliest deadline,
// each by a timer of its own, and get up a little before it: one fires the timers on the dot, the
// other arrives searching. Nobody has to wake anybody.
//
// All words are relaxed and shared by racing observers: a lost observation costs one guess.
#pragma once
#include <atomic>

#include "platform/clock.h"

namespace wisp {

class Forecast {
 public:
  // The deadline that a sleeping worker watched has come (ticks).
  void timer_fired(uint64_t now) {
    uint32_t less = 0;
    if (fired_at_.load(std::memory_order_relaxed) != 0) less = 1;  // nothing came of the last one
    // To be up early costs both workers tens of microseconds each time.
    if (now - last_.load(std::memory_order_relaxed) < us_to_ticks(kOftenUs)) less = 2;
    last_.store(now, std::memory_order_relaxed);
    uint32_t s = score_.load(std::memory_order_relaxed);
    if (less != 0 && s != 0) score_.store(s > less ? s - less : 0, std::memory_order_relaxed);
    fired_at_.store(now, std::memory_order_relaxed);
  }
  // A second carrier was wanted: a searcher was called, or one found work.
  void help_wanted() {
    if (fired_at_.load(std::memory_order_relaxed) != 0) help_wanted_at(ticks());
  }
  void help_wanted_at(uint64_t now) {
    uint64_t at = fired_at_.load(std::memory_order_relaxed);
    if (at == 0 || now - at > us_to_ticks(kSoonUs)) return;
    fired_at_.store(0, std::memory_order_relaxed);
    uint32_t s = score_.load(std::memory_order_relaxed);
    if (s < kMost) score_.store(s + 1, std::memory_order_relaxed);
  }
  bool expects_help() const { return score_.load(std::memory_order_relaxed) >= kSure; }

  // How much earlier than the deadline to ask the kernel for it, ns.
  uint64_t lead_ns() const { return late_ns_.load(std::memory_order_relaxed) + kMarginNs; }
  // How late the kernel was with it, ns.
  void woke_late_by(uint64_t ns) {
    if (ns > kMaxLateNs) ns = kMaxLateNs;
    uint64_t old = late_ns_.load(std::memory_order_relaxed);
    late_ns_.store(old - (old >> 3) + (ns >> 3), std::memory_order_relaxed);
  }

  // How long after a timer help is still put down to it, and so how long the helper looks for work.
  static constexpr uint64_t kSoonUs = 60;

 private:
  static constexpr uint32_t kMost = 8, kSure = 4;
  static constexpr uint64_t kOftenUs = 700;
  static constexpr uint64_t kMarginNs = 10000, kMaxLateNs = 150000;

  std::atomic<uint64_t> fired_at_{0}, last_{0};
  std::atomic<uint32_t> score_{0};
  std::atomic<uint64_t> late_ns_{50000};  // Linux's timer slack, to begin with
};

}  // namespace wisp
