// The commands that look into running JVMs: ps, stat, top, jstack.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

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
  std::string pid_;
  bool json_ = false;
  bool openmetrics_ = false;
  bool tasks_ = false;
  double interval_ = 0;
  long count_ = 0;
  double timeout_ = 5;
};

struct StatRequest {
  int pid;
  bool json, openmetrics, tasks;
  double interval;  // 0: once
  long count;       // 0: until it ends
};
int run_ps(bool json);
int run_stat(const StatRequest& request);
int run_top(int pid, double interval);
int run_jstack(int pid, bool json, int timeout_ms);

}  // namespace wisp
