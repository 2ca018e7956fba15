// See own_thread.h.
//
// own_wake: kWoken is set by who wakes the task, kLook by a signal handler on the very kernel
// thread. The word changes with either, so a futex wait that begins behind it does not sleep.
#include "scheduler/own_thread.h"

#include <signal.h>

#include "scheduler/internal.h"
#include "sync/parking_lot.h"

namespace wisp {

constexpr uint32_t kWoken = 1, kLook = 2;

static std::atomic<bool> g_signal_stacks{false};  // there may be some

void own_threads_watch() {
  g_signal_stacks.store(true, std::memory_order_relaxed);
  if (!own_threads_watched()) observe_flag(kOwnThreadBit, true);
}

bool has_signal_stack_now() {
  if (!g_signal_stacks.load(std::memory_order_relaxed)) return false;
  stack_t now{};
  if (kernel::call(SYS_sigaltstack, 0, reinterpret_cast<long>(&now)) != 0) return false;
  return (now.ss_flags & SS_DISABLE) == 0;
}

void note_own_thread_slow(WispTask* self) {
  // From here on for good, as with the first signal stack: it is rare.
  if (!own_threads_watched()) observe_flag(kOwnThreadBit, true);
  bool keeps = keeps_thread(self);
  // Of a wait that ended before it slept.
  if (keeps) self->own_wake.store(0, std::memory_order_relaxed);
  self->own_thread.store(keeps, std::memory_order_relaxed);
}

ChangesThread::ChangesThread(WispTask* self) : self_(self) {
  RuntimeEntry entry;
  ++self->stays_here;
  note_own_thread_slow(self);
  leave_carrier(self);
}

void ChangesThread::over(bool changed) {
  Worker* w = self_->worker.load(std::memory_order_relaxed);
  if (changed && !w->changed)
    w->changed = true;
  else
    --self_->stays_here;
}

bool thread_is_changed(const WispTask* self) {
  return self != nullptr && WISP_UNLIKELY(self->stays_here != 0) &&
         self->worker.load(std::memory_order_relaxed)->changed;
}

bool leave_for_own_thread(WispTask* self) {
  // Whether it still has its signal stack is asked when it next waits inside the runtime.
  if (self->own_thread.load(std::memory_order_relaxed) &&
      g_signal_stacks.load(std::memory_order_relaxed))
    return true;
  RuntimeEntry entry;
  note_own_thread(self);
  if (!self->own_thread.load(std::memory_order_relaxed)) return false;
  leave_carrier(self);
  return true;
}

void wait_on_own_thread(WispTask* self, uint64_t deadline_ns) {
  self->region_end.store(~0ull, std::memory_order_relaxed);
  leave_carrier(self);
  for (;;) {
    // acquire: what its waker wrote before.
    uint32_t word = self->own_wake.load(std::memory_order_acquire);
    if ((word & kWoken) != 0) break;
    // Its handler runs when the task leaves the runtime.
    bool put_off = (self->self->pending_signals.load(std::memory_order_relaxed) & kDeferredMark);
    if (put_off && ParkingLot::cancel(&self->waiter, WakeReason::Interrupted)) break;
    int r = kernel::futex_wait(&self->own_wake, word, deadline_ns);
    if (r != -ETIMEDOUT) continue;
    if (ParkingLot::cancel(&self->waiter, WakeReason::TimedOut)) break;
    deadline_ns = 0;  // somebody has taken it out, and is about to wake it
  }
  uint64_t now = ticks();
  self->dispatched_at = now;
  bump(self->times_run);
  self->state.store(TaskState::Running, std::memory_order_relaxed);
  self->region_end.store(now, std::memory_order_relaxed);
}

void wake_on_own_thread(WispTask* task) {
  // release: pairs with the acquire above. Tasks are never freed, so the word is there.
  task->own_wake.fetch_or(kWoken, std::memory_order_release);
  kernel::futex_wake(&task->own_wake, 1);
}

void own_thread_has_signal(WispTask* self) {
  // relaxed: on the same thread.
  if (own_threads_watched()) self->own_wake.fetch_or(kLook, std::memory_order_relaxed);
}

void yield_on_own_thread(WispTask* self) {
  const Carrier* c = self->carrier;
  bool others = c != nullptr && (c->anything_queued() || !g_scheduler.global.empty() ||
                                 c->next.load(std::memory_order_relaxed) != nullptr);
  if (others) leave_carrier(self);
  kernel::sched_yield();
}

void own_thread_over(WispTask* self) {
  self->own_thread.store(false, std::memory_order_relaxed);
  if (!has_signal_stack_now()) return;
  stack_t none{nullptr, SS_DISABLE, 0};
  kernel::call(SYS_sigaltstack, reinterpret_cast<long>(&none));
  // Who sets a signal stack behind our back may have set the mask so, too.
  const Worker* w = self->worker.load(std::memory_order_relaxed);
  kernel::set_signal_mask(w->signal_mask | w->deferred.load(std::memory_order_relaxed));
}

}  // namespace wisp
