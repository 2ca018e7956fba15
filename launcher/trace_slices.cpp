// From events to slices: per carrier, what ran from when to when; and for each slice the event that
// made its task ready, whichever ring that is in.
#include <algorithm>
#include <unordered_map>

#include "trace.h"

namespace wisp {
namespace {

bool makes_ready(TraceKind kind) {
  return kind == TraceKind::Start || kind == TraceKind::Unpark || kind == TraceKind::Timer ||
         kind == TraceKind::Io;
}

// How the event ends the slice of the task it names; null: it does not.
const char* ends(TraceKind kind) {
  switch (kind) {
    case TraceKind::Park:
      return "park";
    case TraceKind::Yield:
      return "yield";
    case TraceKind::End:
      return "end";
    case TraceKind::HandOff:
      return "hand-off";
    case TraceKind::Preempt:
      return "preempt";
    default:
      return nullptr;
  }
}

// What ran on the ring's carrier before its first event; kNoTraceTask: nothing, or not known.
uint32_t runs_first(const Trace& trace, uint32_t carrier) {
  const std::vector<TraceEvent>& events = trace.rings[carrier];
  // The oldest events may be overwritten, and with them what it ran.
  if (trace.lost != 0) return kNoTraceTask;
  for (const TraceEvent& event : events)
    if (ends(event.kind) != nullptr)
      return event.task;
    else if (event.kind == TraceKind::Run || event.kind == TraceKind::Awake)
      return kNoTraceTask;
  auto seen = trace.running_at_start.find(carrier);
  return seen != trace.running_at_start.end() ? seen->second : kNoTraceTask;
}

TraceSlice begun(const TraceEvent& event) {
  TraceSlice slice{};
  slice.carrier = event.carrier;
  slice.task = event.task;
  slice.begin_ns = slice.end_ns = event.ns;
  slice.end = "unknown";
  slice.woken_by = event.waker != kNoTraceTask ? "task" : nullptr;
  slice.waker = event.waker;
  slice.ready_ns = event.ready_ns;
  slice.ready_at_most = event.ready_at_most;
  slice.waker_carrier = kNoTraceCarrier;
  return slice;
}

// first: what ran when the trace was switched on. trace_end: a task that no event ends has run up
// to there.
void slices_of(const std::vector<TraceEvent>& events, uint32_t carrier, uint32_t first,
               uint64_t trace_end, std::vector<TraceSlice>* out) {
  TraceSlice open{};
  bool running = false;
  if (first != kNoTraceTask) {
    TraceEvent event{};
    event.carrier = carrier;
    event.task = first;
    open = begun(event);
    running = true;
  }
  auto close = [&](uint64_t ns, const char* how) {
    if (!running) return;
    running = false;
    open.end_ns = ns;
    open.end = how;
    out->push_back(open);
  };
  for (const TraceEvent& event : events) {
    if (event.kind == TraceKind::Run) {
      close(event.ns, "unknown");
      open = begun(event);
      running = true;
    } else if (const char* how = ends(event.kind)) {
      if (event.task == open.task) close(event.ns, how);
    } else if (event.kind == TraceKind::Idle) {
      close(event.ns, "unknown");
    }
  }
  close(trace_end, "unknown");
}

// Where the wakers ran. `order`: all slices by their begin.
void find_wakers(const std::vector<TraceSlice*>& order) {
  std::unordered_map<uint32_t, std::vector<const TraceSlice*>> by_task;
  for (const TraceSlice* slice : order) by_task[slice->task].push_back(slice);
  auto begins_after = [](uint64_t ns, const TraceSlice* slice) { return ns < slice->begin_ns; };
  for (TraceSlice* slice : order) {
    auto found = by_task.find(slice->waker);
    if (slice->waker == kNoTraceTask || found == by_task.end()) continue;
    const auto& list = found->second;
    auto behind = std::upper_bound(list.begin(), list.end(), slice->ready_ns, begins_after);
    if (behind == list.begin() || (*(behind - 1))->end_ns < slice->ready_ns) continue;
    slice->waker_carrier = (*(behind - 1))->carrier;
  }
}

}  // namespace

std::vector<TraceSlice> trace_slices(const Trace& trace) {
  std::vector<TraceSlice> slices;
  std::unordered_map<uint32_t, std::vector<const TraceEvent*>> wakes;
  uint64_t trace_end = trace.length_ns;
  for (const auto& ring : trace.rings)
    if (!ring.empty()) trace_end = std::max(trace_end, ring.back().ns);
  for (uint32_t i = 0; i < trace.rings.size(); i++) {
    const auto& ring = trace.rings[i];
    if (i + 1 != trace.rings.size()) slices_of(ring, i, runs_first(trace, i), trace_end, &slices);
    for (const TraceEvent& event : ring)
      if (makes_ready(event.kind)) wakes[event.task].push_back(&event);
  }
  auto earlier = [](const TraceEvent* a, const TraceEvent* b) { return a->ns < b->ns; };
  for (auto& [task, list] : wakes) std::sort(list.begin(), list.end(), earlier);
  // In the order of time, task by task: each wake belongs to the first slice behind it, and a slice
  // that follows a yield, or whose wake was overwritten, to none.
  std::vector<TraceSlice*> order;
  order.reserve(slices.size());
  for (TraceSlice& slice : slices) order.push_back(&slice);
  std::stable_sort(order.begin(), order.end(),
                   [](auto* a, auto* b) { return a->begin_ns < b->begin_ns; });
  std::unordered_map<uint32_t, size_t> used;
  for (TraceSlice* slice : order) {
    auto list = wakes.find(slice->task);
    if (list == wakes.end()) continue;
    size_t& at = used[slice->task];
    const TraceEvent* wake = nullptr;
    while (at < list->second.size() && list->second[at]->ns <= slice->begin_ns)
      wake = list->second[at++];
    // What the record of its run says is newer.
    if (wake == nullptr || slice->woken_by != nullptr) continue;
    slice->ready_ns = wake->ns;
    switch (wake->kind) {
      case TraceKind::Timer:
        slice->woken_by = "timer";
        break;
      case TraceKind::Io:
        slice->woken_by = "io";
        break;
      default:
        slice->woken_by = wake->other != kNoTraceTask ? "task" : "thread";
        slice->waker = wake->other;
    }
  }
  find_wakers(order);
  return slices;
}

}  // namespace wisp
