// How often is a processor of the machine idle when a worker is woken? Asked by those who would pay
// to have the worker woken on another processor than their own (placement.h): where all are busy,
// with other programs or other threads, that only moves threads about.
//
// All words are relaxed and shared by racing observers: a lost observation costs one guess.
#pragma once
#include <atomic>
#include <cstdint>

#include "platform/clock.h"

namespace wisp {

class IdleShare {
 public:
  using Count = int (*)();
  // running: see running_threads; processors: of the machine, at least 1.
  constexpr IdleShare(Count running, Count processors) : running_(running), processors_(processors) {}

  // At half of the last wake-ups or more, or it is not known. `now` in ticks.
  bool mostly(uint64_t now) {
    if (now >= ask_at_.load(std::memory_order_relaxed)) {
      ask_at_.store(now + us_to_ticks(kEveryUs), std::memory_order_relaxed);
      ask();
    }
    return share_.load(std::memory_order_relaxed) >= kAlways / 2;
  }
  // Unit tests: somebody else counts.
  void count_by(Count running) { running_.store(running, std::memory_order_relaxed); }

  static constexpr uint64_t kEveryUs = 1000;

 private:
  static constexpr int kAlways = 256, kWeight = 8;
  void ask() {
    int running = running_.load(std::memory_order_relaxed)();
    int target = running < processors_() ? kAlways : 0;  // unknown is -1
    int old = share_.load(std::memory_order_relaxed);
    share_.store(old + (target - old) / kWeight, std::memory_order_relaxed);
  }
  std::atomic<Count> running_;
  const Count processors_;
  std::atomic<uint64_t> ask_at_{0};
  std::atomic<int> share_{kAlways};
};

}  // namespace wisp
