// The shared statistics page: what a converted JVM shows of itself, and how a reader asks for it.
//
// It is a memfd named kMemfdName, found among the descriptors of the process: /proc/PID/fd opens it
// for the same user and for root only (the kernel's ptrace-read check, which Yama's restrictions
// leave alone), no name exists in any file system, and nothing is left behind by a crash. It is
// sealed against shrinking, so a mapping of its header cannot be pulled away from under its reader.
//
// Nothing is written while nobody looks. To look:
//   reader:     adds 1 to `request`, wakes that futex, sleeps on `served` until it has caught up
//   publisher:  (a thread of the runtime, no Java thread: it answers also when the JVM is stuck)
//               sequence odd -> writes the snapshot behind the header -> sequence even ->
//               served = the request it saw, wakes
//   reader:     copies the snapshot with pread(2); valid if `sequence` was even and is unchanged
// Of what readers may have written the runtime reads few words, whose values it compares, copies or
// counts on (`request`, `served`, `sequence`, `trace_renewed`), and `trace_wanted`, a size that it
// checks.
// The reader believes nothing: sizes, counts and strings are checked on its own copy.
//
// Fixed-size little records, native byte order. A newer runtime may append fields to records; the
// sizes in Section say so. A change of meaning changes kVersion.
#pragma once
#include <stdint.h>

#include <atomic>

namespace wisp::stats {

constexpr char kMemfdName[] = "wisp-statistics";
constexpr uint64_t kMagic = 0x3153544154535757ull;  // "WWSTATS1"
constexpr uint32_t kVersion = 4;
constexpr uint32_t kHeaderSize = 4096;
constexpr uint32_t kNameSize = 16;
constexpr uint32_t kNone = ~0u;
constexpr uint64_t kNever = ~0ull;

// The trace of scheduling events (scheduler/trace_ring.h): what became of trace_wanted.
enum class TraceState : uint32_t {
  Unknown,  // a runtime that has no trace
  Off,
  On,
  ByOption,  // on from the start to the end of the process
  Refused,   // no memory for it, or a size out of range
};

struct PageHeader {
  uint64_t magic;
  uint32_t version;
  int32_t pid;          // in the process's own pid namespace
  uint64_t started_ns;  // CLOCK_REALTIME
  uint64_t started_monotonic_ns;
  char release[32];
  std::atomic<uint32_t> request;   // futex, written by readers
  std::atomic<uint32_t> served;    // futex
  std::atomic<uint32_t> sequence;  // odd: the snapshot is being written
  // Who traces adds to it before each of its requests: other readers' say nothing of it.
  std::atomic<uint32_t> trace_renewed;
  std::atomic<uint64_t> snapshot_size;  // bytes behind the header
  // KiB of trace rings, 0 = no trace; who sets it from 0 traces, and asks again (`request`) within
  // ten seconds, or is forgotten. Looked at with each request.
  std::atomic<uint32_t> trace_wanted;
  std::atomic<TraceState> trace_state;
};
static_assert(sizeof(PageHeader) <= kHeaderSize);

struct Section {
  uint32_t offset;  // from the snapshot's begin
  uint32_t count;
  uint32_t record_size;
  uint32_t reserved;
};

// At kHeaderSize.
struct Snapshot {
  uint64_t size;
  uint64_t realtime_ns, monotonic_ns;
  Section carriers, workers, tasks, queued;  // queued: uint32_t task ids, see CarrierRecord
  uint64_t tasks_created, tasks_completed, tasks_alive;
  uint64_t handoffs, preemptions;
  uint64_t sysmon_tick_us, sysmon_wakes_at_ns;  // kNever: it sleeps until told
  uint32_t global_queue, idle_carriers, spare_workers, searching_workers;
  uint32_t kept_back_carriers, reserved;
};

struct CarrierRecord {
  uint32_t index;
  uint32_t running;                     // task id, kNone
  int32_t worker_tid;                   // 0: idle
  uint32_t queue_length;                // ring, front, inbox and next slot
  uint32_t queued_first, queued_count;  // its part of the section `queued`, next slot first
  uint32_t tasks;                       // alive whose last carrier it is
  uint32_t reserved;
  uint64_t switches, parks, unparks, yields, steals, failed_steals, timeouts, handoffs, preemptions,
      idles, wakeups, polls, started, completed;
  uint64_t run_ns, idle_ns;                // since the start: its tasks ran; nothing ran
  uint64_t queued_ns, queued_count_total;  // its tasks waited in queues (estimated from a sample)
  uint64_t blocked_ns;                     // its tasks were parked
  uint64_t io_waits, io_wait_ns;
};

struct WorkerRecord {
  int32_t tid;
  uint32_t carrier;  // kNone: spare, or lends itself to a handed-off task
  uint32_t task;     // task id, kNone
  uint32_t polling;  // sleeps in the event pump
};

// As scheduler/task.h.
enum class State : uint8_t { Created, Ready, Running, Parked, Dead };

enum class WaitFor : uint8_t {
  Nothing,
  Lock,      // mutex, condition, semaphore... at wait_address
  Time,      // sleeps
  Readable,  // wait_fd
  Writable,  // wait_fd
  Native,    // it runs without a carrier: blocked in the kernel, or a long native loop
};

// Whose address TaskRecord::socket is.
enum class SocketEnd : uint8_t { None, Peer, Own };  // Own: it is not connected (it listens)
constexpr uint32_t kSocketSize = 48;                 // "[39 characters]:65535"

struct TaskRecord {
  uint64_t address;  // of the WispTask
  uint32_t id;       // 1, 2, ... : task_number(tid)
  uint32_t tid;      // what gettid() says: `nid` in a thread dump
  State state;
  WaitFor wait_for;
  uint8_t handed_off;  // runs on its kernel thread, without a carrier
  SocketEnd socket_end;
  uint32_t carrier;      // the one it runs on, or ran on last; kNone
  int32_t worker_tid;    // while it runs
  int32_t wait_fd;       // -1
  char name[kNameSize];  // as pthread_setname_np left it
  uint64_t wait_address;
  uint64_t deadline_ns;  // of a timed wait, CLOCK_MONOTONIC; kNever
  uint64_t since_ns;     // CLOCK_MONOTONIC: when it got to, or left, its processor
  uint64_t cpu_ns;
  uint64_t times_run, times_stolen, times_steal_failed, times_handed_off, times_preempted;
  uint64_t stack_pointer;    // 0 while it runs
  uint64_t thread_pointer;   // its pthread_t
  uint64_t java_id;          // Thread.getId(); 0 = unknown
  uint64_t queued_ns;        // in queues, an estimate from a sample
  char socket[kSocketSize];  // of wait_fd
};

}  // namespace wisp::stats
