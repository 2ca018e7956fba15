// Implementation of trace_phases.h.
#include "trace_phases.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "report_text.h"

namespace wisp {

const char* const kPhaseNames[kPhases] = {"first hand-off", "ramp-up", "full parallelism",
                                          "catch-up", "result hand-off"};

namespace {

constexpr size_t kMaxPools = 8;

struct Operation {
  std::array<double, kPhases> us;
  double workers;
  double total() const { return us[0] + us[1] + us[2] + us[3] + us[4]; }
};

// The name without the number at its end. Old JDKs cut a name before its number: then all workers
// have the same one.
std::string pool_of(const std::string& name) {
  return name.substr(0, name.find_last_not_of("0123456789") + 1);
}

class Pool {
 public:
  // Whether a worker's slice begins an operation: it was woken from outside while all rest; not
  // again by the same one for the same operation.
  bool begins(const FileSlice& slice, bool by_member) const {
    bool from_outside = slice.ready_us >= 0 && slice.waker != ~0u && !by_member;
    bool same = waits() && slice.waker == submitter;
    return from_outside && !same && slice.begin_us - slice.ready_us >= busy_until_us_;
  }
  // An earlier one that nobody has waited for is forgotten.
  void begin(const FileSlice& slice) {
    open = true;
    gave_up = false;
    submitter = slice.waker;
    submit_us = slice.begin_us - slice.ready_us;
    workers_ = {};
  }
  void worker_runs(const FileSlice& slice) {
    busy_until_us_ = std::max(busy_until_us_, slice.end_us);
    if (!open) return;
    auto [worker, fresh] = workers_.try_emplace(slice.task, Worker{slice.begin_us, slice.end_us});
    if (!fresh) worker->second.last_end = std::max(worker->second.last_end, slice.end_us);
  }
  // Woken by a worker: with the result.
  void submitter_runs(const FileSlice& slice) {
    open = false;
    double done = slice.begin_us - slice.ready_us;
    double first = done, all = submit_us, first_done = done;
    size_t count = 0;
    for (const auto& entry : workers_) {
      const Worker& worker = entry.second;
      if (worker.first_begin >= done) continue;  // came too late for anything
      count++;
      first = std::min(first, worker.first_begin);
      all = std::max(all, worker.first_begin);
      first_done = std::min(first_done, worker.last_end);
    }
    if (count == 0) return;
    first_done = std::max(first_done, all);  // one was done before the last began
    operations.push_back({{first - submit_us, all - first, first_done - all, done - first_done,
                           slice.begin_us - done},
                          static_cast<double>(count)});
  }
  bool waits() const { return open && !gave_up; }

  bool open = false;     // an operation is under way
  bool gave_up = false;  // its submitter was woken by a timer, or by somebody else
  uint32_t submitter = ~0u;
  double submit_us = 0;
  std::vector<Operation> operations;

 private:
  struct Worker {
    double first_begin, last_end;
  };
  double busy_until_us_ = 0;
  std::unordered_map<uint32_t, Worker> workers_;
};

// Takes the slices of all carriers in the order of time. Each goes to the pool of its task, and to
// those that its task waits for: one walk, however many pools there are.
class Pools {
 public:
  explicit Pools(const TraceFile& trace) {
    std::map<std::string, std::vector<uint32_t>> members;
    for (const auto& [task, name] : trace.names) {
      std::string pool = pool_of(name);
      if (!pool.empty()) members[std::move(pool)].push_back(task);
    }
    for (const auto& [name, tasks] : members) {
      if (tasks.size() < 2) continue;
      for (uint32_t task : tasks) pool_by_task_[task] = pools_.size();
      pools_.emplace_back(name, Pool());
    }
  }

  void add(const FileSlice& slice) {
    size_t own = find(slice.task), by = find(slice.waker);
    if (own != kNone) {
      Pool& pool = pools_[own].second;
      if (pool.begins(slice, by == own)) {
        forget(own);
        pool.begin(slice);
        waiting_[pool.submitter].emplace(pool.submit_us, own);
      }
      pool.worker_runs(slice);
    }
    if (slice.ready_us < 0) return;
    if (by != kNone) {
      Pool& pool = pools_[by].second;
      if (pool.open && pool.submitter == slice.task && slice.begin_us > pool.submit_us) {
        forget(by);
        pool.submitter_runs(slice);
      }
    }
    auto all = waiting_.find(slice.task);
    if (all == waiting_.end()) return;
    std::set<Waiting>& others = all->second;
    while (!others.empty() && others.begin()->first < slice.begin_us) {
      pools_[others.begin()->second].second.gave_up = true;
      others.erase(others.begin());
    }
  }

  std::vector<std::pair<std::string, Pool>>& all() { return pools_; }

 private:
  static constexpr size_t kNone = ~size_t{0};
  using Waiting = std::pair<double, size_t>;  // since when, for which pool

