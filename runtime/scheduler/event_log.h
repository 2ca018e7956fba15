// Scheduling events one by one, with what a profiler wants to know of each, for Flight Recorder
// (jvm/flight.cpp). Other than the trace (trace.h), which takes every switch into rings that
// overwrite their oldest, this holds only what was asked for: kinds, and waits above a threshold.
//
// One list for all, under a spin lock: what it takes is rare, by its thresholds. When the reader
// does not keep up, new events are dropped and counted.
#pragma once
#include <stdint.h>

#include <atomic>

#include "platform/compiler.h"
#include "scheduler/task.h"

namespace wisp {

enum class LogKind : uint8_t { Start, End, Park, Steal, HandOff, Preempt };
constexpr uint32_t log_bit(LogKind kind) { return 1u << static_cast<uint32_t>(kind); }
constexpr uint32_t kTraceBit = 1u << 31;  // the trace is on (trace.h)
// Tasks may have to stay where they are (own_thread.h).
constexpr uint32_t kOwnThreadBit = 1u << 30;
constexpr uint32_t kNoLogs = kTraceBit | kOwnThreadBit;

struct LogEvent {
  uint64_t begin, end;  // ticks; equal where nothing lasts
  uint64_t ready_at;    // Park: ticks when it was woken; 0: by a timer, or unknown
  uint64_t address;     // Park: what it waited on
  uint64_t java_id;     // Thread.getId(), 0 = unknown
  uint32_t task;        // number, as in the statistics page
  uint32_t carrier;     // ~0: none
  uint32_t other;       // Start: none; Park: the task that woke it; Steal: the carrier it was with
  LogKind kind;
  WakeReason woken;  // Park
  bool own_stack;    // Park: on an address of its own stack, as sleepers do
  bool taken;        // out of the log, by its task
  char name[16];
};

// Room for the parks that a task makes inside one call: who made it writes them, on the task itself
// (jvm/own_events.cpp), instead of the reader of the log.
struct LogScope {
  static constexpr uint32_t kRoom = 4;  // more of them go to the log
  LogEvent events[kRoom];
  uint32_t count = 0;
  bool of_monitor = false;  // its owner's mark
};

struct alignas(kCacheLine) Observed {
  // 0: nobody looks, which is all that a switch asks. Bits of LogKind, and kNoLogs.
  std::atomic<uint32_t> flags{0};
  std::atomic<uint64_t> park_ticks{0}, handoff_ticks{0};  // shorter ones are not logged
};
extern Observed g_observed;

// relaxed: the word is only a hint whether to look further.
inline uint32_t observed() { return g_observed.flags.load(std::memory_order_relaxed); }
inline bool logs(LogKind kind) { return WISP_UNLIKELY((observed() & log_bit(kind)) != 0); }
void observe_flag(uint32_t bits, bool on);

// The caller is inside the runtime. `begin`: ticks, 0 = now.
void log_event(LogKind kind, WispTask* task, const Carrier* carrier, uint64_t begin = 0,
               uint32_t other = ~0u);
// A park that began at `left` and is over now, if it was long enough.
void log_park(WispTask* self, uint64_t left);

// The calling task's parks go into `scope` until it is closed. False: the caller is no task, or one
// that has a scope already. Outside the runtime; only the task itself reads or writes its scope.
bool log_scope_open(LogScope* scope);
// Closes it. Null: there was none.
LogScope* log_scope_close();

// What log_event would note of the calling task now. False: the caller is no task.
bool log_describe(LogKind kind, LogEvent* event);
// Whether there may be events about the calling task in the log.
bool log_has_own();
// Takes events about the calling task, up to `room`, out of the log, oldest first: it writes them
// itself. Outside the runtime. Only the newest of the log are looked at.
uint32_t log_take_own(LogEvent* to, uint32_t room);

// --- the reader, one thread
// Which kinds from now on (bits), and how short a park or a hand-off may be. What is in the log
// from a time before nothing was wanted is dropped. False: no memory.
bool log_want(uint32_t kinds, uint64_t park_ticks, uint64_t handoff_ticks);
// Takes up to `room` events out; *lost: how many were dropped since the start. Those younger than
// `held` ticks stay for their tasks, unless the log fills up.
uint32_t log_take(LogEvent* to, uint32_t room, uint64_t* lost, uint64_t held = 0);

}  // namespace wisp
