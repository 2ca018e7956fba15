// The commands that look into running JVMs: ps, stat, top, jstack, trace.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scheduler/trace_ring.h"

// CLI11 takes ten seconds to compile: only the two files that declare options include it.
namespace CLI {
class App;
}

namespace wisp {

class ObserveCommands {
 public:
  explicit ObserveCommands(CLI::App& app);
  // The exit code, if one of them was given.
  std::optional<int> run();

 private:
  CLI::App* ps_;
  CLI::App* stat_;
  CLI::App* top_;
  CLI::App* jstack_;
  CLI::App* trace_;
  std::string pid_;
  bool json_ = false;
  bool openmetrics_ = false;
  bool tasks_ = false;
  double interval_ = 0;  // not given
  long count_ = 0;       // not given
  double timeout_ = 5;
  std::vector<std::string> words_;
  double seconds_ = 5;
  std::string output_;
  uint32_t buffer_kib_ = kDefaultTraceBytes >> 10;
  std::optional<int> trace();
};

struct StatRequest {
  int pid;
  bool json, openmetrics, tasks;
  double interval;  // seconds; 0: once
  long count;       // 0: until it ends
};
struct TraceRequest {
  int pid;                        // or
  std::vector<std::string> java;  // the words behind --, to be run and recorded
  double seconds;                 // 0: until the program ends
  uint32_t buffer_kib;
  std::string output;  // empty: wisp-trace-PID.json
};
// Each prints its answer, or on stderr why there is none, and returns the exit code.
int run_trace(const TraceRequest& request);
int run_trace_report(const std::string& file, const std::string& output);
int run_ps(bool json);
int run_stat(const StatRequest& request);
int run_top(int pid, double interval);  // seconds between two screens
int run_jstack(int pid, bool json, int timeout_ms);

}  // namespace wisp
