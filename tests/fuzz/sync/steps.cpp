// The driver's steps.
#include "sync/steps.h"

#include <stdarg.h>
#include <stdio.h>

#include <algorithm>

#include "sync/kernel_threads.h"

namespace steps {

World* g_world = nullptr;

Worker* World::waiting(const std::string& as) {
  for (Worker& w : workers)
    if (w.busy() && w.current.waits_as == as) return &w;
  return nullptr;
}
int World::count_waiting(const std::string& as) {
  int n = 0;
  for (Worker& w : workers) n += w.busy() && w.current.waits_as == as;
  return n;
}
int World::count_busy() {
  int n = 0;
  for (Worker& w : workers) n += w.busy();
  return n;
}
Worker* World::idle_worker() {
  std::vector<Worker*> list;
  for (Worker& w : workers)
    if (w.idle()) list.push_back(&w);
  return list.empty() ? nullptr : list[random.below(static_cast<int>(list.size()))];
}
Worker* World::any_living() {
  std::vector<Worker*> list;
  for (Worker& w : workers)
    if (w.idle() || w.busy()) list.push_back(&w);
  return list.empty() ? nullptr : list[random.below(static_cast<int>(list.size()))];
}

void World::log(const char* f, ...) {
  char text[1024];
  va_list list;
  va_start(list, f);
  int n = vsnprintf(text, sizeof text - 1, f, list);
  va_end(list);
  n = std::min<int>(n, sizeof text - 2);
  text[n++] = '\n';
  for (int at = 0; at < n;) {
    ssize_t r = write(1, text + at, n - at);
    if (r > 0) at += r;
  }
}

// What has happened since the last look. True: something.
bool World::collect() {
  bool some = false;
  for (Worker& w : workers) {
    for (std::string& line : w.events.take()) {
      log("  w%d %s", w.index, line.c_str());
      some = true;
    }
    if (w.state.load() == State::Done) {
      some = true;
      std::string text = w.result.rc == -1 && w.result.error != 0 ? error_name(w.result.error)
                         : w.result.error != 0                    ? error_name(w.result.error)
                                                                  : format("%ld", w.result.rc);
      log("  w%d %s = %s%s%s", w.index, w.current.name.c_str(), text.c_str(),
          w.result.note.empty() ? "" : " ", w.result.note.c_str());
      w.state.store(State::Idle);
      if (w.current.after) w.current.after(w, w.result);
    }
  }
  for (std::string& line : elsewhere.take()) {
    log("  elsewhere %s", line.c_str());
    some = true;
  }
  return some;
}

// Whether the kernel has nothing to run in this process but who computes, and us.
bool World::all_asleep() {
  int may_run = 1;
  for (Worker& w : workers)
    may_run += w.busy() && (w.current.waits_as == "compute" || w.current.waits_as == "spin");
  return runnable_threads() <= may_run;
}

// Polls until `w` is done, and then, unless nobody else is concerned, until nothing has happened
// for a while. Looks at which threads wait for a processor do not count.
void World::settle(Worker* w, const std::function<bool()>& expects) {
  bool alone = w != nullptr && !w->current.touches_others && count_busy() == 1;
  int quiet = 0, seen = -1;
  uint64_t began = now_ns(CLOCK_MONOTONIC);
  while (quiet < settle_ms) {
    int happened = elsewhere.count();
    for (Worker& each : workers)
      happened += each.events.count() + 100 * (each.state.load() != State::Given);
    if (happened != seen) quiet = 0;
    seen = happened;
    if (alone && w->state.load() == State::Done) return;
    timespec t{0, alone ? 200000 : 1000000};
    nanosleep(&t, nullptr);
    uint64_t waited = now_ns(CLOCK_MONOTONIC) - began;
    if (w != nullptr && w->current.ends_by_itself && w->busy()) {
      quiet = 0;
      if (waited < 20000000000u) continue;
      collect();
      for (Worker& each : workers)
        if (each.busy()) log("  w%d hangs in %s", each.index, each.current.name.c_str());
      _exit(3);
    }
    if (waited > 5000000000u || ((!expects || expects()) && all_asleep())) ++quiet;
  }
}

void World::give(Worker* w, Op op) {
  ++step;
  log("%d %s%s %s", step, w != nullptr ? "w" : "driver",
      w != nullptr ? format("%d", w->index).c_str() : "", op.name.c_str());
  if (w == nullptr) {
    static Worker driver;
    Result r = op.body(driver);
    log("  = %s%s%s", r.error != 0 ? error_name(r.error).c_str() : format("%ld", r.rc).c_str(),
        r.note.empty() ? "" : " ", r.note.c_str());
    if (op.after) op.after(driver, r);
    settle(nullptr, op.expects);
  } else {
    w->current = std::move(op);
    w->op = &w->current;
    tell_worker(*w);
    settle(w, w->current.expects);
  }
  while (collect()) {
  }
  // Who has ended in this step may have been joined in it.
  for (Worker& each : workers) {
    State state = each.state.load();
    if (each.end_seen || (state != State::Ended && state != State::Gone)) continue;
    each.end_seen = true;
    for (auto& tell : when_ended) tell(each.index);
  }
}

}  // namespace steps
