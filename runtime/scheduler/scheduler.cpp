// Waking tasks, entering and leaving the runtime, start. The wake-up policy is in announce_wake;
// docs/tried-carriers.md tells which others were tried.
#include "scheduler/scheduler.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <new>

#include "platform/real.h"
#include "scheduler/home.h"
#include "scheduler/internal.h"
#include "scheduler/own_thread.h"
#include "scheduler/pick.h"
#include "scheduler/task_tid.h"

namespace wisp {

Scheduler g_scheduler;
void (*g_deliver_signals)(ThreadSelf&) = nullptr;

void GlobalQueue::count() {
  size_.store(answers_.count + others_.count, std::memory_order_relaxed);
  answers_left_.store(answers_.count, std::memory_order_relaxed);
}

void GlobalQueue::push(WispTask* task) {
  SpinGuard guard(lock_);
  others_.append(task);
  count();
}

void GlobalQueue::push_answer(WispTask* task) {
  SpinGuard guard(lock_);
  answers_.append(task);
  count();
}

WispTask* GlobalQueue::pop() {
  SpinGuard guard(lock_);
  WispTask* t = answers_.pop();
  if (t == nullptr) t = others_.pop();
  count();
  return t;
}

WispTask* GlobalQueue::pop_answer() {
  SpinGuard guard(lock_);
  WispTask* t = answers_.pop();
  count();
  return t;
}

WispTask* GlobalQueue::pop_other() {
  SpinGuard guard(lock_);
  WispTask* t = others_.pop();
  count();
  return t;
}

// After a wake it is not about to park, by its own history. A kernel thread has none.
static inline bool goes_on(const WispTask* waker) {
  constexpr uint64_t kWorthMovingUs = 5;  // about what a futex wake-up costs both sides
  return waker == nullptr || waker->wake_to_park > us_to_ticks(kWorthMovingUs);
}

// From here on that history is measured.
static inline void note_wake(WispTask* waker, uint64_t stamp) {
  if (waker != nullptr && waker->woke_at == 0) waker->woke_at = stamp != 0 ? stamp : ticks();
}

// A woken task is in the waker's next slot and somewhere a carrier sleeps. Waking it costs
// microseconds of kernel time and drags the pair over two cores, which is wrong when the waker is
// about to park; not waking it is wrong when the waker goes on computing. The waker's own history
// decides; SysMonitor corrects a wrong guess within a tick.
static inline void announce_wake(WispTask* waker, bool displaced, uint64_t stamp) {
  Scheduler& s = g_scheduler;
  if (WISP_LIKELY(s.idle.wakeable() == 0)) {
    if (WISP_UNLIKELY(displaced && s.idle.kept_back() != 0))
      announce_work();
    else
      sysmon_notice();
    return;
  }
  if (displaced || goes_on(waker))
    announce_work();
  else
    sysmon_notice();
  note_wake(waker, stamp);
}

// The woken task went home. As above it is not worth a kernel wake-up if it can run here right
// after its waker.
static inline bool sent_home(WispTask* task, Carrier* here, WispTask* waker, uint64_t stamp) {
  if (task->carrier == here || !outweighs_message(task)) return false;
  bool alone = here->next.load(std::memory_order_relaxed) == nullptr;
  IdleHome idle = alone && !goes_on(waker) ? IdleHome::Leave : IdleHome::Wake;
  if (!send_home(task, here, idle)) return false;
  if (g_scheduler.idle.wakeable() != 0) note_wake(waker, stamp);
  return true;
}

// The time stamp it took, 0: none.
static WISP_NOINLINE uint64_t ready_observed(WispTask* task, const ThreadSelf& me) {
  // Who polls may not own the carrier that it will hand the tasks to.
  bool io = me.collect != nullptr;
  bool by_task = me.task != nullptr && !io;
  Carrier* c = io ? nullptr : my_carrier();
  // A stamp costs three times what all else of a trace costs in a hand-over. The trace does with
  // the begin of the waker's slice where slices are brief.
  bool at_most = by_task && c != nullptr && me.task->brief_slice && !logs(LogKind::Park);
  uint64_t when = at_most ? c->now : ticks();
  uint32_t by = by_task ? task_number(me.task->tid) : ~0u;
  task->woken_by.store(by, std::memory_order_relaxed);
  task->woken_at.store(when, std::memory_order_relaxed);
  if (tracing()) trace_ready(c, task, by_task, io, at_most);
  return at_most ? 0 : when;
}

void ready(WispTask* task) {
  ThreadSelf& me = thread_self();
  uint64_t stamp = 0;
  uint32_t looks = observed();
  if (WISP_UNLIKELY((looks & ~kOwnThreadBit) != 0)) stamp = ready_observed(task, me);
  task->state.store(TaskState::Ready, std::memory_order_relaxed);
  if (WISP_UNLIKELY(looks != 0) && waits_on_own_thread(task)) {
    wake_on_own_thread(task);
    return;
  }
  if (WISP_UNLIKELY(me.collect != nullptr)) {
    me.collect->append(task);
    return;
  }
  Carrier* c = my_carrier();
  if (c == nullptr) {
    g_scheduler.global.push(task);
    announce_work();
    return;
  }
  bump(c->unparks);
  if (chaos() && chaos_ready(c, task)) return;
  // A time stamp costs as much as all counters together: the time in queues is measured on a
  // sample.
  if ((c->unparks.load(std::memory_order_relaxed) & 15) == 1)
    task->ready_at = stamp != 0 ? stamp : ticks();
  if (sent_home(task, c, me.task, stamp)) return;
  WispTask* displaced = c->swap_next(task);
  if (displaced != nullptr && send_home(displaced, c, IdleHome::Wake)) displaced = nullptr;
  if (displaced != nullptr) push_local(c, displaced);
  announce_wake(me.task, displaced != nullptr, stamp);
}

void runtime_enter_slow(WispTask* task) {
  if (task->handoff.move(HandOff::Requested, HandOff::None)) {
    // We keep the carrier. Only a task that comes from the program's own code may lose it by chaos:
    // deeper inside it may hold a lock of ours.
    if (chaos() && task->self->depth.load(std::memory_order_relaxed) == 1) chaos_yield(task);
    return;
  }
  if (task->handoff.load() == HandOff::Taken) {
    // From here to its next park it is a plain thread: what it wakes goes through the global queue.
    // Deeper inside it is one already, and may be queued as a waiter: then its wakers read this.
    if (task->carrier != nullptr) task->carrier = nullptr;
    task->worker.load(std::memory_order_relaxed)->carrier = nullptr;
    if (chaos() && task->self->depth.load(std::memory_order_relaxed) == 1) chaos_yield(task);
  }
}

void runtime_leave_slow(ThreadSelf& self) {
  // A vfork child that gave a lock back: the signals are its parent's, who delivers them.
  if (self.straight != 0) return;
  if (g_deliver_signals != nullptr) g_deliver_signals(self);
}

// What was computed, or more if somebody was told more. relaxed: who asks later, by whatever orders
// the two, sees what was told before.
static uint64_t never_back(const WispTask* task, uint32_t tid, uint64_t told, uint64_t ns) {
  ns &= (uint64_t{1} << kToldBits) - 1;
  for (;;) {
    if (told >> kToldBits != (tid & 0xff)) return ns;  // of another life
    uint64_t wanted = cpu_told_by(tid, ns);
    if (told >= wanted) return told - cpu_told_by(tid, 0);
    if (task->cpu_told.compare_exchange_weak(told, wanted, std::memory_order_relaxed)) return ns;
  }
}

uint64_t task_cpu_ns(const WispTask* task) {
  uint32_t tid = task->tid;
  uint64_t told = task->cpu_told.load(std::memory_order_relaxed);
  uint64_t charged = 0, running = 0;
  // Again when it was switched meanwhile; a torn answer after that is off by one slice.
  for (int attempt = 0; attempt < 4; ++attempt) {
    charged = task->cpu_ticks.load(std::memory_order_acquire);
    const Worker* w = task->worker.load(std::memory_order_acquire);
    uint64_t since = task->dispatched_at, now = ticks();
    running = w != nullptr && now > since ? measured_cpu(w, now - since) : 0;
    std::atomic_thread_fence(std::memory_order_acquire);
    if (task->cpu_ticks.load(std::memory_order_relaxed) == charged &&
        task->worker.load(std::memory_order_relaxed) == w)
      break;
  }
  return never_back(task, tid, told, ticks_to_ns(charged + running));
}

uintptr_t task_worker_tp(const WispTask* task) {
  return task->worker.load(std::memory_order_relaxed)->native_tp;
}

void worker_stays() {
  WispTask* self = current_task();
  self->worker.load(std::memory_order_relaxed)->stays.store(true, std::memory_order_relaxed);
}

SchedulerTotals scheduler_totals() {
  SchedulerTotals t{g_scheduler.tasks_created.load(), 0, g_scheduler.handoffs.load(), 0};
  for (uint32_t i = 0; i < g_scheduler.carrier_count; ++i) {
    Carrier& c = g_scheduler.carriers[i];
    t.switches += c.switches.load(std::memory_order_relaxed);
    t.steals += c.steals.load(std::memory_order_relaxed);
    t.handoffs += c.handoffs.load(std::memory_order_relaxed);
  }
  return t;
}

bool scheduler_running() { return g_scheduler.running.load(std::memory_order_acquire); }
bool in_scheduler_process() { return kernel::getpid() == g_scheduler.pid; }
int scheduler_carriers() { return static_cast<int>(g_scheduler.carrier_count); }

bool start_kernel_thread(void* (*run)(void*), void* argument) {
  real::ensure();
  pthread_attr_t attr;
  real::pthread_attr_init(&attr);
  // Signal handlers of the program (HotSpot prints whole crash reports) run on this stack.
  real::pthread_attr_setstacksize(&attr, 512 * 1024);
  // Born with the program's signals blocked; a worker takes over the mask of the tasks it runs.
  uint64_t old = 0;
  kernel::set_signal_mask(kernel::kAllSignals, &old);
  pthread_t thread;
  int r = real::pthread_create(&thread, &attr, run, argument);
  kernel::set_signal_mask(old);
  real::pthread_attr_destroy(&attr);
  if (r != 0) {
    errno = r;
    return false;
  }
  real::pthread_detach(thread);
  return true;
}

uint32_t g_pump_part_count = 1;

// A part for each carrier; where there are more than kMaxPumpParts, for groups of neighbours.
static void divide_pump(uint32_t carriers) {
  Scheduler& s = g_scheduler;
  uint32_t parts = s.config.pump_parts > 0 ? static_cast<uint32_t>(s.config.pump_parts) : carriers;
  parts = std::clamp(parts, 1u, std::min(carriers, kMaxPumpParts));
  g_pump_part_count = parts;
  s.idle.set_parts(parts);
  for (uint32_t i = 0; i < carriers; ++i) s.carriers[i].part = i * parts / carriers;
}

uint32_t pump_part_of_carrier(uint32_t index) { return g_scheduler.carriers[index].part; }

bool scheduler_start(const SchedulerConfig& config) {
  Scheduler& s = g_scheduler;
  if (s.running.load()) return true;
  s.config = config;
  s.pid = kernel::getpid();
  if (s.config.carriers < 1) s.config.carriers = 1;
  if (s.config.stack_size == 0) s.config.stack_size = 1u << 20;
  clock_calibrate();
  choose_first_tid();
  g_chaos = s.config.chaos_seed;
  uint32_t n = static_cast<uint32_t>(s.config.carriers);
  void* memory = nullptr;
  if (posix_memalign(&memory, alignof(Carrier), sizeof(Carrier) * n) != 0) {
    errno = ENOMEM;
    return false;
  }
  memset(memory, 0, sizeof(Carrier) * n);
  s.carriers = static_cast<Carrier*>(memory);
  for (uint32_t i = 0; i < n; ++i) {
    new (&s.carriers[i]) Carrier();
    s.carriers[i].index = i;
    s.carriers[i].alone = n == 1;
  }
  s.carrier_count = n;
  divide_pump(n);
  // All carriers start idle; workers are made for them, and one spare for the first hand-off.
  for (uint32_t i = n; i-- > 0;) s.idle.publish_carrier(&s.carriers[i]);
  for (uint32_t i = 0; i < n + 1; ++i)
    if (!worker_start(nullptr)) return false;
  if (!sysmon_start()) return false;
  s.running.store(true, std::memory_order_release);
  return true;
}

}  // namespace wisp
