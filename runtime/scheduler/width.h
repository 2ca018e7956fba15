// Width: on how many carriers brief tasks are spread that wait for descriptors. Each event of a
// carrier that has run dry is a kernel wake-up; on its way back to sleep its worker looks into all
// other carriers' queues, and what it takes from there would have run where it was, soon and warm.
// So where the carriers would be idle for a good part of the time, some of them are kept back
// (idle.h): nobody wakes them for what queues elsewhere, and what their tasks wait for is
// registered with the others, who then hardly ever sleep. Who gets too much to do calls for help
// all the same (announce_work), and SysMonitor does for who is stuck. On 16 processors, Tomcat with
// 64 connections: 9 carriers need a fifth less processor time for a request than 16 do
// (docs/performance-cores.md).
//
// Pure rules, without the scheduler; SysMonitor's own.
#pragma once
#include <stdint.h>

#include <algorithm>

namespace wisp {

class Width {
 public:
  // Where there are fewer carriers none is kept back; and never more than half of them, lest a few
  // tasks that come all at once after a quiet time wait for each other.
  static constexpr uint32_t kMany = 4;
  static constexpr uint32_t least(uint32_t carriers) { return (carriers + 1) / 2; }
  static constexpr uint64_t kWindowUs = 8000;
  // At least one of so many switches goes to a task that a descriptor has woken. Else they compute,
  // together maybe, and for a moment only (fork/join): all carriers are theirs.
  static constexpr uint64_t kWokenPart = 16;
  // And a slice is so brief on average that to wait for one or two is no longer than to be woken
  // for (some 10 us on either side, 30 and more until a halted virtual processor is up).
  static constexpr uint64_t kBriefUs = 50;

  // All since the start, of all carriers together. Read while they run: a little less than before
  // is possible.
  struct Seen {
    uint64_t now_us;
    uint64_t busy_us;   // they were not in the idle set
    uint64_t run_us;    // tasks ran on them
    uint64_t switches;  // to tasks
    uint64_t woken;     // tasks, by descriptors
  };

  // How many of `carriers` are wanted from now on; up to now it was `width`.
  uint32_t look(const Seen& seen, uint32_t width, uint32_t carriers) {
    uint64_t passed = seen.now_us - last_.now_us;
    if (passed < kWindowUs) return width;
    bool first = last_.now_us == 0;
    uint64_t busy = more(seen.busy_us, last_.busy_us);
    uint64_t switches = more(seen.switches, last_.switches);
    bool brief = more(seen.run_us, last_.run_us) <= kBriefUs * switches;
    bool waits = more(seen.woken, last_.woken) * kWokenPart >= switches;
    last_ = seen;
    if (first || switches == 0) return width;
    uint32_t step = std::max(1u, width / 8);
    // Less than a quarter of a carrier is idle.
    if (!brief || !waits || 4 * busy > (4 * width - 1) * passed)
      return std::min(width + step, carriers);
    // Without those of the step half a carrier would still be.
    uint32_t fewer = std::max(width - std::min(step, width), least(carriers));
    return 2 * busy < (2 * fewer - 1) * passed ? std::min(fewer, width) : width;
  }

 private:
  static uint64_t more(uint64_t now, uint64_t before) { return now > before ? now - before : 0; }

  Seen last_{};
};

}  // namespace wisp
