// Attendance: is somebody missed in the event pump? The worker that waits there comes out with the
// first event and runs what it woke. Until its carrier is idle again it alone looks, between two
// tasks, for the events that follow, although another carrier may be idle: two event loops work by
// turns then. A sleeping worker could be sent into the pump, but that costs a wake-up and two
// switches (some 10 us), and where carriers are soon idle again nothing is gained. So the process
// learns how long an event that comes to a busy carrier waits: with times of work d it is half of
// E[d^2] / E[d], the mean residual time of renewal theory. Seen: 20 to 40 us with one or two
// connections, 300 us with an event loop that has 32.
//
// All words are relaxed and shared by racing observers: a lost observation costs one guess.
#pragma once
#include <atomic>
#include <cstdint>

namespace wisp {

class Attendance {
 public:
  // A carrier becomes idle after so many us without a pause.
  void worked(uint64_t us) {
    if (us > kMostUs) us = kMostUs;
    average(mean_, us << kFraction);
    average(square_, us * us << kFraction);
  }
  uint64_t expected_wait_us() const {
    uint64_t mean = mean_.load(std::memory_order_relaxed);
    return mean == 0 ? 0 : square_.load(std::memory_order_relaxed) / mean / 2;
  }
  // Who leaves the pump sends a sleeping worker there: somebody must be idle to run what that one
  // finds.
  bool wants_another(uint32_t idle_carriers, bool somebody_waits_there) const {
    return idle_carriers != 0 && !somebody_waits_there && expected_wait_us() >= kWorthUs;
  }

  void sent() { sent_.store(times_sent() + 1, std::memory_order_relaxed); }
  uint32_t times_sent() const { return sent_.load(std::memory_order_relaxed); }

  static constexpr uint64_t kWorthUs = 60, kMostUs = 1000;

 private:
  static constexpr int kFraction = 10, kShift = 6;
  static void average(std::atomic<uint64_t>& of, uint64_t sample) {
    uint64_t old = of.load(std::memory_order_relaxed);
    of.store(old - (old >> kShift) + (sample >> kShift), std::memory_order_relaxed);
  }
  std::atomic<uint64_t> mean_{0}, square_{0};  // of us, with kFraction bits behind the point
  std::atomic<uint32_t> sent_{0};
};

}  // namespace wisp
