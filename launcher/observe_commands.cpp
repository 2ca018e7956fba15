// Implementation of observe_commands.h: the options, and what of them is nonsense.
#include "observe_commands.h"

#include <fmt/format.h>

#include "jvm/report.h"
#include "process.h"
#include "run_java.h"

namespace wisp {
namespace {

constexpr double kMinInterval = 0.1;
constexpr double kMaxInterval = 3600;

int bad(const char* command, const std::string& text) {
  fmt::print(stderr, "wisp: {}\nTry 'wisp {} --help'.\n", text, command);
  return kExitUsage;
}

bool sane_interval(double seconds) { return seconds >= kMinInterval && seconds <= kMaxInterval; }

}  // namespace

ObserveCommands::ObserveCommands(CLI::App& app) {
  ps_ = app.add_subcommand("ps", "[--json]  list the converted JVMs of this user");
  stat_ = app.add_subcommand("stat", "PID  counters of a converted JVM's carriers and tasks");
  top_ = app.add_subcommand("top", "PID  live view of a converted JVM; q quits, h helps");
  jstack_ = app.add_subcommand("jstack", "PID  thread dump with what Wisp knows of each thread");
  for (CLI::App* command : {stat_, top_, jstack_}) {
    command->add_option("PID", pid_, "process id of the JVM (see wisp ps)")
        ->required()
        ->type_name("");
  }
  for (CLI::App* command : {ps_, stat_, jstack_}) {
    command->add_flag("--json", json_, "the same for programs");
  }
  stat_->add_flag("--openmetrics", openmetrics_, "in OpenMetrics (Prometheus) text format");
  stat_->add_flag("--tasks", tasks_, "one line per task as well");
  stat_->add_option("--interval", interval_, "repeat every SEC seconds, with rates")
      ->type_name("SEC");
  stat_->add_option("--count", count_, "with --interval: end after N reports")->type_name("N");
  top_->add_option("--interval", interval_, "seconds between two pictures (default 1)")
      ->type_name("SEC");
  jstack_->add_option("--timeout", timeout_, "seconds to wait for the JVM's own part (default 5)")
      ->type_name("SEC");
}

std::optional<int> ObserveCommands::run() {
  if (*ps_) return run_ps(json_);
  const char* name = *stat_ ? "stat" : *top_ ? "top" : *jstack_ ? "jstack" : nullptr;
  if (name == nullptr) return std::nullopt;
  int pid = parse_pid(pid_);
  if (pid <= 0) return bad(name, fmt::format("'{}' is not a process id", Shown(pid_.c_str()).text));
  CLI::App* command = *stat_ ? stat_ : top_;
  bool timed = command->count("--interval") != 0;
  if (timed && !sane_interval(interval_)) {
    return bad(name, fmt::format("--interval takes {} to {} seconds", kMinInterval, kMaxInterval));
  }
  if (*top_) return run_top(pid, timed ? interval_ : 1);
  if (*jstack_) {
    if (!(timeout_ >= 0 && timeout_ <= 3600)) return bad(name, "--timeout takes 0 to 3600 seconds");
    return run_jstack(pid, json_, static_cast<int>(timeout_ * 1000));
  }
  if (json_ && openmetrics_) return bad(name, "--json and --openmetrics exclude each other");
  if (count_ < 0 || (count_ > 0 && !timed)) {
    return bad(name, "--count takes a positive number and needs --interval");
  }
  return run_stat({pid, json_, openmetrics_, tasks_, timed ? interval_ : 0, count_});
}

}  // namespace wisp
