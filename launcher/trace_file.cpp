// Implementation of trace_file.h but for the report.
#include "trace_file.h"

#include <algorithm>

#include "json_reader.h"
#include "text.h"

namespace wisp {
namespace {

constexpr double kMaxUs = 1e15;  // thirty years
constexpr double kMaxCarriers = 1024;
constexpr double kMaxTask = 4294967294.0;
constexpr size_t kMaxInstants = 32;  // names of them

bool between(double value, double low, double high) { return value >= low && value <= high; }

const char* woken_word(const std::string& text) {
  for (const char* word : {"task", "thread", "timer", "io"})
    if (text == word) return word;
  return "";
}

void add_slice(const JsonValue& event, TraceFile* out) {
  const JsonValue* args = event.find("args");
  if (args == nullptr) return;
  double tid = event.number_of("tid", -1), ts = event.number_of("ts", -1);
  double dur = event.number_of("dur", -1), task = args->number_of("task", -1);
  // What is no number that we wrote is left out: nothing below divides or counts by it.
  if (!between(tid, 1, kMaxCarriers) || !between(ts, 0, kMaxUs) || !between(dur, 0, kMaxUs)) {
    return;
  }
  if (event.text_of("cat") == "gc") {
    out->pauses.emplace_back(ts, ts + dur);
    out->end_us = std::max(out->end_us, ts + dur);
    return;
  }
  if (!between(task, 0, kMaxTask)) return;
  FileSlice slice{static_cast<uint32_t>(tid) - 1, static_cast<uint32_t>(task), ts, ts + dur};
  slice.woken_by = woken_word(args->text_of("wokenBy"));
  double ready = args->number_of("readyUs", -1);
  if (*slice.woken_by != '\0' && between(ready, 0, kMaxUs)) slice.ready_us = ready;
  slice.ready_at_most = args->number_of("readyAtMost", 0) == 1;
  double waker = args->number_of("waker", -1);
  if (between(waker, 0, kMaxTask)) {
    slice.waker = static_cast<uint32_t>(waker);
    out->names.try_emplace(slice.waker, printable(args->text_of("wakerName")));
  }
  out->names[slice.task] = printable(event.text_of("name"));
  out->carriers = std::max(out->carriers, slice.carrier + 1);
  out->end_us = std::max(out->end_us, slice.end_us);
  out->slices.push_back(slice);
}

}  // namespace

std::string parse_trace_file(std::string_view text, TraceFile* out) {
  JsonReader reader(text);
  bool events = false, ours = false;
  bool whole = reader.object([&](const std::string& name) {
    if (name == "traceEvents") {
      events = true;
      return reader.array([&](const JsonValue& event) {
        std::string phase = event.text_of("ph");
        if (phase == "X") {
          add_slice(event, out);
        } else if (phase == "i") {
          std::string what = printable(event.text_of("name"));
          if (out->instants.size() < kMaxInstants || out->instants.contains(what))
            out->instants[what]++;
        }
      });
    }
    JsonValue value;
    if (!reader.value(&value)) return false;
    if (name == "otherData") {
      ours = value.find("wisp") != nullptr;
      out->program = printable(value.text_of("program"));
      double carriers = value.number_of("carriers", 0), lost = value.number_of("lostEvents", 0);
      if (between(carriers, 0, kMaxCarriers))
        out->carriers = std::max(out->carriers, static_cast<uint32_t>(carriers));
      if (between(lost, 0, 1e18)) out->lost = static_cast<uint64_t>(lost);
    }
    return true;
  });
  if (!whole) return "is cut off or is no JSON";
  if (!events || !ours) return "is no trace that wisp trace has written";
  return {};
}

}  // namespace wisp
