// `wisp jstack`: the JVM's thread dump, with Wisp2's line at each converted thread.
//
//    - Coroutine [0x7f6d6d60fb20] "Thread-978" #1076 active=1 steal=0 steal_fail=0 preempt=0
//    park=0/-1
//
// The two numbers of park are those of Dragonwell: of the JVM's own locks and of LockSupport; -1 it
// waits there, 1 it has been woken and will run, 0 neither.
#include <fmt/format.h>
#include <string.h>

#include <unordered_set>

#include "attach.h"
#include "observe_commands.h"
#include "output.h"
#include "stat_formats.h"
#include "statistics.h"
#include "text.h"
#include "thread_dump.h"

namespace wisp {
namespace {

using stats::TaskRecord;

bool waits_in_jvm(const std::string& java_state) {
  return java_state.find("monitor") != std::string::npos || java_state.rfind("BLOCKED", 0) == 0;
}

std::string park_words(const TaskRecord& task, const std::string& java_state) {
  int status = park_status(task);
  return waits_in_jvm(java_state) ? fmt::format("{}/0", status) : fmt::format("0/{}", status);
}

std::string coroutine_line(const TaskRecord& t, const std::string& name, const std::string& state) {
  return fmt::format(
      " - Coroutine [{:#x}] \"{}\" #{} active={} steal={} steal_fail={} preempt={} park={}",
      t.address, printable(name), t.id, t.times_run, t.times_stolen, t.times_steal_failed,
      t.times_preempted, park_words(t, state));
}

std::string wisp_line(const Statistics& s, const TaskRecord& t) {
  return fmt::format("   Wisp: {} for {}, {}; cpu={} hand-offs={}", state_word(t.state),
                     duration(time_in_state(s, t)), describe(s, t), duration(t.cpu_ns),
                     t.times_handed_off);
}

const TaskRecord* task_of(const Statistics& s, uint32_t nid) {
  if (nid == 0) return nullptr;
  for (const TaskRecord& task : s.tasks) {
    if (task.tid == nid) return &task;
  }
  return nullptr;
}

std::string queues_text(const Statistics& s) {
  std::string text;
  for (const stats::CarrierRecord& carrier : s.carriers) {
    if (carrier.queued_count == 0) continue;
    std::string names;
    for (uint32_t i = 0; i < carrier.queued_count; i++) {
      uint32_t id = s.queued[carrier.queued_first + i];
      names += fmt::format("{}#{}", i == 0 ? "" : ", ", id);
      for (const TaskRecord& task : s.tasks) {
        if (task.id == id) names += fmt::format(" \"{}\"", task_name(task));
      }
    }
    text += fmt::format("Queue of carrier {}: {}\n", carrier.index, names);
  }
  return text;
}

std::string dump_text(const Statistics& s, const ThreadDump& dump) {
  std::string text;
  for (const std::string& line : dump.before) text += fmt::format("{}\n", printable(line));
  if (!dump.before.empty()) text += "\n";
  std::unordered_set<uint32_t> seen;
  for (const DumpedThread& thread : dump.threads) {
    text += fmt::format("{}\n", printable(thread.header));
    if (!thread.state.empty()) {
      text += fmt::format("   java.lang.Thread.State: {}\n", printable(thread.state));
    }
    if (const TaskRecord* task = task_of(s, thread.nid)) {
      seen.insert(task->id);
      text += fmt::format("{}\n{}\n", wisp_line(s, *task),
                          coroutine_line(*task, thread.name, thread.state));
    }
    for (const std::string& line : thread.lines) text += printable(line, '\t') + "\n";
    text += "\n";
  }
  for (const std::string& line : dump.after) text += printable(line, '\t') + "\n";
  if (!dump.after.empty()) text += "\n";
  bool headline = false;
  for (const TaskRecord& task : s.tasks) {
    if (seen.count(task.id) != 0) continue;
    if (!headline && !dump.threads.empty()) text += "Tasks that are not in the JVM's dump:\n";
    headline = true;
    text += fmt::format("{}\n{}\n", coroutine_line(task, task_name(task), ""), wisp_line(s, task));
  }
  return text + "\n" + stat_text(s, nullptr, false) + queues_text(s);
}

std::string json_list(const std::vector<std::string>& lines) {
  std::string text = "[";
  for (size_t i = 0; i < lines.size(); i++) text += (i == 0 ? "" : ", ") + in_json(lines[i]);
  return text + "]";
}

std::string dump_json(const Statistics& s, const ThreadDump& dump, const std::string& why_not) {
  std::string text = fmt::format("{{\"jvmAnswered\": {}, \"reason\": {},\n\"threads\": [",
                                 why_not.empty(), in_json(why_not));
  const char* separator = "";
  for (const DumpedThread& thread : dump.threads) {
    const TaskRecord* task = task_of(s, thread.nid);
    text += fmt::format(
        "{}\n {{\"name\": {}, \"nid\": {}, \"state\": {}, \"header\": {}, \"lines\": {}, "
        "\"coroutine\": {}, \"task\": {}}}",
        separator, in_json(thread.name), thread.nid, in_json(thread.state), in_json(thread.header),
        json_list(thread.lines),
        task != nullptr ? in_json(coroutine_line(*task, thread.name, thread.state)) : "null",
        task != nullptr ? json_of(s, *task) : "null");
    separator = ",";
  }
  return text + fmt::format("],\n\"after\": {},\n\"wisp\": {}}}\n", json_list(dump.after),
                            stat_json(s, true));
}

}  // namespace

int run_jstack(int pid, bool json, int timeout_ms) {
  PageError error;
  auto page = StatisticsPage::open(pid, &error);
  if (page == nullptr) return refuse(error);
  AttachAnswer answer = attach_thread_dump(page->process(), timeout_ms);
  std::optional<Statistics> s = page->read(&error);
  if (!s) return refuse(error);
  ThreadDump dump;
  if (answer.ok) {
    dump = parse_thread_dump(answer.text);
  } else if (!json) {
    print_error(fmt::format("wisp: no Java frames: {}\n", answer.text));
  }
  return print_output(json ? dump_json(*s, dump, answer.ok ? "" : answer.text)
                           : dump_text(*s, dump));
}

}  // namespace wisp
