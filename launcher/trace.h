// A trace of a converted JVM (runtime/scheduler/trace_ring.h) as the command keeps it: read from
// the rings, turned into slices, written as JSON. Nothing in the rings is believed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "scheduler/trace_ring.h"
#include "statistics.h"

namespace wisp {

struct TraceEvent {
  uint64_t number;  // in its ring
  uint64_t ns;      // since the trace was switched on; stamps before that are 0
  uint32_t task, other;
  uint32_t carrier;  // kNoTraceCarrier
  TraceKind kind;
  // Run, where its record says so: the task that woke it, and when, or not before when.
  uint32_t waker = kNoTraceTask;
  bool ready_at_most = false;
  uint64_t ready_ns = 0;
};

struct Trace {
  int pid = 0;
  std::string program;
  uint32_t carriers = 0;
  uint64_t realtime_ns = 0;  // when it was switched on
  uint64_t lost = 0;         // overwritten before anybody read them
  // One ring's events in the order of its writer; the last one is that of no carrier.
  std::vector<std::vector<TraceEvent>> rings;
  std::map<uint32_t, std::string> names;  // by task id
  // What ran where when it was switched on, and how long it was on: for a carrier that never
  // switched there is no event. By carrier; from a look a moment later, so the events win.
  std::map<uint32_t, uint32_t> running_at_start;
  uint64_t length_ns = 0;
};

// The rings at `data`, a mapping or copy of the whole file; false: not a trace's.
bool parse_trace(const char* data, size_t size, Trace* out);

// The file of a process, mapped; it stays readable when the process has ended.
class TraceRingsFile {
 public:
  static std::unique_ptr<TraceRingsFile> open(const Process& process);
  ~TraceRingsFile();
  TraceRingsFile(const TraceRingsFile&) = delete;
  bool read(Trace* out) const { return parse_trace(data_, size_, out); }

 private:
  TraceRingsFile() = default;
  const char* data_ = nullptr;
  size_t size_ = 0;
};

// What a task did between two switches, and how it came to it.
struct TraceSlice {
  uint32_t carrier, task;
  uint64_t begin_ns, end_ns;
  const char* end;         // "park", "yield", "end", "hand-off", "preempt", "unknown"
  const char* woken_by;    // "task", "thread", "timer", "io"; null: not known
  uint32_t waker;          // task id, or kNoTraceTask
  uint64_t ready_ns;       // if woken_by
  bool ready_at_most;      // it was ready then or later: the begin of its waker's slice
  uint32_t waker_carrier;  // where the waker ran, if its own slice is there; kNoTraceCarrier
};

// By carrier and time; slices of one carrier do not overlap.
std::vector<TraceSlice> trace_slices(const Trace& trace);

// In the trace event format of Chrome and Perfetto.
std::string trace_json(const Trace& trace);

}  // namespace wisp
