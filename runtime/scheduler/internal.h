// What the scheduler's own files share. Other folders that include it: observe/ and
// interpose/proc_lists.cpp, which read it (and observe/ starts a kernel thread), and signal/, for
// the workers' kernel threads and the process's id.
#pragma once
#include "coroutine/sanitizer_fiber.h"
#include "platform/backoff.h"
#include "platform/log.h"
#include "scheduler/attendance.h"
#include "scheduler/carrier.h"
#include "scheduler/chaos.h"
#include "scheduler/event_log.h"
#include "scheduler/forecast.h"
#include "scheduler/idle.h"
#include "scheduler/poller.h"
#include "scheduler/scheduler.h"
#include "scheduler/trace.h"

namespace wisp {

// Runnable tasks without a carrier: woken by kernel threads, by handed-off tasks, by SysMonitor,
// and what overflows a ring. Who has got an answer (pick.h) goes ahead. Its lock is a leaf.
class GlobalQueue {
 public:
  void push(WispTask* task);
  void push_answer(WispTask* task);
  // Null: there is none.
  WispTask* pop();
  WispTask* pop_answer();
  WispTask* pop_other();
  // A look without the lock; a waker's full fence or the next tick covers what it misses.
  bool empty() const { return size_.load(std::memory_order_relaxed) == 0; }
  uint32_t size() const { return size_.load(std::memory_order_relaxed); }
  bool has_answers() const { return answers_left_.load(std::memory_order_relaxed) != 0; }

 private:
  void count();  // under the lock

  SpinLock lock_;
  TaskList answers_, others_;
  std::atomic<uint32_t> size_{0}, answers_left_{0};
};

struct Scheduler {
  SchedulerConfig config;
  std::atomic<bool> running{false};
  Carrier* carriers = nullptr;
  uint32_t carrier_count = 0;
  GlobalQueue global;
  IdleSet<Carrier, Worker, SpinLock> idle;
  Forecast forecast;
  Attendance attendance;
  std::atomic<Worker*> all_workers{nullptr};
  std::atomic<uint32_t> worker_count{0};
  std::atomic<uint32_t> workers_starting{0};  // made without a carrier, not come up yet
  std::atomic<uint64_t> tasks_created{0}, handoffs{0}, preemptions{0};
  std::atomic<uint64_t> completed_elsewhere{0};  // tasks that ended without a carrier
  std::atomic<uint64_t> parks_elsewhere{0};      // waits that began without a carrier (trim.cpp)
  std::atomic<uint64_t> trimmed_bytes{0};        // unused stack given back (trim.cpp)
  int pid = 0;

