// Switching: from a task to the next one, to the worker's idle loop, and from there to a task.
//
// Invariant: a task's stack and context are touched only by the worker for which on_cpu is set
// (on_cpu.h; SysMonitor trims what lies below the stack of a parked one). Who leaves a task cannot
// clear its on_cpu itself (it still stands on the stack): the flow it switches to does, as its
// first act (finish_switch).
//
// Two tasks that each leave for the other, on two workers, must not both wait for the other's
// on_cpu: so a task in this state is never waited for from a task's stack. The worker goes to its
// own stack first (which frees the task it leaves), and waits there.
#include "scheduler/internal.h"
#include "scheduler/lent.h"
#include "scheduler/own_thread.h"
#include "scheduler/pick.h"
#include "scheduler/task_tid.h"

namespace wisp {

// CPU time. A slice is charged as the clock on the wall shows it, which is free, as long as it is
// short: the kernel takes the processor away for milliseconds, not for microseconds. A longer slice
// may have been spent asleep in the kernel or waiting for the processor, so it is charged with what
// the kernel thread really used since it was last asked, less what other slices have had of that.
constexpr uint64_t kTrustedSliceUs = 300;

uint64_t measured_cpu(const Worker* w, uint64_t wall) {
  int tid = w->tid.load(std::memory_order_relaxed);  // 0: it has just ended
  uint64_t used = tid != 0 ? ns_to_ticks(kernel_thread_cpu_ns(tid)) : 0;
  uint64_t had =
      w->cpu_seen.load(std::memory_order_relaxed) + w->cpu_charged.load(std::memory_order_relaxed);
  uint64_t mine = used > had ? used - had : 0;
  return mine < wall ? mine : wall;
}

void forget_own_cpu(Worker* w) {
  w->cpu_seen.store(ns_to_ticks(kernel_thread_cpu_ns(w->tid.load(std::memory_order_relaxed))),
                    std::memory_order_relaxed);
  w->cpu_charged.store(0, std::memory_order_relaxed);
}

static WISP_NOINLINE uint64_t charge_long(Worker* w, uint64_t wall) {
  uint64_t mine = measured_cpu(w, wall);
  forget_own_cpu(w);
  return mine;
}

static inline void account(Worker* w, Carrier* c, WispTask* task, uint64_t now) {
  uint64_t slice = now - task->dispatched_at;
  if (WISP_UNLIKELY(slice > us_to_ticks(kTrustedSliceUs)))
    slice = charge_long(w, slice);
  else
    add(w->cpu_charged, slice);
  task->dispatched_at = now;  // from here it is off (account_wait)
  add(task->cpu_ticks, slice);
  uint64_t mean = task->slice_mean.load(std::memory_order_relaxed);
  task->slice_mean.store(mean - mean / 8 + slice / 8, std::memory_order_relaxed);
  if (WISP_LIKELY(c != nullptr)) add(c->run_ticks, slice);
}

void account_lent(WispTask* task, Carrier* c) {
  account(task->worker.load(std::memory_order_relaxed), c, task, ticks());
}

// How long it was off its carrier; and for the wakes that were stamped, how much of it in a queue.
static inline void account_wait(WispTask* task, Carrier* c, uint64_t now) {
  add(c->off_ticks, now - task->dispatched_at);
  bump(task->times_run);
  if (WISP_UNLIKELY(task->ready_at != 0)) {
    // Stamped on another processor, whose counter may be some ticks ahead.
    if (now > task->ready_at) {
      add(c->queued_ticks, now - task->ready_at);
      add(task->queued_ticks, now - task->ready_at);
    }
    bump(c->queued_samples);
    bump(task->queued_samples);
    task->ready_at = 0;
  }
}

// First act of a resumed flow: lets go of the task that was left.
static inline void finish_switch(void* left) {
  WispTask* prev = static_cast<WispTask*>(left);
  if (prev == nullptr) return;
  bool dead = prev->recycle_on_leave;
  prev->worker.store(nullptr, std::memory_order_relaxed);
  prev->on_cpu.leave();
  if (WISP_UNLIKELY(dead)) task_recycle(prev);
}

// A signal caught between two stacks was left with the worker: the flow that goes on from here
// delivers it when it leaves the runtime.
static inline void adopt_deferred(Worker* w) {
  if (WISP_UNLIKELY(w->deferred.load(std::memory_order_relaxed) != 0))
    thread_self().pending_signals.fetch_or(kDeferredMark, std::memory_order_relaxed);
}

static inline void prepare(Worker* w, Carrier* c, WispTask* t, uint64_t now) {
  t->on_cpu.enter();
  t->carrier = c;
  account_wait(t, c, now);
  t->dispatched_at = now;
  if (WISP_UNLIKELY(!t->handoff.is_none())) t->handoff.set(HandOff::None);
  // release: SysMonitor that sees c->current == t sees the words above.
  c->current.store(t, std::memory_order_release);
  bump(c->switches);
  w->current = t;
  t->worker.store(w, std::memory_order_relaxed);
  t->state.store(TaskState::Running, std::memory_order_relaxed);
  if (WISP_UNLIKELY(t->signal_mask != w->signal_mask)) {
    w->signal_mask = t->signal_mask;
    kernel::set_signal_mask(t->signal_mask);
  }
  if (memory_keys()) set_key_rights(t->key_rights);
}

WispTask* pick_next(Carrier* c) { return pick(c); }

// The wait that wakes nobody and costs nothing to those who never wake: how long after a wake does
// this task go on before it parks? announce_wake() uses it to decide whether a woken task can stay.
static inline void learn(WispTask* self, uint64_t now) {
  if (self->woke_at == 0) return;
  uint64_t d = now - self->woke_at;
  self->woke_at = 0;
  uint64_t cap = us_to_ticks(1000);
  if (d > cap) d = cap;
  self->wake_to_park += (d >> 2) - (self->wake_to_park >> 2);
}

// To `chosen`, or whoever's turn it is.
static inline void switch_out_to(WispTask* self, WispTask* chosen) {
  Worker* w = self->worker.load(std::memory_order_relaxed);
  Carrier* c = self->carrier;
  WispTask* next = nullptr;
  uint64_t now = ticks();
  if (WISP_LIKELY(c != nullptr)) {
    c->now = now;
    learn(self, now);
    next = chosen != nullptr ? chosen : pick(c);
    if (next == self) {  // woken before it has left: it never leaves
      bump(c->switches);
      self->state.store(TaskState::Running, std::memory_order_relaxed);
      return;
    }
  }
  account(w, c, self, now);
  if (memory_keys()) self->key_rights = key_rights();
  void* left;
  if (next != nullptr && WISP_LIKELY(next->on_cpu.may_enter())) {
    if (tracing()) trace_switch(c, self, next, now);
    prepare(w, c, next, now);
#if WISP_SWITCH_FS
    left = switch_context(&self->context, &next->context, next->tp, self);
#else
    set_thread_self(next->self);
    fiber_leave(&self->fiber, &next->fiber, false);
    left = switch_context(&self->context, &next->context, next->tp, self);
    fiber_enter(&self->fiber);
#endif
  } else {
    if (tracing()) trace_switch(c, self, nullptr, now);
    w->dispatch_next = next;
    w->current = nullptr;
    if (c != nullptr) c->current.store(nullptr, std::memory_order_release);
#if WISP_SWITCH_FS
    left = switch_context(&self->context, &w->native, w->native_tp, self);
#else
    set_thread_self(w->native_self);
    fiber_leave(&self->fiber, &w->fiber, false);
    left = switch_context(&self->context, &w->native, w->native_tp, self);
    fiber_enter(&self->fiber);
#endif
  }
  finish_switch(left);
  adopt_deferred(self->worker.load(std::memory_order_relaxed));
}

void switch_out(WispTask* self) { switch_out_to(self, nullptr); }
void switch_out_for(WispTask* self, WispTask* chosen) { switch_out_to(self, chosen); }

void run_task(Worker* w, Carrier* c, WispTask* task) {
  // On the worker's own stack it holds no task: waiting here cannot close a circle.
  for (Backoff backoff; !task->on_cpu.may_enter();) backoff.wait();
  c->now = ticks();
  if (tracing()) trace_switch(c, nullptr, task, c->now);
  prepare(w, c, task, c->now);
#if WISP_SWITCH_FS
  void* left = switch_context(&w->native, &task->context, task->tp, nullptr);
#else
  set_thread_self(task->self);
  fiber_leave(&w->fiber, &task->fiber, false);
  void* left = switch_context(&w->native, &task->context, task->tp, nullptr);
  fiber_enter(&w->fiber);
#endif
  finish_switch(left);
  adopt_deferred(w);
}

// ---- what the layers above call -------------------------------------------------------------

static inline void note_parked(WispTask* self) {
  self->state.store(TaskState::Parked, std::memory_order_relaxed);
  if (self->carrier != nullptr)
    bump(self->carrier->parks);
  else
    trim_parked_elsewhere();
}

// Somebody looks: the same, with a note of it.
static WISP_NOINLINE void park_observed(WispTask* self, uint64_t deadline_ns) {
  if (tracing()) self->left_by = TraceKind::Park;
  note_parked(self);
  uint64_t left = logs(LogKind::Park) ? ticks() : 0;
  if (waits_on_own_thread(self)) {
    wait_on_own_thread(self, deadline_ns);
  } else {
    if (deadline_ns != 0) timer_arm(self, deadline_ns);
    switch_out(self);
    if (deadline_ns != 0) timer_disarm(self);
  }
  if (tracing()) trace_stayed(self);
  if (left != 0) log_park(self, left);
}

void park_current(WispTask* self) {
  if (WISP_UNLIKELY(observed() != 0)) {
    park_observed(self, 0);
    return;
  }
  note_parked(self);
  switch_out(self);
}

void account_io_wait(WispTask* self, uint64_t left) {
  Carrier* c = self->carrier;
  if (c == nullptr) return;
  bump(c->io_waits);
  // Not so when it was woken before it had left.
  if (self->dispatched_at > left) add(c->io_wait_ticks, self->dispatched_at - left);
}

void park_current_until(WispTask* self, uint64_t deadline_ns) {
  if (WISP_UNLIKELY(observed() != 0)) {
    park_observed(self, deadline_ns);
    return;
  }
  timer_arm(self, deadline_ns);
  note_parked(self);
  switch_out(self);
  timer_disarm(self);
}

void yield_current(WispTask* self) {
  if (keeps_thread(self)) {
    yield_on_own_thread(self);
    return;
  }
  Carrier* c = self->carrier;
  if (WISP_UNLIKELY(c == nullptr)) {
    // Handed off: here it becomes a task again. (Going on as a plain thread until it parks would
    // leave two yielding tasks to the kernel for good: 2 M/s instead of 25.)
    if (lent_take_carrier(self->worker.load(std::memory_order_relaxed)) != nullptr) {
      c = self->worker.load(std::memory_order_relaxed)->carrier;
      account_lent(self, nullptr);
      self->carrier = c;
      self->handoff.set(HandOff::None);
      bump(c->switches);  // as in ~BlockingRegion: its tick begins anew
      c->current.store(self, std::memory_order_release);
      trace(c, TraceKind::Run, self);
    } else {
      leaves_ready(self);
      g_scheduler.global.push(self);
      announce_work();
      switch_out(self);
      return;
    }
  }
  bump(c->yields);
  if (!c->anything_queued() && c->next.load(std::memory_order_relaxed) == nullptr &&
      g_scheduler.global.empty()) {
    // An empty house: the yield is the kernel's, GC and compiler threads want the core, too. But
    // first what a timer or a descriptor has for us.
    c->now = ticks();
    if (!c->timer_check_due(c->now) && !poll_is_due(c)) {
      kernel::sched_yield();
      return;
    }
  }
  leaves_ready(self);
  push_local(c, self);
  switch_out(self);
}

// Runs on the new task's stack.
static void task_entry(void* left, void* user) {
  WispTask* self = static_cast<WispTask*>(user);
#if !WISP_SWITCH_FS
  fiber_enter(&self->fiber);
#endif
  finish_switch(left);
  bump(self->carrier->started);
  if (logs(LogKind::Start)) log_event(LogKind::Start, self, self->carrier);
  adopt_deferred(self->worker.load(std::memory_order_relaxed));
  ThreadSelf& me = thread_self();
  compiler_barrier();
  me.depth.store(0, std::memory_order_release);
  compiler_barrier();
  if (me.pending_signals.load(std::memory_order_relaxed) != 0) runtime_leave_slow(me);
  g_task_main(self);
  fatal("a task's main returned");
}

void task_arm_context(WispTask* task) {
  context_init(&task->context, stack_start(task->stack, task->block.low), &task_entry, task);
}

void exit_current(WispTask* self, void* result) {
  RuntimeEntry entry;
  self->result = result;
  if (tracing()) trace_end(self);
  if (logs(LogKind::End)) log_event(LogKind::End, self, self->carrier);
  if (self->carrier != nullptr)
    bump(self->carrier->completed);
  else
    g_scheduler.completed_elsewhere.fetch_add(1, std::memory_order_relaxed);
  self->state.store(TaskState::Dead, std::memory_order_relaxed);
  end_tid(self);
  // ptrace, ChangesThread: here, where it takes no carrier any more.
  self->stays_here = 0;
  if (own_threads_watched()) own_thread_over(self);
  if (WISP_UNLIKELY(self->cpu_timers != nullptr)) g_task_timers_end(self);
  self->recycle_on_leave = g_task_exiting(self);
  switch_out(self);
  fatal("a dead task ran");
}

}  // namespace wisp
