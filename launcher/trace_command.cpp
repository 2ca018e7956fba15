// `wisp trace`: records a JVM that runs, or one that it starts, and writes the file; `wisp trace
// report` draws it.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "clock.h"
#include "observe_commands.h"
#include "output.h"
#include "run_java.h"
#include "text.h"
#include "trace.h"
#include "trace_file.h"

namespace wisp {
namespace {

constexpr off_t kMaxFile = off_t{1} << 30;
constexpr double kNamesEvery = 1;  // seconds between two looks at the tasks' names
constexpr double kPageEvery = 1;   // at most, for the page of a java that may run without Wisp

volatile sig_atomic_t g_interrupted = 0;
volatile sig_atomic_t g_java = 0;  // pid of the java that this process waits for

// 0, or the exit code. Links are not followed: the name may lie in a folder that others write to.
int write_out(const std::string& name, const std::string& text) {
  if (name == "-") return print_output(text);
  int fd = open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd >= 0 && write_all(fd, text) && close(fd) == 0) return 0;
  const char* why = fd < 0 && errno == ELOOP
                        ? "a link; takes a file of its own, or - for standard output"
                        : strerror(errno);
  print_error(fmt::format("wisp: cannot write {}: {}\n", printable(name), why));
  return kExitFailure;
}

void learn_names(StatisticsPage* page, Trace* trace, bool first = false) {
  PageError ignored;
  std::optional<Statistics> now = page->read(&ignored);
  if (!now) return;
  if (first) {
    for (const stats::CarrierRecord& c : now->carriers)
      if (c.running != stats::kNone) trace->running_at_start[c.index] = c.running;
  }
  for (const stats::TaskRecord& task : now->tasks) {
    std::string name = task_name(task);
    if (!name.empty()) trace->names[task.id] = name;
  }
}

int finish(const TraceRingsFile& rings, Trace* trace, const std::string& asked) {
  if (!rings.read(trace)) {
    return refuse({fmt::format("process {}: its trace is damaged", trace->pid), kExitFailure});
  }
  std::string name = asked.empty() ? fmt::format("wisp-trace-{}.json", trace->pid) : asked;
  size_t events = 0;
  for (const auto& ring : trace->rings) events += ring.size();
  if (int code = write_out(name, trace_json(*trace))) return code;
  std::string shown = name == "-" ? "standard output" : printable(name);
  std::string report = name == "-" ? "FILE" : shown;
  print_error(
      fmt::format("wisp: {} events of {} carriers in {}, {} older ones overwritten; open it at "
                  "https://ui.perfetto.dev, or: wisp trace report {}\n",
                  events, trace->carriers, shown, trace->lost, report));
  return 0;
}

int record_running(const TraceRequest& request) {
  PageError error;
  auto page = StatisticsPage::open(request.pid, &error);
  if (page == nullptr || !page->trace_on(request.buffer_kib, &error)) return refuse(error);
  auto rings = TraceRingsFile::open(page->process());
  if (rings == nullptr) {
    return refuse({fmt::format("process {}: its trace is damaged", request.pid), kExitFailure});
  }
  Trace trace;
  trace.pid = request.pid;
  trace.program = printable(page->process().title());
  signal(SIGINT, [](int) { g_interrupted = 1; });
  signal(SIGTERM, [](int) { g_interrupted = 1; });
  signal(SIGHUP, [](int) { g_interrupted = 1; });
  // Asking for the names is also what keeps the trace on (PageHeader::trace_wanted).
  double begin = monotonic_seconds(), end = begin + request.seconds;
  for (bool first = true; !g_interrupted && page->process().exists(); first = false) {
    learn_names(page.get(), &trace, first);
    double left = end - monotonic_seconds();
    if (left <= 0) break;
    sleep_for(std::min(left, kNamesEvery));
  }
  trace.length_ns = static_cast<uint64_t>((monotonic_seconds() - begin) * 1e9);
  page->trace_off();
  return finish(*rings, &trace, request.output);
}

// Becomes `wisp java` with the trace on from the start.
[[noreturn]] void become_java(const TraceRequest& request) {
  const char* list = getenv("WISP_OPTIONS");
  std::string options = fmt::format("trace={}k", request.buffer_kib);
  if (list != nullptr && *list != '\0') options = std::string(list) + "," + options;
  setenv("WISP_OPTIONS", options.c_str(), 1);
  std::vector<std::string> words = request.java;
  // --jdk comes first, and with nothing behind it is told what it takes; whoever says
  // -XX:-UseWisp2 himself wins.
  size_t at = words.size() > 1 && words[1] == "--jdk" ? 3 : 1;
  if (words.size() > 1 && words[1].rfind("--jdk=", 0) == 0) at = 2;
  if (at <= words.size()) words.insert(words.begin() + static_cast<long>(at), "-XX:+UseWisp2");
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  int argc = static_cast<int>(argv.size());
  argv.push_back(nullptr);
  _exit(run_java_command(argc, argv.data()));
}

int record_java(const TraceRequest& request) {
  // Where whoever started us ignores it a child leaves no exit code (wait(2)).
  auto inherited = signal(SIGCHLD, SIG_DFL);
  pid_t pid = fork();
  if (pid < 0) return refuse({fmt::format("cannot fork: {}", strerror(errno)), kExitFailure});
  if (pid == 0) {
    signal(SIGCHLD, inherited);
    become_java(request);
  }
  // The terminal's signals are for java, which shares our group; we stay to write what it did.
  signal(SIGINT, SIG_IGN);
  signal(SIGQUIT, SIG_IGN);
  // What is sent to us alone is meant for java: its shutdown hooks run, and then we write.
  g_java = pid;
  for (int sig : {SIGTERM, SIGHUP}) signal(sig, [](int s) { kill(g_java, s); });
  Trace trace;
  trace.pid = pid;
  std::unique_ptr<StatisticsPage> page;
  std::unique_ptr<TraceRingsFile> rings;
  double begin = monotonic_seconds(), end = 0, names_at = 0, page_at = begin;
  int status = 0, code = 0;
  bool written = false;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    PageError ignored;
    // Each look lists its descriptors: the longer it has none, the rarer.
    if (double now = monotonic_seconds(); page == nullptr && now >= page_at) {
      page = StatisticsPage::open(pid, &ignored);
      page_at = now + std::min((now - begin) / 10, kPageEvery);
    }
    if (page != nullptr && rings == nullptr) {
      rings = TraceRingsFile::open(page->process());
      trace.program = printable(page->process().title());
      end = monotonic_seconds() + request.seconds;
    }
    if (rings != nullptr && !written && monotonic_seconds() >= names_at) {
      learn_names(page.get(), &trace);
      names_at = monotonic_seconds() + kNamesEvery / 4;
    }
    if (rings != nullptr && !written && request.seconds > 0 && monotonic_seconds() >= end) {
      code = finish(*rings, &trace, request.output);
      written = true;
    }
    sleep_for(0.01);
  }
  if (rings != nullptr && !written) code = finish(*rings, &trace, request.output);
  int java = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (java != 0) return java;
  if (rings == nullptr) {
    return refuse(
        {"nothing recorded: the program ran on plain threads, or ended at once", kExitFailure});
  }
  return code;
}

}  // namespace

int run_trace(const TraceRequest& request) {
  return request.java.empty() ? record_running(request) : record_java(request);
}

int run_trace_report(const std::string& file, const std::string& output) {
  auto bad_file = [&](const std::string& why, int code) {
    return refuse({fmt::format("{}: {}", printable(file), why), code});
  };
  int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat info;
  if (fd < 0 || fstat(fd, &info) != 0) return bad_file(strerror(errno), kExitUsage);
  std::string text;
  bool whole = S_ISREG(info.st_mode) && info.st_size <= kMaxFile;
  if (whole) {
    text.resize(static_cast<size_t>(info.st_size));
    size_t have = 0;
    ssize_t n;
    while (have < text.size() && (n = read(fd, text.data() + have, text.size() - have)) > 0)
      have += static_cast<size_t>(n);
    text.resize(have);
  }
  close(fd);
  if (!whole) return bad_file("takes a file of at most 1 GiB", kExitUsage);
  TraceFile trace;
  std::string problem = parse_trace_file(text, &trace);
  if (!problem.empty()) return bad_file(problem, kExitUsage);
  return write_out(output.empty() ? "-" : output, trace_report(trace));
}

}  // namespace wisp