  // How many carriers are wanted at present (width.h, narrow.h).
  uint32_t width() const { return carrier_count - idle.kept_back(); }
};
extern Scheduler g_scheduler;

// --- dispatch.cpp: switching between tasks
// Leaves `self` (already where its waker finds it) for the next task, or for the worker's loop.
void switch_out(WispTask* self);
// The same to `chosen`, which nobody else has.
void switch_out_for(WispTask* self, WispTask* chosen);
// Of `wall` ticks that a task has been on `w` up to now, those that the processor spent on it.
// Reads the kernel's clock.
uint64_t measured_cpu(const Worker* w, uint64_t wall);
// A value of WispTask::cpu_told.
constexpr int kToldBits = 56;
constexpr uint64_t cpu_told_by(uint32_t tid, uint64_t ns) {
  return uint64_t{tid} << kToldBits | ns;
}

// --- blocking_region.cpp: a task that blocks in the kernel; called by itself, inside the runtime
// Its carrier, if it has one, goes to others.
void leave_carrier(WispTask* task);
// --- dispatch.cpp
// The task goes on without its carrier, or (null) with one again: what it has used so far is
// charged to the carrier and to it.
void account_lent(WispTask* task, Carrier* carrier);
// The worker's own time is nobody's: what it is charged for later starts here.
void forget_own_cpu(Worker* w);
// The next switch to it starts it afresh.
void task_arm_context(WispTask* task);
// From the worker's own stack: runs `task` until the worker is left without one.
void run_task(Worker* worker, Carrier* carrier, WispTask* task);
// The next task of this carrier without searching elsewhere, or null. Owner only.
WispTask* pick_next(Carrier* carrier);

// --- worker.cpp: the idle loop
bool worker_start(Carrier* carrier);  // a new kernel thread; carrier may be null (a spare)

// --- announce.cpp
// Wakes one sleeping carrier to look for work, if one sleeps and none searches already.
enum class Noticer : uint8_t { Other, SysMonitor };
void wake_searcher(Noticer by = Noticer::Other);
// After a push that some sleeping carrier should see: full fence, then wake_searcher.
void announce_work(Noticer by = Noticer::Other);
// For who knows its carrier; null: it has none, and may be given one by others at any moment.
void announce_work_from(const Carrier* from, Noticer by = Noticer::Other);
// n tasks came into the queues of a carrier that is about to pick its next one (null: to others). A
// single one it runs itself; but not if it has another, who has told nobody: it gave way
// (yield_current), or the pump or a timer has woken it just now. Of one in the next slot SysMonitor
// may know; a notice that it overlooks, as it falls asleep beside a busy carrier, costs kLongestNs.
void announce_arrivals(uint32_t n, const Carrier* picks);
void give_away(Carrier* carrier);  // a carrier whose task left it: to a spare, or to the idle list
// To the idle list, by its owner, with its queue not empty: other workers will take that.
void publish_with_work(Carrier* c);
// Relaxed looks at the global queue and at what queues on the carriers: work may be stale, None
// only if what was pushed is not ordered before the call. ForItsCarrier: who leaves that alone
// tells SysMonitor (sysmon_notice), which sees whether the carrier comes to it.
enum class Work : uint8_t { None, ForItsCarrier, ForAnybody };
Work visible_work();
// Relaxed, too: a task in some next slot, which its waker keeps for itself.
bool any_next_visible();
inline bool any_work_visible() { return visible_work() != Work::None; }

// --- children.cpp
// A worker's last wait, with all signals blocked, for its kernel thread to end: until no process
// lives that was made on it.
void outlive_children();

// --- search.cpp
// Others leave what queues there to this carrier, for now: where there are many, most of them are
// busy, and it comes to it soon (comes_to_them, home.h).
bool left_to_it(const Carrier* c, uint64_t now);
// Work of other carriers for `c`, or null after w->spin_ticks. Counted as a searcher (idle.h).
WispTask* search(Worker* w, Carrier* c);
// So many tasks queue on this carrier, and on another one less than half of that, that what comes
// next is better put into the global queue. (Two that are both busy all the time never search:
// echo with 1,000 connections stayed with 850 tasks here and 150 there, each for several cycles.)
bool has_too_many(const Carrier* c);

// --- sleep.cpp
// Sleeps until the published worker is bound to a carrier, by a waker or by itself.
void sleep_until_bound(Worker* w);
uint64_t watched_deadline();  // the earliest one a sleeping worker wakes up for; ~0 = none

// --- timers.cpp
void timer_arm(WispTask* self, uint64_t deadline_ns);
void timer_disarm(WispTask* self);
// Fires what is due in `heap`'s timers; woken tasks go to `into`'s ring (null: the global queue).
uint32_t fire_timers(Carrier* heap, Carrier* into, uint64_t now_ns);

// SysMonitor makes no more; the kernel refuses long before (threads-max, RLIMIT_NPROC).
constexpr uint32_t kMaxWorkers = 1u << 16;

// How late a timer may be so that several need one look: as much as Linux allows itself with every
// thread that has not asked for less (PR_SET_TIMERSLACK in prctl(2), 50 us). A program that waits
// for a nanosecond in a loop (LMAX Disruptor, Agrona's idle strategies) means that much; on the dot
// it would keep its carrier busy.
constexpr uint64_t kTimerSlackNs = 50000;
// Never for ~0, no deadline.
inline bool timer_overdue(uint64_t deadline_ns, uint64_t now_ns) {
  return deadline_ns <= now_ns && now_ns - deadline_ns >= kTimerSlackNs;
}
uint64_t earliest_deadline();  // over all carriers; ~0 = none

// --- polling.cpp: the event pump's place in the scheduler
// A part of the pump, as its group sees it.
struct alignas(128) PumpPart {
  // Ticks when a busy carrier looks at it next. Read at each switch: in a line of its own.
  std::atomic<uint64_t> poll_at{~0ull};
  // One looker at a time: epoll_wait hands an edge to one caller only, and two lookers would only
  // share the events between carriers. Exchange: acquire on success, release by the store at the
  // end.
  alignas(kCacheLine) std::atomic<uint32_t> looking{0};
  // A worker is inside the waiting poll, or about to enter it. The idle set forgets its poller as
  // soon as that one is chosen for a carrier, but until it has really left nobody else may go in:
  // the other would take away the interruption that was meant for it, and the carrier would wait
  // with it. Exchange: acquire, against the release of the one who leaves.
  std::atomic<bool> occupied{false};
  // Ticks until when a carrier sees to it by itself: its tasks are brief (pace.h), and it has just
  // looked.
  std::atomic<uint64_t> seen_to_until{0};
  std::atomic<uint64_t> woken{0};  // tasks, by what was found there; for width.h
};
extern PumpPart g_pump_parts[kMaxPumpParts];
enum WakeWord : uint32_t { kRunCarrier = 1, kGoToPump = 2 };  // Worker::wake
void wake_worker(Worker* worker, WakeWord what);
// Looks at a part of the pump without waiting; what it wakes goes home, else to `into`'s queues
// (null: the global queue). Returns how many went there. At most one thread at a time gets to look.
uint32_t poll_events(uint32_t part, Carrier* into);
inline uint32_t poll_events(Carrier* into) { return poll_events(into->part, into); }
// The other parts that nobody watches and nobody has looked at for a while. Owner only.
uint32_t poll_neglected(Carrier* into);
// Both. For a busy carrier between two tasks.
uint32_t poll_in_turn(Carrier* into);
// The published worker waits for events until deadline_ns or until it is woken. NotThere: it did
// not wait, because another worker is in the pump already, or there is none. Bound: it has taken a
// carrier for what it woke.
enum class EventWait { NotThere, Waited, Bound };
EventWait wait_for_events(Worker* worker, uint64_t deadline_ns);
// A carrier is busy from now on, or stays so while a worker leaves the pump: SysMonitor has to look
// at the pump if no worker is in it.
void pump_may_be_empty();
// Some part of it.
inline bool pump_is_empty() {
  return g_poller.load(std::memory_order_relaxed) != nullptr &&
         g_scheduler.idle.polling() != pump_parts();
}
inline bool poll_is_due(uint32_t part, uint64_t now) {
  return WISP_UNLIKELY(now >= g_pump_parts[part].poll_at.load(std::memory_order_relaxed));
}
// Who waited there would take its events away from where they are seen to at once, and warm.
inline bool pump_part_is_seen_to(uint32_t part, uint64_t now) {
  return now < g_pump_parts[part].seen_to_until.load(std::memory_order_relaxed);
}
// Who saw to it has no task any more.
inline void pump_part_left(const Carrier* c) {
  std::atomic<uint64_t>& until = g_pump_parts[c->part].seen_to_until;
  if (until.load(std::memory_order_relaxed) != 0) until.store(0, std::memory_order_relaxed);
}
// Owner: at its `now`.
inline bool poll_is_due(const Carrier* c) { return poll_is_due(c->part, c->now); }

// --- sysmon.cpp
bool sysmon_start();
int sysmon_tid();  // of its kernel thread; 0: there is none yet
// Hot: something waits that only SysMonitor would notice. Wakes it if it sleeps long.
void sysmon_notice_slow();
extern std::atomic<uint32_t> g_sysmon_lazy;  // 1: SysMonitor sleeps longer than a tick
inline void sysmon_notice() {
  if (WISP_UNLIKELY(g_sysmon_lazy.load(std::memory_order_relaxed) != 0)) sysmon_notice_slow();
}
// A deadline that no worker watches: SysMonitor must be up by then.
void sysmon_watch_deadline(uint64_t deadline_ns);
uint64_t sysmon_wakes_at();  // ns; ~0: when told

// --- width.cpp: SysMonitor's, at each look; whether a task has kept its carrier for a tick
void width_look(bool kept);

// --- retake.cpp
// SysMonitor takes c away from t, which keeps it while others wait. False: t is not its current
// task any more, or is inside the runtime.
bool retake(Carrier* c, WispTask* t);
// The task whose ThreadSelf SysMonitor reads; who destroys that waits until it is another one.
// seq_cst on both sides: SysMonitor stores it, then asks whether the task is still its carrier's
// current one; a destroyer, whose task no carrier runs any more, asks for it: one sees the other.
const WispTask* sysmon_looks_at();

// --- trim.cpp
// SysMonitor's turn to give back unused stack of tasks that are parked for long. Returns when it
// wants to be called again, ns; ~0: when something has run.
uint64_t trim_stacks(uint64_t now_ns);
// The carrier is about to sleep: if enough has run on it that the next pass is due, and SysMonitor
// does not know, it is told. At most once per pass.
extern std::atomic<bool> g_trim_unaware;
constexpr uint64_t kWorthAPass = 32;  // moves
// What makes a pass worthwhile: tasks that came and tasks that went to wait. A pass that met a task
// while it ran has to be followed by another even if that task's wait is all that happens then.
inline uint64_t trim_moves(const Carrier& c) {
  return c.switches.load(std::memory_order_relaxed) + c.parks.load(std::memory_order_relaxed);
}
inline void trim_notice(const Carrier* c) {
  if (g_trim_unaware.load(std::memory_order_relaxed) &&
      trim_moves(*c) - c->trim_moves.load(std::memory_order_relaxed) > kWorthAPass)
    sysmon_notice_slow();
}
// A task that was handed off goes to wait, which no carrier counts, or one ends. SysMonitor is told
// at once, at most once per pass: such a task has left its kernel thread, which costs more.
void trim_parked_elsewhere();

// --- scheduler.cpp: kernel threads of the runtime itself
// Detached, with all signals blocked. False with errno.
bool start_kernel_thread(void* (*run)(void*), void* argument);

// Until the worker that left the task has got off its stack: some instructions, unless the kernel
// has taken the processor away from it. Not on a task's own stack (dispatch.cpp).
// acquire: finish_switch.
inline void wait_off_cpu(const WispTask* task) {
  for (Backoff backoff; !task->on_cpu.clear();) backoff.wait();
}

inline Carrier* my_carrier() {
  ThreadSelf& s = thread_self();
  if (s.task != nullptr) return s.task->carrier;
  return s.worker != nullptr ? s.worker->carrier : nullptr;
}

// Set up by task_create: a task nobody knows yet is taken for one that goes on after a wake.
inline uint64_t initial_wake_to_park() { return us_to_ticks(100); }

// One writer at a time (the carrier's owner): a plain add, readable by observers.
inline void add(std::atomic<uint64_t>& counter, uint64_t n) {
  counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}
inline void bump(std::atomic<uint64_t>& counter) { add(counter, 1); }

// It is about to leave its carrier, and could go on.
inline void leaves_ready(WispTask* self) {
  if (tracing()) self->left_by = TraceKind::Yield;
  self->state.store(TaskState::Ready, std::memory_order_relaxed);
}

// On w's kernel thread only.
inline uint32_t next_random(Worker* w) {
  w->random ^= w->random << 13;
  w->random ^= w->random >> 17;
  w->random ^= w->random << 5;
  return w->random;
}

}  // namespace wisp
