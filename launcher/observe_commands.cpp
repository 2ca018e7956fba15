// Implementation of observe_commands.h: the options, and what of them is nonsense.
#include "observe_commands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>

#include "jvm/options.h"
#include "output.h"
#include "process.h"
#include "run_java.h"
#include "scheduler/trace_ring.h"

namespace wisp {
namespace {

constexpr double kMinInterval = 0.1;  // seconds
constexpr double kMaxSeconds = 3600;
constexpr unsigned long kMaxCount = 1'000'000'000;

int bad(const char* command, const std::string& text) {
  print_error(fmt::format("wisp: {}\nTry 'wisp {} --help'.\n", text, command));
  return kExitUsage;
}

// A value that the option does not take, and what it does.
[[noreturn]] void refuse_value(const std::string& name, const std::string& text,
                               const std::string& form) {
  throw CLI::ValidationError(fmt::format("{}={}: takes {}", name, Shown(text.c_str()).text, form));
}

void add_seconds(CLI::App* command, const std::string& name, double min, double* value,
                 const std::string& description) {
  auto take = [=](const std::string& text) {
    double seconds = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    bool number = error == std::errc() && end == text.data() + text.size();
    if (!number || !(seconds >= min && seconds <= kMaxSeconds)) {
      refuse_value(name, text,
                   fmt::format("seconds from {} to {}, such as 2 or 0.5", min, kMaxSeconds));
    }
    *value = seconds;
  };
  command->add_option_function<std::string>(name, take, description)->type_name("SEC");
}

void add_count(CLI::App* command, const std::string& name, long* value,
               const std::string& description) {
  auto take = [=](const std::string& text) {
    unsigned long number = 0;
    if (!parse_number(text.c_str(), false, &number) || number < 1 || number > kMaxCount)
      refuse_value(name, text, fmt::format("a whole number from 1 to {}", kMaxCount));
    *value = static_cast<long>(number);
  };
  command->add_option_function<std::string>(name, take, description)->type_name("N");
}

void add_buffer(CLI::App* command, const std::string& name, uint32_t* kib,
                const std::string& description) {
  auto take = [=](const std::string& text) {
    unsigned long bytes = 0;
    if (!parse_number(text.c_str(), true, &bytes) || bytes < kMinTraceBytes ||
        bytes > kMaxTraceBytes)
      refuse_value(name, text, "a size from 64k to 256m, such as 4m");
    *kib = static_cast<uint32_t>(bytes >> 10);
  };
  command->add_option_function<std::string>(name, take, description)->type_name("SIZE");
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
  add_seconds(trace_, "--seconds", kMinInterval, &seconds_,
              "how long to record (default 5; java: to its end)");
  trace_->add_option("-o,--output", output_, "the file to write (report: default standard output)")
      ->type_name("FILE");
  add_buffer(trace_, "--buffer", &buffer_kib_,
             "memory for events in the JVM, 64k to 256m (default 4m)");
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
  add_seconds(stat_, "--interval", kMinInterval, &interval_,
              "repeat every SEC seconds, with rates");
  add_count(stat_, "--count", &count_, "with --interval: end after N reports");
  add_seconds(top_, "--interval", kMinInterval, &interval_,
              "seconds between two pictures (default 1)");
  add_seconds(jstack_, "--timeout", 0, &timeout_,
              "seconds to wait for the JVM's own part (default 5)");
}

std::optional<int> ObserveCommands::trace() {
  bool timed = trace_->count("--seconds") != 0;
  bool output_given = trace_->count("--output") != 0;
  if (output_given && output_.empty()) return bad("trace", "--output takes the name of a file");
  if (words_[0] == "java") {
    return run_trace({0, words_, timed ? seconds_ : 0, buffer_kib_, output_});
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
  return run_trace({pid, {}, seconds_, buffer_kib_, output_});
}

std::optional<int> ObserveCommands::run() {
  if (*trace_) return trace();
  if (*ps_) return run_ps(json_);
  const char* name = *stat_ ? "stat" : *top_ ? "top" : *jstack_ ? "jstack" : nullptr;
  if (name == nullptr) return std::nullopt;
  int pid = parse_pid(pid_);
  if (pid <= 0) {
    return bad(name, fmt::format("'{}' is not a process id: takes the number of a process, such as "
                                 "4711 (see wisp ps)",
                                 Shown(pid_.c_str()).text));
  }
  if (*top_) return run_top(pid, interval_ > 0 ? interval_ : 1);
  if (*jstack_) return run_jstack(pid, json_, static_cast<int>(timeout_ * 1000));
  if (json_ && openmetrics_) return bad(name, "--json and --openmetrics exclude each other");
  if (tasks_ && openmetrics_) return bad(name, "--openmetrics has no lines for single tasks");
  if (count_ > 0 && interval_ == 0) return bad(name, "--count needs --interval");
  return run_stat({pid, json_, openmetrics_, tasks_, interval_, count_});
}

}  // namespace wisp
