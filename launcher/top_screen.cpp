// Implementation of top_screen.h.
#include "top_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stat_formats.h"
#include "text.h"

namespace wisp {
namespace {

using stats::TaskRecord;
using Style = TopLine::Style;

const char* order_word(TopOrder order) {
  switch (order) {
    case TopOrder::kCpu:
      return "processor time";
    case TopOrder::kWait:
      return "longest in its state";
    case TopOrder::kRuns:
      return "times run";
    case TopOrder::kSteals:
      return "steals";
    case TopOrder::kName:
      break;
  }
  return "name";
}

struct Row {
  const TaskRecord* task;
  uint64_t cpu_ns;  // since the earlier picture
  uint64_t runs;
};

std::vector<Row> rows_of(const Statistics& now, const Statistics* earlier, const TopView& view) {
  std::vector<Row> rows;
  for (const TaskRecord& task : now.tasks) {
    if (!view.filter.empty() && task_name(task).find(view.filter) == std::string::npos &&
        describe(now, task).find(view.filter) == std::string::npos) {
      continue;
    }
    Row row{&task, task.cpu_ns, task.times_run};
    if (earlier != nullptr) {
      auto was = std::lower_bound(earlier->tasks.begin(), earlier->tasks.end(), task.id,
                                  [](const TaskRecord& t, uint32_t id) { return t.id < id; });
      if (was != earlier->tasks.end() && was->id == task.id) {
        row.cpu_ns = task.cpu_ns > was->cpu_ns ? task.cpu_ns - was->cpu_ns : 0;
        row.runs = task.times_run > was->times_run ? task.times_run - was->times_run : 0;
      }
    }
    rows.push_back(row);
  }
  std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
    const Row& x = view.reversed ? b : a;
    const Row& y = view.reversed ? a : b;
    switch (view.order) {
      case TopOrder::kCpu:
        return x.cpu_ns > y.cpu_ns;
      case TopOrder::kWait:
        return x.task->since_ns < y.task->since_ns;
      case TopOrder::kRuns:
        return x.runs > y.runs;
      case TopOrder::kSteals:
        return x.task->times_stolen > y.task->times_stolen;
      case TopOrder::kName:
        break;
    }
    return task_name(*x.task) < task_name(*y.task);
  });
  return rows;
}

uint64_t total(const Statistics& s, uint64_t stats::CarrierRecord::*field) {
  uint64_t sum = 0;
  for (const stats::CarrierRecord& carrier : s.carriers) sum += carrier.*field;
  return sum;
}

std::string carrier_line(const Statistics& now, const Statistics* earlier, size_t i, size_t bar) {
  const stats::CarrierRecord& c = now.carriers[i];
  double busy = busy_share(now, earlier, i);
  auto filled = static_cast<size_t>(std::lround(busy * static_cast<double>(bar)));
  std::string runs = "-";
  for (const TaskRecord& task : now.tasks) {
    if (task.id == c.running) runs = task_name(task);
  }
  return fmt::format("{:>4} [{}{}] {:>3.0f}%  queue {:<4} {}", c.index, std::string(filled, '|'),
                     std::string(bar - filled, ' '), busy * 100, c.queue_length, runs);
}

}  // namespace

std::vector<TopLine> top_lines(const Statistics& now, const Statistics* earlier, TopView* view,
                               size_t width, size_t height) {
  std::vector<TopLine> lines;
  auto line = [&](const std::string& text, Style style = Style::kPlain) {
    if (lines.size() < height) lines.push_back({fit(text, width), style});
  };
  double seconds = std::max(0.001, seconds_between(now, earlier));
  auto rate = [&](uint64_t stats::CarrierRecord::*field) {
    uint64_t before = earlier != nullptr ? total(*earlier, field) : 0;
    uint64_t after = total(now, field);
    return static_cast<double>(after > before ? after - before : 0) / seconds;
  };
  size_t counts[5] = {}, native = 0;
  for (const TaskRecord& task : now.tasks) {
    counts[static_cast<size_t>(task.state)]++;
    if (task.handed_off && task.state == stats::State::Running) native++;
  }
  uint64_t up = now.up_ns();
  line(fmt::format("wisp top: JVM {}, up {}{}", now.pid, duration(up),
                   view->paused ? "  PAUSED" : ""),
       Style::kBold);
  line(fmt::format("tasks {}: {} running, {} native, {} ready, {} parked", now.head.tasks_alive,
                   counts[2] - native, native, counts[1] + counts[0], counts[3]));
  line(fmt::format(
      "per second: {:.0f} switches, {:.0f} parks, {:.0f} steals, {:.0f} hand-offs, {:.0f} "
      "preemptions, {:.0f} timeouts",
      rate(&stats::CarrierRecord::switches), rate(&stats::CarrierRecord::parks),
      rate(&stats::CarrierRecord::steals), rate(&stats::CarrierRecord::handoffs),
      rate(&stats::CarrierRecord::preemptions), rate(&stats::CarrierRecord::timeouts)));
  // With many carriers the tasks still get half of the screen.
  size_t shown =
      std::min(now.carriers.size(), std::max<size_t>(1, height > 12 ? height / 2 - 4 : 1));
  size_t bar = std::clamp<size_t>(width / 3, 4, 40);
  for (size_t i = 0; i < shown; i++) line(carrier_line(now, earlier, i, bar));
  if (shown < now.carriers.size()) {
    line(fmt::format("     ... and {} more carriers", now.carriers.size() - shown));
  }
  if (view->help) {
    line("");
    for (const char* text : {"c processor time   w longest in its state   r times run",
                             "s steals   n name   v reverse the order   / filter (Enter, Esc ends)",
                             "j k or arrows scroll   + - interval   p pause   h help   q quit"}) {
      line(text);
    }
  }
  std::vector<Row> rows = rows_of(now, earlier, *view);
  std::string how =
      fmt::format("by {}{}", order_word(view->order), view->reversed ? ", reversed" : "");
  if (view->typing) {
    line(fmt::format("filter: {}_", view->filter));
  } else if (!view->filter.empty()) {
    line(fmt::format("{} of {} tasks with '{}', {}", rows.size(), now.tasks.size(), view->filter,
                     how));
  } else {
    line(how);
  }
  line(fmt::format("{:>6} {:<15} {:<8} {:>9} {:>6} {:>9} {:>7} {:>7} {:>7}  {}", "TASK", "NAME",
                   "STATE", "FOR", "CPU", "RUNS", "STEAL", "PREEMPT", "HANDOFF", "WHERE"),
       Style::kReverse);
  size_t room = height > lines.size() ? height - lines.size() : 0;
  size_t most = rows.size() > room ? rows.size() - room : 0;
  if (view->scroll > most) view->scroll = most;
  for (size_t i = view->scroll; i < rows.size() && i < view->scroll + room; i++) {
    const TaskRecord& t = *rows[i].task;
    double cpu = static_cast<double>(rows[i].cpu_ns) / 1e9 / seconds * 100;
    line(fmt::format("{:>6} {:<15} {:<8} {:>9} {:>5.1f}% {:>9} {:>7} {:>7} {:>7}  {}", t.id,
                     task_name(t), t.handed_off ? "native" : state_word(t.state),
                     duration(time_in_state(now, t)), cpu, rows[i].runs, t.times_stolen,
                     t.times_preempted, t.times_handed_off, describe(now, t)));
  }
  return lines;
}

}  // namespace wisp
