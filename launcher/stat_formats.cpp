// Implementation of stat_formats.h.
#include "stat_formats.h"

#include <fmt/format.h>

#include <iterator>

#include "text.h"

namespace wisp {
namespace {

using stats::CarrierRecord;
using stats::TaskRecord;
using Text = std::back_insert_iterator<std::string>;

struct Counter {
  const char* json;
  const char* metric;
  const char* help;
  uint64_t CarrierRecord::*field;
  bool time;  // nanoseconds; seconds in OpenMetrics
};

const Counter kCounters[] = {
    {"switches", "switches", "Tasks dispatched", &CarrierRecord::switches, false},
    {"parks", "parks", "Tasks that parked", &CarrierRecord::parks, false},
    {"unparks", "unparks", "Tasks woken by tasks of this carrier", &CarrierRecord::unparks, false},
    {"yields", "yields", "Yields", &CarrierRecord::yields, false},
    {"steals", "steals", "Successful steals from other carriers", &CarrierRecord::steals, false},
    {"failedSteals", "failed_steals", "Searches that found nothing", &CarrierRecord::failed_steals,
     false},
    {"timeouts", "timeouts", "Timed waits that ran out", &CarrierRecord::timeouts, false},
    {"handOffs", "hand_offs", "Times a task gave the carrier away before a blocking call",
     &CarrierRecord::handoffs, false},
    {"preemptions", "preemptions", "Times SysMonitor took the carrier from a task",
     &CarrierRecord::preemptions, false},
    {"idles", "idles", "Times it went idle", &CarrierRecord::idles, false},
    {"wakeUps", "wake_ups", "Times it was woken to look for work", &CarrierRecord::wakeups, false},
    {"polls", "polls", "Looks at the event pump while busy", &CarrierRecord::polls, false},
    {"started", "tasks_started", "Tasks that ran here first", &CarrierRecord::started, false},
    {"completed", "tasks_completed", "Tasks that ended here", &CarrierRecord::completed, false},
    {"runNanos", "run_seconds", "Time tasks ran", &CarrierRecord::run_ns, true},
    {"idleNanos", "idle_seconds", "Time nothing ran", &CarrierRecord::idle_ns, true},
    {"queuedNanos", "queued_seconds", "Time tasks waited in its queues (estimate)",
     &CarrierRecord::queued_ns, true},
    {"ioWaits", "io_waits", "Waits of its tasks for a descriptor", &CarrierRecord::io_waits, false},
    {"ioWaitNanos", "io_wait_seconds", "Time its tasks waited for descriptors",
     &CarrierRecord::io_wait_ns, true},
    {"blockedNanos", "blocked_seconds", "Time its tasks were parked", &CarrierRecord::blocked_ns,
     true},
};

struct States {
  size_t running = 0, native = 0, ready = 0, parked = 0;
};

States count_states(const Statistics& s) {
  States n;
  for (const TaskRecord& task : s.tasks) {
    if (task.state == stats::State::Running) (task.handed_off ? n.native : n.running)++;
    if (task.state == stats::State::Ready || task.state == stats::State::Created) n.ready++;
    if (task.state == stats::State::Parked) n.parked++;
  }
  return n;
}

std::string json_number(uint64_t value) {
  return value == stats::kNever ? "null" : fmt::format("{}", value);
}
std::string json_index(uint32_t value) {
  return value == stats::kNone ? "null" : fmt::format("{}", value);
}

void add_task_lines(Text out, const Statistics& now) {
  fmt::format_to(out, "{:>6} {:>9} {:<15} {:<8} {:>9} {:>9} {:>7} {:>7} {:>7} {:>9}  {}\n", "TASK",
                 "NID", "NAME", "STATE", "FOR", "ACTIVE", "STEAL", "PREEMPT", "HANDOFF", "CPU",
                 "WHERE");
  for (const TaskRecord& t : now.tasks) {
    fmt::format_to(out, "{:>6} {:>#9x} {:<15} {:<8} {:>9} {:>9} {:>7} {:>7} {:>7} {:>9}  {}\n",
                   t.id, t.tid, task_name(t), state_word(t.state), duration(time_in_state(now, t)),
                   t.times_run, t.times_stolen, t.times_preempted, t.times_handed_off,
                   duration(t.cpu_ns), describe(now, t));
  }
}

}  // namespace

double busy_share(const Statistics& now, const Statistics* earlier, size_t i) {
  uint64_t run = now.carriers[i].run_ns;
  if (earlier != nullptr && i < earlier->carriers.size()) {
    uint64_t before = earlier->carriers[i].run_ns;
    run = run > before ? run - before : 0;
  }
  double seconds = seconds_between(now, earlier);
  double share = seconds > 0 ? static_cast<double>(run) / 1e9 / seconds : 0;
  return share > 1 ? 1 : share;
}

std::string stat_text(const Statistics& now, const Statistics* earlier, bool tasks) {
  std::string text;
  Text out(text);
  States n = count_states(now);
  double seconds = seconds_between(now, earlier);
  const stats::Snapshot& h = now.head;
  if (earlier == nullptr) {
    fmt::format_to(out,
                   "JVM {}, Wisp {}, up {:.1f} s: {} tasks ({} running, {} native, {} ready, {} "
                   "parked), {} created\n",
                   now.pid, now.release, seconds, h.tasks_alive, n.running, n.native, n.ready,
                   n.parked, h.tasks_created);
    fmt::format_to(out,
                   "global queue {}, workers {} ({} spare, {} searching), sysmon tick {} us, "
                   "{}{}\n",
                   h.global_queue, now.workers.size(), h.spare_workers, h.searching_workers,
                   h.sysmon_tick_us, h.sysmon_wakes_at_ns == stats::kNever ? "asleep" : "watching",
                   h.kept_back_carriers == 0
                       ? ""
                       : fmt::format(", {} carrier{} kept back", h.kept_back_carriers,
                                     h.kept_back_carriers == 1 ? "" : "s"));
  }
  fmt::format_to(
      out, "{:>7} {:>8} {:>5} {:>6} {:>5} {:>10} {:>10} {:>8} {:>8} {:>8} {:>8} {:>8}  {}\n",
      "CARRIER", "WORKER", "QUEUE", "TASKS", "BUSY", earlier ? "SWITCH/s" : "SWITCHES",
      earlier ? "PARK/s" : "PARKS", earlier ? "STEAL/s" : "STEALS", earlier ? "HOFF/s" : "HANDOFFS",
      earlier ? "PREE/s" : "PREEMPT", earlier ? "TIMEO/s" : "TIMEOUTS", "QWAIT", "RUNS");
  for (size_t i = 0; i < now.carriers.size(); i++) {
    const CarrierRecord& c = now.carriers[i];
    const CarrierRecord* was =
        earlier != nullptr && i < earlier->carriers.size() ? &earlier->carriers[i] : nullptr;
    auto value = [&](uint64_t CarrierRecord::*field) {
      uint64_t total = c.*field;
      if (was == nullptr) return fmt::format("{}", total);
      uint64_t more = total > was->*field ? total - was->*field : 0;
      return fmt::format("{:.0f}", seconds > 0 ? static_cast<double>(more) / seconds : 0);
    };
    std::string runs = "-";
    for (const TaskRecord& task : now.tasks) {
      if (task.id == c.running) runs = task_name(task);
    }
    uint64_t waits = c.queued_count_total != 0 ? c.queued_ns / c.queued_count_total : 0;
    fmt::format_to(
        out, "{:>7} {:>8} {:>5} {:>6} {:>4.0f}% {:>10} {:>10} {:>8} {:>8} {:>8} {:>8} {:>8}  {}\n",
        c.index, c.worker_tid != 0 ? fmt::format("{}", c.worker_tid) : "idle", c.queue_length,
        c.tasks, busy_share(now, earlier, i) * 100, value(&CarrierRecord::switches),
        value(&CarrierRecord::parks), value(&CarrierRecord::steals),
        value(&CarrierRecord::handoffs), value(&CarrierRecord::preemptions),
        value(&CarrierRecord::timeouts), duration(waits), runs);
  }
  if (tasks) add_task_lines(out, now);
  return text;
}

std::string json_of(const Statistics& s, const TaskRecord& t) {
  auto socket = [&](stats::SocketEnd end) {
    return t.socket_end == end ? in_json(socket_text(t)) : "null";
  };
  auto queue = s.queue_of.find(t.id);
  return fmt::format(
      "{{\"id\": {}, \"nid\": {}, \"name\": {}, \"address\": \"{:#x}\", \"state\": \"{}\", "
      "\"park\": {}, \"waitFor\": \"{}\", \"waitAddress\": \"{:#x}\", \"waitFd\": {}, "
      "\"waitPeer\": {}, "
      "\"waitOwnAddress\": {}, \"deadlineNanos\": {}, "
      "\"handedOff\": {}, \"carrier\": {}, \"queue\": {}, \"workerTid\": {}, \"inStateNanos\": {}, "
      "\"cpuNanos\": {}, \"active\": {}, \"steal\": {}, \"stealFail\": {}, \"preempt\": {}, "
      "\"handOff\": {}, \"javaId\": {}, \"queuedNanos\": {}, \"stackPointer\": \"{:#x}\", "
      "\"threadPointer\": \"{:#x}\"}}",
      t.id, t.tid, in_json(task_name(t)), t.address, state_word(t.state), park_status(t),
      wait_word(t.wait_for), t.wait_address, t.wait_fd, socket(stats::SocketEnd::Peer),
      socket(stats::SocketEnd::Own), json_number(t.deadline_ns), t.handed_off != 0,
      json_index(t.carrier), queue != s.queue_of.end() ? json_index(queue->second) : "null",
      t.worker_tid, time_in_state(s, t), t.cpu_ns, t.times_run, t.times_stolen,
      t.times_steal_failed, t.times_preempted, t.times_handed_off, t.java_id, t.queued_ns,
      t.stack_pointer, t.thread_pointer);
}

std::string stat_json(const Statistics& s, bool tasks) {
  std::string text;
  Text out(text);
  const stats::Snapshot& h = s.head;
  fmt::format_to(out,
                 "{{\"pid\": {}, \"release\": {}, \"startedNanos\": {}, \"realtimeNanos\": {}, "
                 "\"monotonicNanos\": {}, \"tasksCreated\": {}, \"tasksCompleted\": {}, "
                 "\"tasksAlive\": {}, \"globalQueue\": {}, \"idleCarriers\": {}, "
                 "\"keptBackCarriers\": {}, \"spareWorkers\": {}, "
                 "\"searchingWorkers\": {}, \"sysmonTickMicros\": {}, \"sysmonAsleep\": {},\n"
                 " \"carriers\": [",
                 s.pid, in_json(s.release), s.started_ns, h.realtime_ns, h.monotonic_ns,
                 h.tasks_created, h.tasks_completed, h.tasks_alive, h.global_queue, h.idle_carriers,
                 h.kept_back_carriers, h.spare_workers, h.searching_workers, h.sysmon_tick_us,
                 h.sysmon_wakes_at_ns == stats::kNever);
  const char* separator = "";
  for (const CarrierRecord& c : s.carriers) {
    fmt::format_to(out,
                   "{}\n  {{\"index\": {}, \"running\": {}, \"workerTid\": {}, "
                   "\"queueLength\": {}, \"tasks\": {}",
                   separator, c.index, json_index(c.running), c.worker_tid, c.queue_length,
                   c.tasks);
    for (const Counter& counter : kCounters) {
      fmt::format_to(out, ", \"{}\": {}", counter.json, c.*counter.field);
    }
    fmt::format_to(out, ", \"queue\": [");
    for (uint32_t i = 0; i < c.queued_count; i++) {
      fmt::format_to(out, "{}{}", i == 0 ? "" : ", ", json_index(s.queued[c.queued_first + i]));
    }
    fmt::format_to(out, "]}}");
    separator = ",";
  }
  fmt::format_to(out, "],\n \"workers\": [");
  separator = "";
  for (const stats::WorkerRecord& w : s.workers) {
    fmt::format_to(out, "{}{{\"tid\": {}, \"carrier\": {}, \"task\": {}, \"polling\": {}}}",
                   separator, w.tid, json_index(w.carrier), json_index(w.task), w.polling != 0);
    separator = ", ";
  }
  if (tasks) {
    fmt::format_to(out, "],\n \"tasks\": [");
    separator = "";
    for (const TaskRecord& task : s.tasks) {
      fmt::format_to(out, "{}\n  {}", separator, json_of(s, task));
      separator = ",";
    }
  }
  text += "]}\n";
  return text;
}

std::string stat_openmetrics(const Statistics& s) {
  std::string text;
  Text out(text);
  for (const Counter& counter : kCounters) {
    fmt::format_to(out, "# TYPE wisp_carrier_{} counter\n", counter.metric);
    if (counter.time) fmt::format_to(out, "# UNIT wisp_carrier_{} seconds\n", counter.metric);
    fmt::format_to(out, "# HELP wisp_carrier_{} {}.\n", counter.metric, counter.help);
    for (const CarrierRecord& c : s.carriers) {
      fmt::format_to(out, "wisp_carrier_{}_total{{carrier=\"{}\"}} ", counter.metric, c.index);
      if (counter.time) {
        fmt::format_to(out, "{:.9f}\n", static_cast<double>(c.*counter.field) / 1e9);
      } else {
        fmt::format_to(out, "{}\n", c.*counter.field);
      }
    }
  }
  fmt::format_to(out,
                 "# TYPE wisp_carrier_queue_length gauge\n"
                 "# HELP wisp_carrier_queue_length Tasks in its queue.\n");
  for (const CarrierRecord& c : s.carriers) {
    fmt::format_to(out, "wisp_carrier_queue_length{{carrier=\"{}\"}} {}\n", c.index,
                   c.queue_length);
  }
  States n = count_states(s);
  fmt::format_to(out,
                 "# TYPE wisp_tasks gauge\n# HELP wisp_tasks Tasks by state.\n"
                 "wisp_tasks{{state=\"running\"}} {}\nwisp_tasks{{state=\"native\"}} {}\n"
                 "wisp_tasks{{state=\"ready\"}} {}\nwisp_tasks{{state=\"parked\"}} {}\n",
                 n.running, n.native, n.ready, n.parked);
  fmt::format_to(out,
                 "# TYPE wisp_global_queue_length gauge\n"
                 "# HELP wisp_global_queue_length Tasks in the global queue.\n"
                 "wisp_global_queue_length {}\n",
                 s.head.global_queue);
  fmt::format_to(out,
                 "# TYPE wisp_kept_back_carriers gauge\n"
                 "# HELP wisp_kept_back_carriers Carriers that are not wanted at present.\n"
                 "wisp_kept_back_carriers {}\n",
                 s.head.kept_back_carriers);
  fmt::format_to(out,
                 "# TYPE wisp_tasks_created counter\n# HELP wisp_tasks_created Tasks created.\n"
                 "wisp_tasks_created_total {}\n",
                 s.head.tasks_created);
  fmt::format_to(out,
                 "# TYPE wisp_workers gauge\n# HELP wisp_workers Kernel threads for tasks.\n"
                 "wisp_workers {}\n",
                 s.workers.size());
  text += "# EOF\n";
  return text;
}

}  // namespace wisp
