// SysMonitor: one kernel thread that looks at the carriers from outside. It corrects what no
// carrier can see of itself: a task that keeps its carrier while others wait (hand-off), a woken
// task that its waker does not make way for, timers of a carrier that does not come round. It also
// makes the spare workers, so that no task ever has to.
//
// It sleeps for ever while all carriers are idle, and long while nothing waits; who leaves work
// behind in a way that only SysMonitor would notice says so (sysmon_notice, sysmon_watch_deadline).
#include <algorithm>

#include "platform/kernel.h"
#include "scheduler/internal.h"
#include "scheduler/lent.h"
#include "scheduler/placement.h"
#include "scheduler/spread.h"

namespace wisp {

std::atomic<uint32_t> g_sysmon_lazy{0};
static std::atomic<uint32_t> g_kick{0};      // futex: 1 = look again
static std::atomic<uint64_t> g_wakes_at{0};  // ns; ~0 while it sleeps for ever
// A deadline that it was once told of, ns; ~0 = none. It is kept until it has passed, whether or
// not somebody else watches it again by then: a timekeeper that is busy for 100 us every 10 ms
// would otherwise wake SysMonitor each time for some timeout a minute away.
static std::atomic<uint64_t> g_told{~0ull};

constexpr uint64_t kShortestNs = 100 * 1000;       // while it watches something that may be stuck
constexpr uint64_t kLongestNs = 10 * 1000 * 1000;  // while carriers are busy and nothing waits

void sysmon_notice_slow() {
  g_sysmon_lazy.store(0, std::memory_order_relaxed);
  // exchange: one kernel wake-up for many notices.
  if (g_kick.exchange(1, std::memory_order_seq_cst) == 0) kernel::futex_wake(&g_kick, 1);
}

void sysmon_watch_deadline(uint64_t deadline_ns) {
  // seq_cst: between the timer's insertion and this look; SysMonitor stores wakes_at, then looks at
  // the deadlines once more.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (g_wakes_at.load(std::memory_order_relaxed) <= deadline_ns + kTimerSlackNs) return;
  // Racing tellers: the later one's may be lost, and with it only a spared wake-up.
  if (deadline_ns < g_told.load(std::memory_order_relaxed))
    g_told.store(deadline_ns, std::memory_order_relaxed);
  sysmon_notice_slow();
}

struct Findings {
  bool waiting = false;   // a task waits somewhere that an idle carrier could run: look again soon
  uint64_t due = ~0ull;   // ns: a carrier with work will have been kept for a tick
  bool moving = false;    // a carrier has switched since the last look
  bool kept = false;      // a task has kept its carrier for a tick, whether or not others wait
  bool starving = false;  // there is work, and no worker for an idle carrier
  PumpParts pump_was_empty = 0, pump_empty = 0;  // at the last look, at this one
};

// Processor time of the kernel thread that the task is on, ns.
static uint64_t used_by(const WispTask* t) {
  const Worker* w = t->worker.load(std::memory_order_relaxed);
  int tid = w != nullptr ? w->tid.load(std::memory_order_relaxed) : 0;
  uint64_t cpu = tid != 0 ? kernel_thread_cpu_ns(tid) : 0;
  return cpu != 0 ? cpu : Patience::kUnknown;
}

static void look_at(Carrier* c, uint64_t now_ns, Findings* f) {
  Scheduler& s = g_scheduler;
  WispTask* t = c->current.load(std::memory_order_acquire);
  if (t == nullptr) {  // idle, or in its worker's loop
    // Idle with work: given away when there was no spare worker to take it. There is one now, or
    // this thread makes it before it sleeps.
    if (c->anything_queued() && s.idle.idle() != 0) {
      f->starving = true;
      // Also where no more carriers are wanted.
      if (c->busy.idle())
        wake_searcher(Noticer::SysMonitor);
      else
        announce_work(Noticer::SysMonitor);
    }
    return;
  }
  if (chaos()) {  // hand-offs without need
    f->waiting = true;
    if (chaos_one_in(4) && retake(c, t)) return;
  }
  uint64_t switches = c->switches.load(std::memory_order_relaxed);
  bool has_next = c->next.load(std::memory_order_relaxed) != nullptr;
  bool due = c->next_deadline.load(std::memory_order_relaxed) <= now_ns;
  bool work = has_next || c->anything_queued() || due || !s.global.empty();
  if (switches != c->seen_switches) {
    c->seen_switches = switches;
    // Only who keeps others waiting is looked at that closely: it is a system call.
    c->patience.moved(now_ns, work ? used_by(t) : Patience::kUnknown);
    f->moving = true;
    if (work) f->waiting |= s.idle.wakeable() != 0;
    return;
  }
  uint64_t tick = s.config.sysmon_tick_us * 1000;
  uint64_t since = c->patience.since_ns();
  f->kept |= now_ns - since >= tick;
  if (!work) return;
  // An idle carrier is the better cure: a thief takes the ring at once, a lone next task after it
  // has seen it wait.
  if (s.idle.idle() != 0 && now_ns - since < 4 * tick) {
    f->waiting = true;
    if (due) fire_timers(c, nullptr, now_ns);
    if (s.idle.wakeable() != 0)
      announce_work(Noticer::SysMonitor);
    else
      wake_searcher(Noticer::SysMonitor);
    return;
  }
  uint64_t look = since + tick;
  if (now_ns < look || !c->patience.ends(now_ns, used_by(t), tick, &look)) {
    if (due && now_ns >= since + tick) fire_timers(c, nullptr, now_ns);
    f->due = std::min(f->due, look);
    return;
  }
  f->waiting = true;
  if (retake(c, t)) return;
  // It is inside the runtime, for long: others have to come here.
  if (due) fire_timers(c, nullptr, now_ns);
  if (s.idle.idle() != 0) wake_searcher(Noticer::SysMonitor);
}

// For ever it may sleep only while every carrier is in the idle set. A carrier without a task is
// not enough: its worker may be about to dispatch one of several that wait (seen on JDK 9: a spare
// had just been given the carrier of a handed-off task, SysMonitor took it for idle, and the next
// CPU-bound task kept it for good).
static bool all_idle() { return g_scheduler.idle.idle() == g_scheduler.carrier_count; }

// The last look before a long sleep: has a carrier become busy, or left work behind, since the
// scan?
static bool carriers_moved(bool all_were_idle) {
  if (all_were_idle) return !all_idle();
  for (uint32_t i = 0; i < g_scheduler.carrier_count; ++i) {
    Carrier& c = g_scheduler.carriers[i];
    if (c.next.load(std::memory_order_relaxed) != nullptr || c.anything_queued()) return true;
  }
  return false;
}

// And have the pump or a deadline been left by a sleeper since the scan? Its carrier may be idle
// again already, given away by a task that waits in the kernel: then it looks as before.
static bool deadline_left(uint64_t seen, bool all_were_idle) {
  uint64_t deadline = earliest_deadline();
  return deadline < seen || (all_were_idle && deadline < watched_deadline() &&
                             deadline + kTimerSlackNs < g_wakes_at.load(std::memory_order_relaxed));
}

// A part of the event pump without a worker in it: carriers that come round look at it themselves;
// if none does, this thread looks, and if a carrier sleeps (more than wait in other parts, for it
// is they who run what is found) a spare worker goes there.
static void look_at_pump(uint32_t part, Findings* f) {
  Scheduler& s = g_scheduler;
  if (s.idle.polling(part)) return;
  if (pump_parts() > 1 && pump_part_is_seen_to(part, ticks())) {
    f->moving = true;
    f->pump_empty |= 1u << part;
  } else if (s.idle.wakeable() != 0 && s.idle.idle() > s.idle.polling()) {
    if ((f->pump_was_empty >> part & 1) != 0) {
      if (Worker* w = s.idle.take_any_spare()) {
        w->part = part;
        wake_worker(w, kGoToPump);
      }
    } else {
      f->waiting = true;
    }
    f->pump_empty |= 1u << part;
  } else {
    if (poll_is_due(part, ticks() - us_to_ticks(200))) poll_events(part, nullptr);
    f->moving = true;  // keeps the tick: others than us may not come round for long
  }
}

static void look_at_pump(Findings* f) {
  if (!pump_is_empty()) return;
  for (uint32_t part = 0; part < pump_parts(); ++part) look_at_pump(part, f);
}

// Relaxed: the number says it all.
static std::atomic<int> g_tid{0};
int sysmon_tid() { return g_tid.load(std::memory_order_relaxed); }

// Timers of idle carriers whose keeper has become busy. The earliest deadline of all after that.
static uint64_t fire_timers_of_idle(uint64_t now) {
  uint64_t deadline = earliest_deadline();
  if (!timer_overdue(deadline, now)) return deadline;
  for (uint32_t i = 0; i < g_scheduler.carrier_count; ++i) {
    Carrier& c = g_scheduler.carriers[i];
    if (c.current.load(std::memory_order_acquire) == nullptr &&
        timer_overdue(c.next_deadline.load(std::memory_order_relaxed), now))
      fire_timers(&c, nullptr, now);
  }
  return earliest_deadline();
}

// Hand-offs and wake-ups in a hurry find a spare worker ready. Those that the kernel has not let
// run yet count: on a busy machine that takes milliseconds, and 64 tasks that read from the disk
// had 2,395 kernel threads, one for each of SysMonitor's looks. False: the kernel refuses one.
static bool keep_a_spare(Findings* f) {
  Scheduler& s = g_scheduler;
  if (s.idle.spares() != 0 ||
      s.workers_starting.load(std::memory_order_relaxed) > s.carrier_count ||
      s.worker_count.load(std::memory_order_relaxed) >= kMaxWorkers)
    return true;
  bool made = worker_start(nullptr);
  // Work that waits for this worker, or, if it was refused, for the next attempt.
  if (!s.global.empty() || any_work_visible()) f->starving = true;
  return made;
}

// While all carriers are idle and nothing waits: ns, or ~0, until told.
static uint64_t end_of_long_sleep(uint64_t now, uint64_t deadline) {
  // A carrier given away by a task that went into the kernel leaves its timers to nobody, unless
  // the sleeping timekeeper's deadline is earlier.
  uint64_t wake_at = deadline < watched_deadline() ? deadline + kTimerSlackNs : ~0ull;
  uint64_t told = g_told.load(std::memory_order_relaxed);
  if (told <= now)
    g_told.store(~0ull, std::memory_order_relaxed);
  else if (told < wake_at && wake_at - told > kTimerSlackNs)
    wake_at = told + kTimerSlackNs;
  return wake_at;
}

static void* sysmon_main(void*) {
  Scheduler& s = g_scheduler;
  g_tid.store(kernel::gettid(), std::memory_order_relaxed);
  thread_self().depth.store(1, std::memory_order_relaxed);
  uint64_t period = kShortestNs;
  PumpParts pump_was_empty = 0;
  for (;;) {
    // An exchange: a store would not keep the looks that follow behind it (AArch64), and a notice
    // that comes after them would be lost with it.
    g_kick.exchange(0, std::memory_order_seq_cst);
    uint64_t now = monotonic_ns();
    Findings f;
    f.pump_was_empty = pump_was_empty;
    look_at_pump(&f);
    pump_was_empty = f.pump_empty;
    for (uint32_t i = 0; i < s.carrier_count; ++i) look_at(&s.carriers[i], now, &f);
    if (!chaos()) width_look(f.kept);
    if (Spread::possible(s.carrier_count)) placement_look(now);
    uint64_t deadline = fire_timers_of_idle(now);
    if (!s.global.empty() && s.idle.idle() != 0) announce_work(Noticer::SysMonitor);
    if (!keep_a_spare(&f)) period = kLongestNs;
    LentLook lent = lent_look(now);
    f.moving |= lent.computing;
    uint64_t tick = s.config.sysmon_tick_us * 1000;
    if (f.waiting || f.starving)
      period = kShortestNs < tick ? kShortestNs : tick;
    else if (f.moving)
      period = period * 2 < tick ? period * 2 : tick;
    else
      period = period * 2 < kLongestNs ? period * 2 : kLongestNs;
    uint64_t wake_at = std::min(now + period, std::max(f.due, now + kShortestNs));
    bool idle = all_idle() && s.global.empty() && f.pump_empty == 0 && !f.starving;
    // It must know what parked last on an idle carrier (acquire: with publish_idle).
    std::atomic_thread_fence(std::memory_order_acquire);
    uint64_t trim_at = trim_stacks(now);
    if (idle) {
      wake_at = std::min(end_of_long_sleep(now, deadline), trim_at);
      if (lent.lighter) wake_at = std::min(wake_at, now + kLongestNs);
    } else if (deadline < wake_at) {
      wake_at = deadline > now + 20000 ? deadline + kTimerSlackNs : now + kShortestNs;
    }
    g_wakes_at.store(wake_at, std::memory_order_relaxed);
    uint32_t lazy = idle || period > tick ? 1 : 0;
    g_sysmon_lazy.store(lazy, std::memory_order_relaxed);
    // seq_cst: publish how long it sleeps, then look once more. Who leaves work behind pushes it (a
    // locked instruction), then looks at lazy: one of the two sees the other. With one carrier the
    // push is a plain store; overlooked there, a task waits for kLongestNs instead of a tick.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if ((lazy != 0 && (carriers_moved(idle) || pump_is_empty())) || deadline_left(deadline, idle)) {
      period = kShortestNs;
      wake_at = now + period;
      g_wakes_at.store(wake_at, std::memory_order_relaxed);
      g_sysmon_lazy.store(0, std::memory_order_relaxed);
    }
    kernel::futex_wait(&g_kick, 0, wake_at == ~0ull ? kForever : wake_at);
    g_sysmon_lazy.store(0, std::memory_order_relaxed);
    if (g_kick.load(std::memory_order_relaxed) != 0) period = kShortestNs;
  }
  return nullptr;
}

uint64_t sysmon_wakes_at() { return g_wakes_at.load(std::memory_order_relaxed); }

bool sysmon_start() { return start_kernel_thread(sysmon_main, nullptr); }

}  // namespace wisp
