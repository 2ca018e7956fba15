// See stalls.h. Workers and tasks are never freed. Their words are read one by one while they
// change: a wrong mixture is seen once and gone at the next look, and a stall, which by definition
// does not change, is never mixed.
#include "observe/stalls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "observe/peek.h"
#include "observe/statistics_layout.h"
#include "platform/proc.h"
#include "scheduler/task_tid.h"

namespace wisp::stats {
namespace {

void ask_kernel(Stall* stall) {
  char text[256];
  stall->system_call = -1;
  if (read_proc(stall->worker_tid, "stat", text, sizeof text)) {
    const char* end = strrchr(text, ')');  // of the name
    if (end != nullptr && end[1] == ' ') stall->kernel_state = end[2];
  }
  // "running", or the number of the call and more.
  if (stall->kernel_state != 'R' && read_proc(stall->worker_tid, "syscall", text, sizeof text) &&
      text[0] >= '0' && text[0] <= '9')
    stall->system_call = static_cast<int>(strtol(text, nullptr, 10));
}

struct Sight {
  const WispTask* task;
  uint64_t dispatched_at, progress, region_end;
  bool has_carrier;
  uint32_t carrier;
};

Sight look(const Worker& w) {
  Sight s{};
  s.task = peek(w.current);
  if (s.task == nullptr) return s;
  s.dispatched_at = peek(s.task->dispatched_at);
  s.region_end = s.task->region_end.load(std::memory_order_relaxed);
  s.carrier = kNone;
  Carrier* c = peek(w.carrier);
  // After SysMonitor took the carrier the worker still names it, but another task runs there.
  if (c != nullptr && c->current.load(std::memory_order_relaxed) == s.task) {
    s.has_carrier = true;
    s.carrier = c->index;
    // A task that yields and finds itself alone goes on without a dispatch.
    s.progress =
        c->switches.load(std::memory_order_relaxed) + c->yields.load(std::memory_order_relaxed);
  }
  return s;
}

bool same(const Worker& w, const Sight& s) {
  return w.stall.task == s.task && w.stall.dispatched_at == s.dispatched_at &&
         // Without a carrier there is no count; it may have lost it since the last look.
         (!s.has_carrier || (w.stall.had_carrier && w.stall.progress == s.progress));
}

Stall stall_of(const Worker& w, const WispTask* task, uint32_t carrier, uint64_t now) {
  Stall stall{};
  stall.task = task;
  stall.tid = peek(task->tid);
  stall.id = task_number(stall.tid);
  stall.java_id = peek(task->java_id);
  stall.runs = task->times_run.load(std::memory_order_relaxed);
  stall.carrier = carrier;
  stall.system_call = -1;
  stall.worker_tid = w.tid.load(std::memory_order_relaxed);
  stall.since = w.stall.since;
  stall.held_ns = ticks_to_ns(now - w.stall.since);
  stall.cpu_ns = kernel_thread_cpu_ns(stall.worker_tid) - w.stall.cpu_ns;
  for (size_t i = 0; i + 1 < sizeof stall.name; ++i) stall.name[i] = peek(task->name[i]);
  return stall;
}

void note(Worker* w, const Sight& s) {
  w->stall.task = s.task;
  w->stall.dispatched_at = s.dispatched_at;
  w->stall.progress = s.progress;
  w->stall.had_carrier = s.has_carrier;
}

// The stall has been told of. Its task may be on another worker by now, because it was looked at.
// False: it has moved on.
bool follow(const Stall& stall) {
  for (int i = 0; i < 20; ++i) {
    if (stall_moved_on(stall)) return false;
    Worker* w = stall.task->worker.load(std::memory_order_relaxed);
    if (w != nullptr) {
      Sight s = look(*w);
      if (s.task == stall.task) {
        note(w, s);
        w->stall.since = stall.since;
        w->stall.cpu_ns = kernel_thread_cpu_ns(w->tid.load(std::memory_order_relaxed));
        w->stall.reported = true;
        return true;
      }
    }
    timespec rest{0, 200'000};
    kernel::call(SYS_nanosleep, reinterpret_cast<long>(&rest), 0);
  }
  return false;
}

void tell_over(Stall* stall, StallFound found, void* context) {
  stall->over = true;
  stall->held_ns = ticks_to_ns(ticks() - stall->since);
  found(*stall, context);
}

void scan(Worker* w, uint64_t threshold_ns, uint64_t from, StallFound found, void* context) {
  Sight s = look(*w);
  auto& notes = w->stall;
  uint64_t now = ticks();
  bool goes_on = s.task != nullptr && same(*w, s);
  if (notes.reported && (!goes_on || s.region_end == ~0ull)) {
    Stall stall = stall_of(*w, notes.task, s.carrier, now);
    tell_over(&stall, found, context);
    notes.reported = false;
  }
  if (s.task == nullptr) {
    notes.task = nullptr;
    return;
  }
  if (!goes_on) {
    // A yield without a dispatch leaves the older stamp.
    bool yielded = s.dispatched_at == notes.dispatched_at && s.task == notes.task;
    notes.since = yielded ? now : s.dispatched_at;
    notes.cpu_ns = kernel_thread_cpu_ns(w->tid.load(std::memory_order_relaxed));
  }
  note(w, s);
  if (s.region_end == ~0ull) {  // it blocks, and has said so
    notes.since = now;
    return;
  }
  if (notes.since < s.region_end) notes.since = s.region_end;
  if (notes.since < from) notes.since = from;
  if (notes.reported || now <= notes.since || now - notes.since < ns_to_ticks(threshold_ns)) return;
  Stall stall = stall_of(*w, s.task, s.carrier, now);
  ask_kernel(&stall);
  bool sleeps = stall.kernel_state == 'S' || stall.kernel_state == 'D';
  if (!sleeps && stall.cpu_ns < threshold_ns / 2) return;
  Sight again = look(*w);
  if (again.task != s.task || !same(*w, again)) return;
  found(stall, context);
  if (!follow(stall)) tell_over(&stall, found, context);
}

}  // namespace

bool stall_moved_on(const Stall& stall) {
  return peek(stall.task->tid) != stall.tid ||
         stall.task->times_run.load(std::memory_order_relaxed) > stall.runs + kRunsByLooking;
}

void stalls_scan(uint64_t threshold_ns, uint64_t from, StallFound found, void* context) {
  Worker* w = g_scheduler.all_workers.load(std::memory_order_acquire);
  for (; w != nullptr; w = w->all_next) scan(w, threshold_ns, from, found, context);
}

}  // namespace wisp::stats
