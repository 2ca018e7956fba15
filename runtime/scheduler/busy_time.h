// BusyTime: how long a carrier was not in the idle set, in ticks. Written by who has the carrier,
// read by anybody; what two reads show of the time between them is off by nanoseconds at most
// while the carrier changes over.
#pragma once
#include <stdint.h>

#include <atomic>

namespace wisp {

class BusyTime {
 public:
  // Out of the idle set, or in other hands without having been there.
  void begin(uint64_t now) {
    end(now);
    since_.store(now, std::memory_order_relaxed);
  }
  // Before it goes into the idle set.
  void end(uint64_t now) {
    uint64_t since = since_.load(std::memory_order_relaxed);
    if (since == 0) return;
    if (now > since)
      total_.store(total_.load(std::memory_order_relaxed) + now - since, std::memory_order_relaxed);
    since_.store(0, std::memory_order_relaxed);
  }
  // Since begin(); 0: it is idle.
  uint64_t now_for(uint64_t now) const {
    uint64_t since = since_.load(std::memory_order_relaxed);
    return since != 0 && now > since ? now - since : 0;
  }
  bool idle() const { return since_.load(std::memory_order_relaxed) == 0; }
  uint64_t up_to(uint64_t now) const {
    return total_.load(std::memory_order_relaxed) + now_for(now);
  }

 private:
  std::atomic<uint64_t> since_{0}, total_{0};
};

}  // namespace wisp
