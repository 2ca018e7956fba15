// Who has run too long without giving way: a look at the workers from outside, a few times per
// threshold, by one thread (jvm/observer.cpp). Nothing of it costs the tasks anything but the stamp
// at the end of a BlockingRegion.
//
// A stall: a task has run for longer than the threshold without parking, yielding or being
// switched, with its carrier or, after SysMonitor took that, without; and it has used the processor
// for at least half of it, or sleeps in the kernel now. (One that only waited for a processor is
// not to blame.) Not one: a task inside a call that Wisp knows to block, which has given its
// carrier away before.
#pragma once
#include <stdint.h>

#include "scheduler/internal.h"

namespace wisp::stats {

struct Stall {
  const WispTask* task;
  uint64_t java_id;
  uint32_t id, tid;  // number; what gettid() says
  uint32_t carrier;  // kNone: SysMonitor took it away
  int worker_tid;
  uint64_t since;            // ticks
  uint64_t held_ns, cpu_ns;  // so far; its processor time is counted from a little later on
  uint64_t runs;             // how often it had been dispatched
  char kernel_state;         // of its kernel thread, as in /proc: R runs, S and D sleep; 0 unknown
  int system_call;           // -1: none, or unknown
  bool over;
  char name[16];
};

// Who asks a thread for its stack makes it stop for a moment, at a safepoint: that much it may have
// been dispatched since, and it is still the same stall.
constexpr uint64_t kRunsByLooking = 2;
// Has it gone on by itself since it was found?
bool stall_moved_on(const Stall& stall);

// Calls found(stall, context) for each stall that is new (over false), and when it is over.
using StallFound = void (*)(const Stall& stall, void* context);
// `from`: ticks; what a task did before counts for nothing.
void stalls_scan(uint64_t threshold_ns, uint64_t from, StallFound found, void* context);

}  // namespace wisp::stats
