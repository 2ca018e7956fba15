// A trace file that `wisp trace` has written (trace_json.cpp), read back for its report. The file
// may be anybody's: whatever is in it, reading ends, with slices or with an error.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace wisp {

struct FileSlice {
  uint32_t carrier, task;
  double begin_us, end_us;
  double ready_us = -1;        // it waited so long before it ran; < 0: not known
  uint32_t waker = ~0u;        // task id
  const char* woken_by = "";   // "task", "thread", "timer", "io"
  bool ready_at_most = false;  // it waited so long or less: since the begin of its waker's slice
};

struct TraceFile {
  std::string program;
  uint32_t carriers = 0;
  uint64_t lost = 0;
  double end_us = 0;
  std::vector<FileSlice> slices;
  std::map<uint32_t, std::string> names;
  std::vector<std::pair<double, double>> pauses;  // of the garbage collector: begin, end
  std::map<std::string, uint64_t> instants;       // how many, by name
};

// Empty: good. Otherwise why it is no trace of ours.
std::string parse_trace_file(std::string_view text, TraceFile* out);

// The report: one page of HTML with its pictures in it, no script, nothing from elsewhere.
std::string trace_report(const TraceFile& trace);

}  // namespace wisp
