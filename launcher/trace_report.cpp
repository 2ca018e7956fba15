// The report of a trace: one page of HTML that prints well. Pictures are inline SVG.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <unordered_map>

#include "report_text.h"
#include "trace_file.h"
#include "trace_phases.h"

namespace wisp {
namespace {

using Out = std::back_insert_iterator<std::string>;

constexpr int kColumns = 480;
constexpr int kColumnWidth = 2;
constexpr int kLeft = 80, kRow = 34, kBar = 26;
constexpr size_t kTop = 20;
constexpr size_t kColoured = 8;
// Told apart in print and by most who see few colours; grey is for all others.
constexpr const char* kColours[kColoured] = {"#4477aa", "#ee6677", "#228833", "#ccbb44",
                                             "#66ccee", "#aa3377", "#ee8866", "#222222"};
constexpr char kOther[] = "#bbbbbb";

struct Busy {
  uint32_t task;
  double us = 0, longest_wait_us = 0;
  uint64_t slices = 0;
};

double first_us(const TraceFile& trace) {
  double first = trace.end_us;
  for (const FileSlice& s : trace.slices) first = std::min(first, s.begin_us);
  return first;
}

std::vector<Busy> busiest(const TraceFile& trace) {
  std::unordered_map<uint32_t, Busy> by_task;
  for (const FileSlice& s : trace.slices) {
    Busy& b = by_task[s.task];
    b.task = s.task;
    b.us += s.end_us - s.begin_us;
    b.longest_wait_us = std::max(b.longest_wait_us, s.ready_us);
    b.slices++;
  }
  std::vector<Busy> result;
  result.reserve(by_task.size());
  for (const auto& entry : by_task) result.push_back(entry.second);
  std::sort(result.begin(), result.end(), [](const Busy& a, const Busy& b) {
    return a.us != b.us ? a.us > b.us : a.task < b.task;
  });
  return result;
}

struct Column {
  double busy = 0;
  std::unordered_map<uint32_t, double> by_task;
};

// Of each carrier, what ran in each column of `width` microseconds from `first` on.
std::vector<std::vector<Column>> columns_of(const TraceFile& trace, double first, double width) {
  std::vector<std::vector<Column>> rows(trace.carriers, std::vector<Column>(kColumns));
  for (const FileSlice& s : trace.slices) {
    double from = (s.begin_us - first) / width, until = (s.end_us - first) / width;
    int column = std::clamp(static_cast<int>(from), 0, kColumns - 1);
    for (; column < kColumns && column < until; column++) {
      double part = std::min(until, column + 1.0) - std::max(from, static_cast<double>(column));
      if (part <= 0) continue;
      Column& c = rows[s.carrier][static_cast<size_t>(column)];
      c.busy += part;
      c.by_task[s.task] += part;
    }
  }
  return rows;
}

void timeline(Out to, const TraceFile& trace, const std::vector<Busy>& busy) {
  double first = first_us(trace);
  double width = std::max((trace.end_us - first) / kColumns, 1e-3);
  std::unordered_map<uint32_t, const char*> colours;
  for (size_t i = 0; i < busy.size() && i < kColoured; i++) colours[busy[i].task] = kColours[i];
  auto colour = [&](uint32_t task) {
    auto c = colours.find(task);
    return c == colours.end() ? kOther : c->second;
  };
  int height = static_cast<int>(trace.carriers) * kRow + 30;
  int right = kLeft + kColumns * kColumnWidth;
  fmt::format_to(to,
                 "<h2>Carriers</h2><p>Height: how much of the time the carrier ran something; "
                 "colour: what it ran most. A red veil: the garbage collector has stopped the "
                 "program.</p>\n<svg viewBox=\"0 0 {} {}\" role=\"img\">\n",
                 right + 10, height);
  std::vector<std::vector<Column>> rows = columns_of(trace, first, width);
  for (uint32_t carrier = 0; carrier < trace.carriers; carrier++) {
    int base = static_cast<int>(carrier) * kRow + kBar;
    fmt::format_to(to, "<text x=\"0\" y=\"{}\">carrier {}</text>\n", base - 8, carrier);
    for (int i = 0; i < kColumns; i++) {
      const Column& c = rows[carrier][static_cast<size_t>(i)];
      if (c.by_task.empty()) continue;
      auto most = std::max_element(c.by_task.begin(), c.by_task.end(), [](auto& a, auto& b) {
        return a.second != b.second ? a.second < b.second : a.first > b.first;
      });
      double bar = std::max(0.5, kBar * std::min(1.0, c.busy));
      fmt::format_to(to,
                     "<rect x=\"{}\" y=\"{:.1f}\" width=\"{}.5\" height=\"{:.1f}\" fill=\"{}\"/>\n",
                     kLeft + i * kColumnWidth, base - bar, kColumnWidth, bar, colour(most->first));
    }
    fmt::format_to(to, "<path d=\"M{} {}H{}\" stroke=\"#888\"/>\n", kLeft, base, right);
  }
  for (const auto& [begin, end] : trace.pauses) {
    double x = std::clamp((begin - first) / width, 0.0, kColumns * 1.0);
    double w = std::clamp((end - begin) / width, 0.5, kColumns - x + 0.5);
    fmt::format_to(to,
                   "<rect x=\"{:.1f}\" y=\"0\" width=\"{:.1f}\" height=\"{}\" fill=\"#ff0000\" "
                   "opacity=\"0.25\"/>\n",
                   kLeft + x * kColumnWidth, w * kColumnWidth, height - 26);
  }
  for (int i = 0; i <= 4; i++) {
    fmt::format_to(to, "<text x=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>\n",
                   kLeft + i * (right - kLeft) / 4, height - 8,
                   i == 0   ? "start"
                   : i == 4 ? "end"
                            : "middle",
                   i == 0 ? "0" : time_text(i * width * kColumns / 4));
  }
  fmt::format_to(to, "</svg>\n<p class=\"legend\">");
  for (size_t i = 0; i < busy.size() && i < kColoured; i++) {
    fmt::format_to(to, "<span><i style=\"background:{}\"></i>{}</span> ", kColours[i],
                   html(name_of(trace, busy[i].task)));
  }
  if (busy.size() > kColoured)
    fmt::format_to(to, "<span><i style=\"background:{}\"></i>others</span>", kOther);
  fmt::format_to(to, "</p>\n");
}

void latencies(Out to, const TraceFile& trace) {
  constexpr int kBuckets = 22;  // below 1 us, 1 to 2, 2 to 4, ... above 1 s
  std::vector<double> waits;
  size_t bounds = 0;
  for (const FileSlice& s : trace.slices)
    if (s.ready_us >= 0) {
      waits.push_back(s.ready_us);
      bounds += s.ready_at_most && s.ready_us >= 1 ? 1 : 0;
    }
  fmt::format_to(to, "<h2>From ready to running</h2>\n");
  if (waits.empty()) {
    fmt::format_to(to, "<p>No wake-up in this trace.</p>\n");
    return;
  }
  std::sort(waits.begin(), waits.end());
  auto at = [&](double part) {
    return time_text(waits[static_cast<size_t>(part * static_cast<double>(waits.size() - 1))]);
  };
  uint64_t counts[kBuckets] = {};
  for (double w : waits)
    counts[w < 1 ? 0 : std::min(kBuckets - 1, 1 + static_cast<int>(std::log2(w)))]++;
  int last = kBuckets - 1;
  while (last > 0 && counts[last] == 0) last--;
  uint64_t most = *std::max_element(counts, counts + kBuckets);
  fmt::format_to(to,
                 "<p>{} wake-ups: median {}, 90 % within {}, 99 % within {}, longest {}. {}</p>\n"
                 "<svg viewBox=\"0 0 1050 {}\" role=\"img\">\n",
                 waits.size(), at(0.5), at(0.9), at(0.99), at(1),
                 bounds == 0
                     ? ""
                     : fmt::format("Of {} the wait, 1 us or more, is an upper bound: it counts "
                                   "from the begin of the waker's slice.",
                                   bounds),
                 (last + 1) * 18 + 4);
  for (int i = 0; i <= last; i++) {
    double length = 700.0 * static_cast<double>(counts[i]) / static_cast<double>(most);
    double us = std::exp2(i - 1);
    std::string from = i == 0      ? "below 1 us"
                       : us < 1000 ? fmt::format("from {:.0f} us", us)
                                   : fmt::format("from {:.3g} ms", us / 1000);
    fmt::format_to(to,
                   "<text x=\"110\" y=\"{}\" text-anchor=\"end\">{}</text><rect x=\"120\" y=\"{}\" "
                   "width=\"{:.1f}\" height=\"14\" fill=\"#4477aa\"/><text x=\"{:.1f}\" "
                   "y=\"{}\">{}</text>\n",
                   i * 18 + 13, from, i * 18 + 2, length, 126 + length, i * 18 + 13, counts[i]);
  }
  fmt::format_to(to, "</svg>\n");
}

void who_woke_whom(Out to, const TraceFile& trace) {
  struct Pair {
    uint64_t count = 0;
    double wait_us = 0;
  };
  std::map<std::pair<std::string, std::string>, Pair> pairs;
  for (const FileSlice& s : trace.slices) {
    if (s.ready_us < 0) continue;
    std::string by = s.waker != ~0u                       ? name_of(trace, s.waker)
                     : s.woken_by[0] == 'i'               ? "(input or output)"
                     : s.woken_by == std::string("timer") ? "(timer)"
                                                          : "(a thread that is no task)";
    Pair& p = pairs[{by, name_of(trace, s.task)}];
    p.count++;
    p.wait_us += s.ready_us;
  }
  std::vector<std::pair<std::pair<std::string, std::string>, Pair>> order(pairs.begin(),
                                                                          pairs.end());
  std::stable_sort(order.begin(), order.end(),
                   [](auto& a, auto& b) { return a.second.count > b.second.count; });
  fmt::format_to(to,
                 "<h2>Who woke whom</h2>\n<table><tr><th>waker</th><th>woken</th><th "
                 "class=\"n\">times</th><th class=\"n\">mean wait</th></tr>\n");
  for (size_t i = 0; i < order.size() && i < kTop; i++) {
    const auto& [names, p] = order[i];
    fmt::format_to(
        to, "<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
        html(names.first), html(names.second), p.count,
        time_text(p.wait_us / static_cast<double>(p.count)));
  }
  fmt::format_to(to, "</table>\n");
}

void busy_table(Out to, const TraceFile& trace, const std::vector<Busy>& busy) {
  double all = 0;
  for (const Busy& b : busy) all += b.us;
  fmt::format_to(to,
                 "<h2>Busiest tasks</h2>\n<table><tr><th>task</th><th class=\"n\">id</th><th "
                 "class=\"n\">ran</th><th class=\"n\">share</th><th class=\"n\">slices</th><th "
                 "class=\"n\">mean slice</th><th class=\"n\">longest wait</th></tr>\n");
  for (size_t i = 0; i < busy.size() && i < kTop; i++) {
    const Busy& b = busy[i];
    fmt::format_to(to,
                   "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
                   "class=\"n\">{:.1f} %</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
                   "class=\"n\">{}</td></tr>\n",
                   html(name_of(trace, b.task)), b.task, time_text(b.us),
                   all > 0 ? 100 * b.us / all : 0.0, b.slices,
                   time_text(b.us / static_cast<double>(b.slices)), time_text(b.longest_wait_us));
  }
  fmt::format_to(to, "</table>\n");
}

constexpr char kStyle[] =
    "body{font:14px/1.4 sans-serif;max-width:1050px;margin:2em auto;padding:0 1em;color:#111}"
    "h1{font-size:1.5em}h2{font-size:1.15em;margin-top:1.8em;break-after:avoid}"
    "svg{width:100%;height:auto;font:12px sans-serif;break-inside:avoid}"
    "table{border-collapse:collapse;width:100%}tr{break-inside:avoid}"
    "td,th{padding:2px 10px 2px 0;text-align:left;border-bottom:1px solid #ddd}"
    ".n{text-align:right;font-variant-numeric:tabular-nums}"
    ".legend span{margin-right:1.2em;white-space:nowrap}"
    ".legend i{display:inline-block;width:.9em;height:.9em;margin-right:.4em}"
    "*{print-color-adjust:exact;-webkit-print-color-adjust:exact}"
    "@media print{body{margin:0;max-width:none;font-size:11px}}@page{margin:15mm}";

}  // namespace

std::string trace_report(const TraceFile& trace) {
  std::string text;
  Out to = std::back_inserter(text);
  std::string title = html(trace.program.empty() ? "Trace" : trace.program);
  fmt::format_to(to,
                 "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{} - "
                 "wisp trace</title><style>{}</style></head><body>\n<h1>{}</h1>\n",
                 title, kStyle, title);
  std::vector<Busy> busy = busiest(trace);
  fmt::format_to(to, "<p>{} carriers, {} tasks ran, {} slices in {}", trace.carriers, busy.size(),
                 trace.slices.size(), time_text(trace.end_us - first_us(trace)));
  if (trace.lost != 0) fmt::format_to(to, "; {} earlier events were overwritten", trace.lost);
  fmt::format_to(to, ".");
  for (const char* what : {"steal", "hand-off", "preempt", "timer", "io ready", "task start"}) {
    auto n = trace.instants.find(what);
    if (n != trace.instants.end()) fmt::format_to(to, " {}: {}.", what, n->second);
  }
  if (!trace.pauses.empty()) {
    double sum = 0, longest = 0;
    for (const auto& [begin, end] : trace.pauses) {
      sum += end - begin;
      longest = std::max(longest, end - begin);
    }
    fmt::format_to(to, " Pauses of the garbage collector: {}, {} in all, longest {}.",
                   trace.pauses.size(), time_text(sum), time_text(longest));
  }
  fmt::format_to(to, "</p>\n");
  if (trace.slices.empty()) {
    fmt::format_to(to, "<p>Nothing ran while this was recorded.</p>\n");
  } else {
    timeline(to, trace, busy);
    text += phases_html(trace);
    latencies(to, trace);
    who_woke_whom(to, trace);
    busy_table(to, trace, busy);
  }
  text += "</body></html>\n";
  return text;
}

}  // namespace wisp
