// See lent.h. Raw system calls: setpriority is interposed, and its errors would go to errno.
//
// SysMonitor lowers the weight of another thread, which may be about to run something else. Both
// sides hold the worker's weight_lock: SysMonitor while it sees the thread still lent (lent_to) and
// adds to its nice value; the thread, before it runs anything else, while it clears lent_to and
// takes away what was added.
#include "scheduler/lent.h"

#include <sys/resource.h>

#include <algorithm>

#include "platform/kernel.h"
#include "scheduler/internal.h"
#include "scheduler/own_thread.h"
#include "scheduler/placement.h"

namespace wisp {

namespace {

constexpr uint64_t kComputesNs = 4 * 1000 * 1000;  // processor time from which on a task computes
constexpr uint64_t kEveryNs = 5 * 1000 * 1000;     // between two settings
constexpr uint32_t kMost = 64;                     // threads; further ones keep their weight
constexpr int kLightest = 19;                      // nice(1)
// The first setting is worth so many steps: for as many computing tasks as there happen to be,
// which queue only until each is handed off, nothing is to change.
constexpr int kFirst = 4;

// SysMonitor's notes.
struct Lent {
  Worker* worker;
  int tid;  // of the kernel thread: the Worker may get another one
  const WispTask* task;
  uint64_t runs;                 // times_run of the task: the same while it has not left
  uint64_t lent_at_ns, seen_ns;  // processor time of the kernel thread: when lent, at the last look
};
Lent g_lent[kMost];
uint32_t g_count = 0;
uint64_t g_queued = 0;  // tasks in queues, average over the last looks, in 1/256
uint64_t g_next_ns = 0;

// For certain only under the worker's weight_lock.
bool still(const Lent& l) {
  return l.worker->lent_to.load(std::memory_order_relaxed) == l.task &&
         l.task->times_run.load(std::memory_order_relaxed) == l.runs;
}

// getpriority(2): the raw call answers 20 - nice. A nice value is a thread's own to Linux, the
// first one's as well.
int nice_of_process() {
  return 20 - static_cast<int>(kernel::call(SYS_getpriority, PRIO_PROCESS, bound_as_process()));
}

bool set_nice(int tid, int value) {
  return kernel::call(SYS_setpriority, PRIO_PROCESS, tid, value) == 0;
}

// A carrier's queue and the task it runs share one thread's weight, so one of them has weight / n:
// the smallest number of steps that makes it at most that.
int steps_for(uint64_t queued_256, uint32_t carriers) {
  uint64_t n = 256 + queued_256 / carriers, weight = 256;
  int steps = 0;
  for (; steps < kLightest && weight < n; ++steps) weight += weight / 4;
  return steps;
}

// True: it is lighter now, and can get its weight back.
bool set_weight(const Lent& l, int base, int added) {
  Worker* w = l.worker;
  SpinGuard guard(w->weight_lock);
  if (!still(l) || l.task->full_weight.load(std::memory_order_relaxed) != 0) return false;
  // It could not give the weight back by leaving its kernel thread.
  if (w->stays.load(std::memory_order_relaxed) || own_threads_watched()) return false;
  int now = w->nice_added.load(std::memory_order_relaxed);
  if (base + added > kLightest) added = kLightest - base;
  if (now == 0 && added < kFirst) return false;
  // One step is not worth a call, but for the last one.
  if (added - now < 2 && now - added < (added == 0 ? 1 : 2)) return now != 0;
  if (!set_nice(l.tid, base + added)) return false;  // upwards, and not privileged
  w->nice_added.store(added, std::memory_order_relaxed);
  return added != 0;
}

void count_queued() {
  Scheduler& s = g_scheduler;
  uint64_t n = s.global.size();
  for (uint32_t i = 0; i < s.carrier_count; ++i) n += s.carriers[i].queued();
  g_queued = (g_queued * 15 + n * 256) / 16;
}

}  // namespace

bool lend(WispTask* task) {
  Worker* w = task->worker.load(std::memory_order_relaxed);
  if (w == nullptr) return false;
  {
    // The task's next step as a lent one, lent_over, waits for this lock.
    SpinGuard guard(w->weight_lock);
    if (!task->handoff.move(HandOff::Requested, HandOff::Taken)) return false;
    w->lent_to.store(task, std::memory_order_relaxed);
  }
  int tid = w->tid.load(std::memory_order_relaxed);
  uint64_t cpu_ns = kernel_thread_cpu_ns(tid);
  Lent note{w, tid, task, task->times_run.load(std::memory_order_relaxed), cpu_ns, cpu_ns};
  // The task may have come back to a carrier and lost it again without a switch in between.
  Lent* end = g_lent + g_count;
  Lent* mine = std::find_if(g_lent, end, [w](const Lent& l) { return l.worker == w; });
  if (mine == end && g_count == kMost) return true;
  if (mine == end) ++g_count;
  *mine = note;
  return true;
}

LentLook lent_look(uint64_t now_ns) {
  static LentLook last;
  if (g_count == 0) {
    g_queued = 0;
    return last = LentLook{};
  }
  count_queued();
  if (now_ns < g_next_ns) return last;
  g_next_ns = now_ns + kEveryNs;
  last = LentLook{};
  int base = nice_of_process(), added = steps_for(g_queued, g_scheduler.carrier_count);
  for (uint32_t i = 0; i < g_count;) {
    Lent& l = g_lent[i];
    if (!still(l)) {
      l = g_lent[--g_count];
      continue;
    }
    uint64_t cpu_ns = kernel_thread_cpu_ns(l.tid);
    if (cpu_ns - l.lent_at_ns > kComputesNs) last.lighter |= set_weight(l, base, added);
    last.computing |= cpu_ns != l.seen_ns;
    l.seen_ns = cpu_ns;
    ++i;
  }
  return last;
}

// Under the weight_lock.
static bool take_away_added(Worker* w) {
  if (w->nice_added.load(std::memory_order_relaxed) == 0) return true;
  if (!set_nice(w->tid.load(std::memory_order_relaxed), nice_of_process())) return false;
  w->nice_added.store(0, std::memory_order_relaxed);
  return true;
}

bool lent_over(Worker* w) {
  SpinGuard guard(w->weight_lock);
  w->lent_to.store(nullptr, std::memory_order_relaxed);
  return take_away_added(w);
}

// It may stay lent, and be made lighter again.
static bool own_weight(Worker* w) {
  if (w->nice_added.load(std::memory_order_relaxed) == 0) return true;
  SpinGuard guard(w->weight_lock);
  return take_away_added(w);
}

Carrier* lent_take_carrier(Worker* w) {
  Scheduler& s = g_scheduler;
  if (s.idle.idle() == 0) return nullptr;
  if (!own_weight(w)) return nullptr;
  Carrier* c = s.idle.take_carrier(w);
  if (c == nullptr) return nullptr;
  c->busy.begin(ticks());
  if (lent_over(w)) return c;
  w->carrier = nullptr;  // SysMonitor was at it meanwhile
  give_away(c);
  return nullptr;
}

void FullWeight::begin(WispTask* self) {
  // The program never forks inside the runtime; a crash there may (-XX:OnError).
  bool inside = self->self->depth.load(std::memory_order_relaxed) != 0;
  RuntimeEntry entry;
  // Before the lock: SysMonitor, who adds to the weight under it, sees this there or was there
  // first.
  self->full_weight.store(self->full_weight.load(std::memory_order_relaxed) + 1,
                          std::memory_order_relaxed);
  for (;;) {
    Worker* w = self->worker.load(std::memory_order_relaxed);
    {
      SpinGuard guard(w->weight_lock);
      if (take_away_added(w) || inside) return;
    }
    // Made lighter before that was known, and it cannot leave.
    if (own_threads_watched() || self->stays_here != 0) return;
    yield_current(self);  // refused: on another kernel thread, then; this one ends
  }
}

void FullWeight::end(WispTask* self) {
  self->full_weight.store(self->full_weight.load(std::memory_order_relaxed) - 1,
                          std::memory_order_relaxed);
}

}  // namespace wisp
