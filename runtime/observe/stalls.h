// Who has run too long without giving way: a look at the workers from outside, a few times per
// threshold, by one thread (jvm/observer.cpp). Nothing of it costs the tasks anything but the stamp
// at the end of a BlockingRegion.
//
// A stall: a task has run for longer than the threshold without parking, yielding or being
// switched, with its carrier or, after SysMonitor took that, without. Not one: a task inside a call
// that Wisp knows to block, which has given its carrier away before.
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
  uint64_t held_ns, cpu_ns;  // so far; of its processor time only what was used since it was seen
  char kernel_state;         // of its kernel thread, as in /proc: R runs, S and D sleep; 0 unknown
  int system_call;           // -1: none, or unknown
  bool over;
  char name[16];
};

// Calls `found(Stall&, context)` for each stall that is new (over false) and each that was reported
// and is over. If found() says false the stall is not noted as reported, and comes again.
using StallFound = bool (*)(const Stall& stall, void* context);
// `from`: ticks; what a task did before counts for nothing.
void stalls_scan(uint64_t threshold_ns, uint64_t from, StallFound found, void* context);
// Has it gone on since it was found?
bool stall_is_over(const Stall& stall);

}  // namespace wisp::stats
