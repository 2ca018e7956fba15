// The trace as it lies in shared memory: what the scheduler writes, and the command reads. Only
// numbers and words here, no code of either side.
//
// A memfd named kTraceMemfdName, with the safety of the statistics page (statistics_layout.h): mode
// 0600, sealed against shrinking, found among the descriptors of the process. At its begin a
// TraceHeader and a TraceRingStart per ring; at data_offset + i * stride the ring of carrier i,
// after those of all carriers the one for events that no carrier's owner sees.
//
// Records are of fixed size. A writer overwrites its ring's oldest one: head = 0, the other words,
// head with the record's number. A reader takes a record whose head is not 0 and is the same before
// and after it has read the other words; the numbers say how many were overwritten.
#pragma once
#include <stdint.h>

#include <atomic>

namespace wisp {

constexpr char kTraceMemfdName[] = "wisp-trace";
constexpr uint64_t kTraceMagic = 0x3245434152545757ull;  // "WWTRACE2"
constexpr uint64_t kMinTraceBytes = 64u << 10;
constexpr uint64_t kMaxTraceBytes = 256u << 20;
constexpr uint64_t kDefaultTraceBytes = 4u << 20;
constexpr uint32_t kNoTraceTask = ~0u;

enum class TraceKind : uint8_t {
  None,
  Start,  // task is ready for the first time; other: its creator
  // task is ready; other: the task that woke it, kNoTraceTask: a kernel thread. A task that wakes
  // one that then leaves its carrier and comes back writes none: the Run record says it (wake).
  Unpark,
  Timer,     // task is ready: its timer fired
  Io,        // task is ready: the event pump found its descriptor ready
  Run,       // task begins to run on the carrier
  Park,      // task leaves its carrier to wait
  Yield,     // task leaves its carrier, ready
  End,       // task leaves its carrier for good
  HandOff,   // task gives its carrier away before a blocking call
  Preempt,   // SysMonitor takes the carrier from task
  Steal,     // the carrier takes task; other: the carrier that had it
  Idle,      // the carrier's worker goes to sleep
  Awake,     // a worker is there for the carrier
  NameLow,   // stamp: the first 8 bytes of the name of task, which ends
  NameHigh,  // stamp: the other 8
  // Two events in one record, for the switch from task to task: other leaves, task runs.
  RunAfterPark,
  RunAfterYield,
  RunAfterEnd,
  GcBegin,  // the JVM's garbage collector stops the program; no task
  GcEnd,
};
constexpr TraceKind kLastTraceKind = TraceKind::GcEnd;

// What WispTask::woken_at is.
enum class WakeNote : uint8_t { None, Exact, AtMost };

constexpr uint32_t kNoTraceCarrier = 0xffff;
struct TraceRecord {
  std::atomic<uint64_t> head;   // number << 24 | carrier << 8 | kind; 0: none, or being written
  std::atomic<uint64_t> stamp;  // ticks
  std::atomic<uint64_t> tasks;  // other << 32 | task: ids as in the statistics page
  // Run: how long task was ready (trace_wait) << 32 | the task that woke it. 0: another record, or
  // none, says what made it ready.
  std::atomic<uint64_t> wake;
};
static_assert(sizeof(TraceRecord) == 32);
constexpr uint64_t kTraceNumberMask = (1ull << 40) - 1;

// How long a task was ready, in 32 bits. The top one: at most so long, since the stamp is of the
// begin of its waker's slice. The next one: without the lowest 16 of the ticks, which is so from
// 2^30 (half a second, about); never more than 2^46.
constexpr uint32_t kWaitAtMost = 1u << 31, kWaitCoarse = 1u << 30;
constexpr uint32_t trace_wait(uint64_t ticks) {
  if (ticks < kWaitCoarse) return static_cast<uint32_t>(ticks);
  ticks >>= 16;
  return kWaitCoarse | static_cast<uint32_t>(ticks < kWaitCoarse ? ticks : kWaitCoarse - 1);
}
constexpr uint64_t trace_wait_ticks(uint32_t wait) {
  uint64_t number = wait & (kWaitCoarse - 1);
  return (wait & kWaitCoarse) == 0 ? number : number << 16;
}

struct TraceRingStart {
  uint64_t written;  // records that the ring had seen when tracing was switched on
};

struct TraceHeader {
  uint64_t magic;
  uint32_t record_size;
  uint32_t carriers;     // rings: one more
  uint64_t data_offset;  // of the first ring
  uint64_t stride;       // from ring to ring
  uint64_t capacity;     // records of a ring
  // One moment on three clocks, and how long a tick is: ns = ticks * ns_per_tick >> 32.
  uint64_t ticks, monotonic_ns, realtime_ns;
  uint64_t ns_per_tick;
};

}  // namespace wisp
