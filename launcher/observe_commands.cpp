// Implementation of observe_commands.h: the options, and what of them is nonsense.
#include "observe_commands.h"

#include <fmt/format.h>

#include <charconv>

#include "jvm/report.h"
#include "process.h"
#include "run_java.h"
#include "scheduler/trace_ring.h"

namespace wisp {
namespace {

constexpr double kMinInterval = 0.1;
constexpr double kMaxInterval = 3600;

int bad(const char* command, const std::string& text) {
  fmt::print(stderr, "wisp: {}\nTry 'wisp {} --help'.\n", text, command);
  return kExitUsage;
}

bool sane_interval(double seconds) { return seconds >= kMinInterval && seconds <= kMaxInterval; }

// "64k", "4m", "65536".
bool parse_size(const std::string& text, uint64_t* bytes) {
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value > kMaxTraceBytes) return false;
  std::string unit(end, text.data() + text.size());
  if (unit == "k" || unit == "K") {
    value <<= 10;
  } else if (unit == "m" || unit == "M") {
    value <<= 20;
  } else if (!unit.empty()) {
    return false;
  }
  *bytes = value;
  return value >= kMinTraceBytes && value <= kMaxTraceBytes;
}

}  // namespace

ObserveCommands::ObserveCommands(CLI::App& app) {
  ps_ = app.add_subcommand("ps", "[--json]  list the converted JVMs of this user");
  stat_ = app.add_subcommand("stat", "PID  counters of a converted JVM's carriers and tasks");
  top_ = app.add_subcommand("top", "PID  live view of a converted JVM; q quits, h helps");
  jstack_ = app.add_subcommand("jstack", "PID  thread dump with what Wisp knows of each thread");
  trace_ = app.add_subcommand(
      "trace", "PID | report FILE | -- java ARG...  record or draw scheduling events");
  trace_
      ->add_option("PID", words_,
                   "process id of the JVM; or report and a trace's file; or -- and a java command")
      ->required()
      ->type_name("");
  trace_->add_option("--seconds", seconds_, "how long to record (default 5; java: to its end)")
      ->type_name("SEC");
  trace_->add_option("-o,--output", output_, "the file to write (report: default standard output)")
      ->type_name("FILE");
  trace_->add_option("--buffer", buffer_, "memory for events in the JVM, 64k to 256m (default 4m)")
      ->type_name("SIZE");
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

std::optional<int> ObserveCommands::trace() {
  bool timed = trace_->count("--seconds") != 0;
  bool output_given = trace_->count("--output") != 0;
  if (timed && !sane_interval(seconds_)) {
    return bad("trace", fmt::format("--seconds takes {} to {}", kMinInterval, kMaxInterval));
  }
  if (output_given && output_.empty()) return bad("trace", "--output takes the name of a file");
  uint64_t buffer = kDefaultTraceBytes;
  if (trace_->count("--buffer") != 0 && !parse_size(buffer_, &buffer)) {
    return bad("trace", fmt::format("--buffer={}: takes a size from 64k to 256m, such as 4m",
                                    Shown(buffer_.c_str()).text));
  }
  auto kib = static_cast<uint32_t>(buffer >> 10);
  if (words_[0] == "java") {
    return run_trace({0, words_, timed ? seconds_ : 0, kib, output_});
  }
  if (words_[0] == "report") {
    if (words_.size() != 2) return bad("trace", "trace report takes one file");
    if (timed || trace_->count("--buffer") != 0) {
      return bad("trace", "--seconds and --buffer are for recording");
    }
    return run_trace_report(words_[1], output_);
  }
  int pid = parse_pid(words_[0]);
  if (pid <= 0) {
    return bad("trace",
               fmt::format("'{}' is not a process id; takes PID, report FILE or -- java ARG...",
                           Shown(words_[0].c_str()).text));
  }
  if (words_.size() != 1) {
    return bad("trace", fmt::format("'{}' is too much: one process at a time",
                                    Shown(words_[1].c_str()).text));
  }
  return run_trace({pid, {}, seconds_, kib, output_});
}

std::optional<int> ObserveCommands::run() {
  if (*trace_) return trace();
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
