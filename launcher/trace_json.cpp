// The trace in the trace event format that ui.perfetto.dev and chrome://tracing read: a track per
// carrier (tid 1 + its number), one, tid 0, for what happened without a carrier, and a last one for
// the garbage collector.
#include <fmt/format.h>

#include <iterator>

#include "text.h"
#include "trace.h"

namespace wisp {
namespace {

using Out = std::back_insert_iterator<std::string>;

// Microseconds, exact to the nanosecond.
std::string us(uint64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

uint32_t track(uint32_t carrier) { return carrier == kNoTraceCarrier ? 0 : carrier + 1; }

std::string task_text(const Trace& trace, uint32_t id) {
  auto name = trace.names.find(id);
  if (name == trace.names.end() || name->second.empty()) return fmt::format("task {}", id);
  return name->second;
}

void metadata(Out to, int pid, uint32_t tid, const char* what, const std::string& name) {
  fmt::format_to(to,
                 "{{\"ph\":\"M\",\"pid\":{},\"tid\":{},\"name\":\"{}\",\"args\":{{\"name\":{}}}}}",
                 pid, tid, what, in_json(name));
}

void slice(Out to, const Trace& trace, const TraceSlice& s) {
  fmt::format_to(to,
                 ",\n{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},\"cat\":\"task\","
                 "\"name\":{},\"args\":{{\"task\":{},\"end\":\"{}\"",
                 trace.pid, track(s.carrier), us(s.begin_ns), us(s.end_ns - s.begin_ns),
                 in_json(task_text(trace, s.task)), s.task, s.end);
  if (s.woken_by != nullptr) {
    fmt::format_to(to, ",\"wokenBy\":\"{}\",\"readyUs\":{}", s.woken_by,
                   us(s.begin_ns - s.ready_ns));
    if (s.ready_at_most) fmt::format_to(to, ",\"readyAtMost\":1");
    if (s.waker != kNoTraceTask) {
      fmt::format_to(to, ",\"waker\":{},\"wakerName\":{}", s.waker,
                     in_json(task_text(trace, s.waker)));
    }
  }
  fmt::format_to(to, "}}}}");
}

void flow(Out to, const Trace& trace, const TraceSlice& s, size_t id) {
  for (bool begin : {true, false}) {
    fmt::format_to(to,
                   ",\n{{\"ph\":\"{}\",\"pid\":{},\"tid\":{},\"ts\":{},\"cat\":\"wake\",\"name\":"
                   "\"wake\",\"id\":{}{}}}",
                   begin ? 's' : 'f', trace.pid, track(begin ? s.waker_carrier : s.carrier),
                   us(begin ? s.ready_ns : s.begin_ns), id, begin ? "" : ",\"bp\":\"e\"");
  }
}

const char* instant_name(TraceKind kind) {
  switch (kind) {
    case TraceKind::Steal:
      return "steal";
    case TraceKind::HandOff:
      return "hand-off";
    case TraceKind::Preempt:
      return "preempt";
    case TraceKind::Timer:
      return "timer";
    case TraceKind::Io:
      return "io ready";
    case TraceKind::Idle:
      return "idle";
    case TraceKind::Awake:
      return "awake";
    case TraceKind::End:
      return "task end";
    case TraceKind::Start:
      return "task start";
    default:
      return nullptr;  // a slice, or a slice's end, or an arrow
  }
}

// The collector's pauses, on the track behind the carriers'. One whose begin was overwritten is
// left out, one that goes on lasts to the end.
void collections(Out to, const Trace& trace) {
  const TraceEvent* begin = nullptr;
  auto write = [&](uint64_t end_ns) {
    uint64_t ns = end_ns > begin->ns ? end_ns - begin->ns : 0;
    fmt::format_to(to,
                   ",\n{{\"ph\":\"X\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},\"cat\":\"gc\","
                   "\"name\":\"GC pause\",\"args\":{{}}}}",
                   trace.pid, trace.carriers + 1, us(begin->ns), us(ns));
    begin = nullptr;
  };
  for (const TraceEvent& e : trace.rings.back()) {
    if (e.kind == TraceKind::GcBegin && begin == nullptr) begin = &e;
    if (e.kind == TraceKind::GcEnd && begin != nullptr) write(e.ns);
  }
  if (begin != nullptr) write(trace.length_ns);
}

void instant(Out to, const Trace& trace, const TraceEvent& e, const char* name) {
  fmt::format_to(to,
                 ",\n{{\"ph\":\"i\",\"s\":\"t\",\"pid\":{},\"tid\":{},\"ts\":{},\"cat\":"
                 "\"scheduler\",\"name\":\"{}\",\"args\":{{",
                 trace.pid, track(e.carrier), us(e.ns), name);
  if (e.task != kNoTraceTask) {
    fmt::format_to(to, "\"task\":{},\"taskName\":{}", e.task, in_json(task_text(trace, e.task)));
    if (e.kind == TraceKind::Steal) fmt::format_to(to, ",\"from\":{}", e.other);
    if (e.kind == TraceKind::Start && e.other != kNoTraceTask)
      fmt::format_to(to, ",\"by\":{}", e.other);
  }
  fmt::format_to(to, "}}}}");
}

}  // namespace

std::string trace_json(const Trace& trace) {
  std::string text;
  Out to = std::back_inserter(text);
  fmt::format_to(to,
                 "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"wisp\":\"{}\",\"program\":{},"
                 "\"carriers\":{},\"lostEvents\":{},\"startedNs\":\"{}\"}},\n\"traceEvents\":[\n",
                 WISP_VERSION, in_json(trace.program), trace.carriers, trace.lost,
                 trace.realtime_ns);
  metadata(to, trace.pid, 0, "process_name", trace.program);
  text += ",\n";
  metadata(to, trace.pid, 0, "thread_name", "no carrier");
  for (uint32_t i = 0; i < trace.carriers; i++) {
    text += ",\n";
    metadata(to, trace.pid, i + 1, "thread_name", fmt::format("carrier {}", i));
  }
  text += ",\n";
  metadata(to, trace.pid, trace.carriers + 1, "thread_name", "garbage collector");
  if (!trace.rings.empty()) collections(to, trace);
  size_t id = 0;
  for (const TraceSlice& s : trace_slices(trace)) {
    slice(to, trace, s);
    if (s.waker_carrier != kNoTraceCarrier) flow(to, trace, s, ++id);
  }
  for (const auto& ring : trace.rings) {
    for (const TraceEvent& e : ring)
      if (const char* name = instant_name(e.kind)) instant(to, trace, e, name);
  }
  text += "\n]}\n";
  return text;
}

}  // namespace wisp