  size_t find(uint32_t task) const {
    auto found = pool_by_task_.find(task);
    return found == pool_by_task_.end() ? kNone : found->second;
  }
  void forget(size_t index) {
    const Pool& pool = pools_[index].second;
    if (pool.waits()) waiting_[pool.submitter].erase({pool.submit_us, index});
  }

  std::vector<std::pair<std::string, Pool>> pools_;  // by name
  std::unordered_map<uint32_t, size_t> pool_by_task_;
  std::unordered_map<uint32_t, std::set<Waiting>> waiting_;  // by submitter
};

PoolPhases means(const std::string& pool, std::vector<Operation> operations) {
  std::sort(operations.begin(), operations.end(),
            [](const Operation& a, const Operation& b) { return a.total() < b.total(); });
  size_t from = operations.size() / 4, to = std::max(from + 1, operations.size() * 3 / 4);
  PoolPhases result;
  result.pool = pool;
  result.operations = operations.size();
  auto n = static_cast<double>(to - from);
  for (size_t i = from; i < to; i++) {
    for (size_t phase = 0; phase < kPhases; phase++)
      result.us[phase] += operations[i].us[phase] / n;
    result.workers += operations[i].workers / n;
  }
  return result;
}

}  // namespace

std::vector<PoolPhases> pool_phases(const TraceFile& trace) {
  std::vector<const FileSlice*> order;
  order.reserve(trace.slices.size());
  for (const FileSlice& slice : trace.slices) order.push_back(&slice);
  std::stable_sort(order.begin(), order.end(),
                   [](auto* a, auto* b) { return a->begin_us < b->begin_us; });
  Pools pools(trace);
  for (const FileSlice* slice : order) pools.add(*slice);
  std::vector<PoolPhases> result;
  for (auto& [name, pool] : pools.all()) {
    if (!pool.operations.empty()) result.push_back(means(name, std::move(pool.operations)));
  }
  std::stable_sort(result.begin(), result.end(), [](const PoolPhases& a, const PoolPhases& b) {
    return a.operations > b.operations;
  });
  if (result.size() > kMaxPools) result.resize(kMaxPools);
  return result;
}

std::string phases_html(const TraceFile& trace) {
  constexpr const char* kColours[kPhases] = {"#ee6677", "#ccbb44", "#228833", "#66ccee", "#aa3377"};
  constexpr int kBar = 900;
  std::vector<PoolPhases> pools = pool_phases(trace);
  if (pools.empty()) return {};
  std::string text =
      "<h2>Operations of pools</h2>\n<p>From a task outside that wakes an idle pool until it runs "
      "again with the result; means over the middle half of the operations.</p>\n";
  auto to = std::back_inserter(text);
  text += "<table><tr><th>pool</th><th class=\"n\">operations</th><th class=\"n\">workers</th>";
  for (const char* phase : kPhaseNames) fmt::format_to(to, "<th class=\"n\">{}</th>", phase);
  text += "<th class=\"n\">sum</th></tr>\n";
  std::string bars;
  auto bar_to = std::back_inserter(bars);
  double longest = 1e-3;
  auto sum_of = [](const PoolPhases& p) { return p.us[0] + p.us[1] + p.us[2] + p.us[3] + p.us[4]; };
  for (const PoolPhases& p : pools) longest = std::max(longest, sum_of(p));
  for (size_t i = 0; i < pools.size(); i++) {
    const PoolPhases& p = pools[i];
    fmt::format_to(to, "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{:.1f}</td>",
                   html(p.pool), p.operations, p.workers);
    double from = 0;
    for (size_t phase = 0; phase < kPhases; phase++) {
      fmt::format_to(to, "<td class=\"n\">{}</td>", time_text(p.us[phase]));
      double width = kBar * p.us[phase] / longest;
      fmt::format_to(bar_to,
                     "<rect x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"16\" fill=\"{}\"/>\n",
                     120 + from, i * 22 + 2, width, kColours[phase]);
      from += width;
    }
    fmt::format_to(to, "<td class=\"n\">{}</td></tr>\n", time_text(sum_of(p)));
    fmt::format_to(bar_to, "<text x=\"0\" y=\"{}\">{}</text>\n", i * 22 + 14, html(p.pool));
  }
  fmt::format_to(to, "</table>\n<svg viewBox=\"0 0 1030 {}\" role=\"img\">\n{}</svg>\n",
                 pools.size() * 22 + 4, bars);
  text += "<p class=\"legend\">";
  for (size_t phase = 0; phase < kPhases; phase++)
    fmt::format_to(to, "<span><i style=\"background:{}\"></i>{}</span> ", kColours[phase],
                   kPhaseNames[phase]);
  text += "</p>\n";
  return text;
}

}  // namespace wisp
