// A task without its carrier, by its own doing: while it blocks in the kernel.
#include "scheduler/internal.h"
#include "scheduler/lent.h"
#include "scheduler/own_thread.h"

namespace wisp {

void leave_carrier(WispTask* task) {
  Carrier* c = task->carrier;
  if (c == nullptr) return;
  Worker* w = task->worker.load(std::memory_order_relaxed);
  account_lent(task, c);
  trace(c, TraceKind::HandOff, task);
  task->carrier = nullptr;
  w->carrier = nullptr;
  task->handoff.set(HandOff::Taken);
  bump(c->handoffs);
  task->times_handed_off.fetch_add(1, std::memory_order_relaxed);
  c->current.store(nullptr, std::memory_order_release);
  give_away(c);
}

// With an idle carrier at hand the task is back for the price of a lock; otherwise it goes on as a
// plain thread until it next parks.
static void take_carrier(WispTask* task) {
  Worker* w = task->worker.load(std::memory_order_relaxed);
  if (task->carrier != nullptr || lent_take_carrier(w) == nullptr) return;
  Carrier* c = w->carrier;
  account_lent(task, nullptr);
  task->carrier = c;
  task->handoff.set(HandOff::None);
  bump(c->switches);  // its tick begins anew
  trace(c, TraceKind::Run, task);
  c->current.store(task, std::memory_order_release);
}

BlockingRegion::BlockingRegion() : task_(current_task()) {
  if (task_ == nullptr) return;
  ThreadSelf& me = thread_self();
  me.depth.fetch_add(1, std::memory_order_relaxed);
  compiler_barrier();
  if (!task_->handoff.is_none()) runtime_enter_slow(task_);
  task_->region_end.store(~0ull, std::memory_order_relaxed);
  if (logs(LogKind::HandOff)) began_ = ticks();
  leave_carrier(task_);
  compiler_barrier();
  uint32_t d = me.depth.fetch_sub(1, std::memory_order_relaxed) - 1;
  compiler_barrier();
  // A signal that came meanwhile was put off, and is blocked in the kernel until it is delivered:
  // it would not interrupt the call that follows, nor would the next ones.
  if (WISP_UNLIKELY(d == 0 && me.pending_signals.load(std::memory_order_relaxed) != 0))
    runtime_leave_slow(me);
}

BlockingRegion::~BlockingRegion() {
  if (task_ == nullptr) return;
  RuntimeEntry entry;
  if (!waits_on_own_thread(task_)) take_carrier(task_);
  task_->region_end.store(ticks(), std::memory_order_relaxed);
  if (WISP_UNLIKELY(began_ != 0)) log_event(LogKind::HandOff, task_, task_->carrier, began_);
}

}  // namespace wisp
