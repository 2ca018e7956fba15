// A carrier is taken from the task that keeps it, and goes to a spare worker. SysMonitor's alone;
// when it does so is in sysmon.cpp and patience.h.
#include "platform/kernel.h"
#include "scheduler/internal.h"
#include "scheduler/lent.h"
#include "scheduler/placement.h"

namespace wisp {

// A spare worker for carrier c, made if there is none.
static void run_by_spare(Carrier* c) {
  if (Worker* w = g_scheduler.idle.take_spare(c)) {
    placement_before_hand_over(w);
    wake_worker(w, kRunCarrier);
    return;
  }
  if (!worker_start(c)) publish_with_work(c);  // refused: others will take it
}

static std::atomic<const WispTask*> g_looks_at{nullptr};
const WispTask* sysmon_looks_at() { return g_looks_at.load(std::memory_order_seq_cst); }

// The race with the task is explained in handoff.h.
static bool retake_kept(Carrier* c, WispTask* t) {
  Scheduler& s = g_scheduler;
  if (t->self->depth.load(std::memory_order_relaxed) != 0) return false;
  if (!t->handoff.move(HandOff::None, HandOff::Requested)) return false;
  kernel::membarrier();
  if (t->self->depth.load(std::memory_order_acquire) != 0 ||
      c->current.load(std::memory_order_acquire) != t || !lend(t)) {
    t->handoff.move(HandOff::Requested, HandOff::None);
    return false;
  }
  // The carrier is ours, its counters too: its task runs on without it.
  if (const Worker* w = c->worker)
    add(c->run_ticks, measured_cpu(w, ns_to_ticks(monotonic_ns() - c->patience.since_ns())));
  c->current.store(nullptr, std::memory_order_release);
  trace(c, TraceKind::Preempt, t);
  if (logs(LogKind::Preempt)) log_event(LogKind::Preempt, t, c);
  t->times_preempted.fetch_add(1, std::memory_order_relaxed);
  bump(c->preemptions);
  s.preemptions.fetch_add(1, std::memory_order_relaxed);
  s.handoffs.fetch_add(1, std::memory_order_relaxed);
  run_by_spare(c);
  return true;
}

bool retake(Carrier* c, WispTask* t) {
  g_looks_at.store(t, std::memory_order_seq_cst);
  bool taken = c->current.load(std::memory_order_seq_cst) == t && retake_kept(c, t);
  // release: our reads of the task's record are over.
  g_looks_at.store(nullptr, std::memory_order_release);
  return taken;
}

}  // namespace wisp
