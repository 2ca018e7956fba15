// Scheduling events, for who looks from outside (observe/trace.h switches it on). Off, an event
// costs one relaxed load and a branch that is predicted.
//
// A carrier's ring has one writer at a time, the carrier's owner, as its run queue has: that is
// what makes its place in the ring, and the order of its events, right without an atomic
// instruction. Who owns no carrier writes to the ring that all share, under a lock.
#pragma once
#include "platform/spin_lock.h"
#include "scheduler/carrier.h"
#include "scheduler/trace_ring.h"

namespace wisp {

struct alignas(kCacheLine) TraceRing {
  TraceRecord* begin = nullptr;  // mapped for good, room for the largest size
  TraceRecord* next = nullptr;
  std::atomic<TraceRecord*> end{nullptr};  // set when tracing is switched on
  std::atomic<uint64_t> head{0};           // the last record's, without its kind
  uint64_t last_switch = 0;                // ticks
};

struct TraceRings {
  uint32_t carriers = 0;
  // Ticks when tracing was switched on. relaxed: who is late takes an old wake-up for a new one, or
  // the other way round.
  std::atomic<uint64_t> since{0};
  SpinLock shared_lock;        // of the ring behind the carriers'. A leaf.
  TraceRing* rings = nullptr;  // carriers + 1
};

// Null: off. Alone on its cache line, which is only read.
extern std::atomic<TraceRings*> g_trace;

// `carrier`: the caller owns it; null: none. `when`: ticks, 0 = now.
void trace_event(const Carrier* carrier, TraceKind kind, const WispTask* task, uint32_t other,
                 uint64_t when);
// `task` is made ready. What a task wakes is only noted, beside task->woken_at and _by, which the
// caller has set: its next Run record tells. at_most: woken_at is the begin of the waker's slice.
void trace_ready(const Carrier* carrier, WispTask* task, bool by_task, bool io, bool at_most);
void trace_end(WispTask* task);
// `left` (null: the worker's own stack) leaves the carrier or its kernel thread for the reason in
// its left_by; `next`, if any, runs there from now on. One record, no time stamp of its own: this
// is the hot one.
void trace_switch(const Carrier* carrier, WispTask* left, WispTask* next, uint64_t now);
// `self`, about to park, was woken before it had left, and goes on.
void trace_stayed(WispTask* self);

inline bool tracing() {
  // relaxed: trace_event looks again (acquire).
  return WISP_UNLIKELY(g_trace.load(std::memory_order_relaxed) != nullptr);
}
inline void trace(const Carrier* carrier, TraceKind kind, const WispTask* task,
                  uint32_t other = kNoTraceTask, uint64_t when = 0) {
  if (tracing()) trace_event(carrier, kind, task, other, when);
}

}  // namespace wisp
