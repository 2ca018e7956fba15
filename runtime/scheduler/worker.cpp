// The worker's loop, on its own kernel stack: find work, run it, sleep when there is none.
#include <errno.h>
#include <stdlib.h>

#include <algorithm>
#include <new>

#include "coroutine/context.h"
#include "scheduler/internal.h"
#include "scheduler/lent.h"
#include "scheduler/placement.h"

namespace wisp {

constexpr uint64_t kMaxSpinUs = 40;
// With many carriers there mostly is something to be found somewhere, which its own carrier would
// have run as soon, and warm: on 16 carriers a third of all processor time went into searches.
constexpr uint32_t kMany = 4;
constexpr uint64_t kMaxSpinOfManyUs = 5;
// Workers that are kept apart (spread.h) share their processors with others than each other, who
// have something to do there.
constexpr uint64_t kMaxSpinApartUs = 10;
constexpr uint64_t kMinSpinUs = 1;
constexpr uint32_t kMaxSpares = 64;  // beyond carriers; more leave for good

static uint64_t max_spin_ticks() {
  if (g_scheduler.carrier_count >= kMany) return us_to_ticks(kMaxSpinOfManyUs);
  return us_to_ticks(kept_apart() ? kMaxSpinApartUs : kMaxSpinUs);
}

static void end_search(Worker* w, bool found) {
  if (!w->searching) return;
  w->searching = false;
  bool last = g_scheduler.idle.stop_searching();
  if (!found || !last) return;
  // The last searcher found work: there may be more of it, announced while this search kept others
  // from being woken. So the next one is woken; with no idle carrier left SysMonitor must know, and
  // of a task in a next slot as well, whose waker trusted in this search (announce_wake). seq_cst:
  // the waker stores next, then looks at the searchers (a fence in announce_work); we have stopped
  // searching (seq_cst), then look at next.
  Work work = visible_work();
  if (work == Work::ForAnybody)
    announce_work();
  else if (work == Work::ForItsCarrier || any_next_visible())
    sysmon_notice();
}

// A carrier gets busy, or busier, in a way that those who armed timers could not know of: timers
// that a sleeping worker watched, or that their carrier was to see to when it got idle, may now be
// watched by nobody.
static void deadlines_may_be_unwatched() {
  uint64_t deadline = earliest_deadline();
  if (deadline < watched_deadline()) sysmon_watch_deadline(deadline);
}

// Up from sleep_until_bound. The event pump may be without a worker now.
static void awake(Worker* w) {
  trace(w->carrier, TraceKind::Awake, nullptr);
  placement_after_wake(w);
  placement_look_around(w->carrier);
  w->carrier->busy.begin(ticks());
  // A system call. What it used for itself meanwhile, some 10 us each time, may be charged to a
  // task until then.
  constexpr uint32_t kEvery = 4;
  if (++w->times_awake % kEvery == 0) forget_own_cpu(w);
  pump_may_be_empty();
  deadlines_may_be_unwatched();
}

// It had published itself, saw work, and has a carrier again: without having slept. It searches as
// if it had not stopped: of what was announced and trusted to that search there may be more than it
// runs itself (end_search). Two CPU-bound tasks woken in that moment: one ran, the other one waited
// for it to end beside an idle carrier, and SysMonitor slept for ever (tests/model/idle_test.cpp,
// "meeting").
static bool changes_its_mind(Worker* w) {
  if (!g_scheduler.idle.take_back(w)) return false;
  g_scheduler.idle.search_on();
  w->searching = true;
  uint64_t now = ticks();
  w->carrier->now = now;
  w->carrier->busy.begin(now);
  trace(w->carrier, TraceKind::Awake, nullptr, kNoTraceTask, now);
  deadlines_may_be_unwatched();
  return true;
}

static void search_less(Worker* w) {
  w->spin_ticks = std::max(w->spin_ticks / 2, us_to_ticks(kMinSpinUs));
}

// For a carrier that has run dry: its ring has work now. `own`: its own part is looked at.
static bool found_in_pump(Worker* w, Carrier* c, bool own = true) {
  w->pump_first = own && poll_events(c) != 0;
  if (own) w->last_look.found(w->pump_first);
  if (!w->pump_first) w->pump_first = poll_neglected(c) != 0;
  if (!w->pump_first) return false;
  end_search(w, true);
  deadlines_may_be_unwatched();
  return true;
}

// It lent itself to a handed-off task, which has now parked: a spare, until it has a carrier.
// False: it is not needed any more, cannot get its weight back, or was changed by its task.
static bool wait_as_spare(Worker* w) {
  Scheduler& s = g_scheduler;
  if (!lent_over(w)) return false;
  if (w->changed) return false;
  if (s.idle.spares() > s.carrier_count + kMaxSpares && !w->stays.load(std::memory_order_relaxed))
    return false;
  s.idle.publish_spare(w);
  // A carrier may have been given away with work while there was no spare to take it. seq_cst:
  // published, then looked. Who gives a carrier away looks for a spare first, and tells SysMonitor
  // after it has published the carrier and found none.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (s.idle.idle() != 0 && visible_work() == Work::ForAnybody && changes_its_mind(w)) return true;
  sleep_until_bound(w);
  awake(w);
  return true;
}

// Its carrier has run dry: it gives that and itself to the idle lists, and sleeps until it has one
// again; at once, if there is work after all.
static void go_idle(Worker* w, Carrier* c) {
  Scheduler& s = g_scheduler;
  bump(c->idles);
  trace(c, TraceKind::Idle, nullptr);
  // Read before it is published: from then on `searching` belongs to whoever wakes this worker.
  bool searching = w->searching;
  w->searching = false;
  trim_notice(c);
  uint64_t end = ticks();
  s.attendance.worked(c->busy.now_for(end) / g_ticks_per_us);
  c->busy.end(end);
  pump_part_left(c);
  s.idle.publish_idle(c, w);
  if (searching) s.idle.stop_searching();
  // seq_cst: publish, then look (idle.h). The carrier's own ring is empty for good, as only its
  // owner fills it; its inbox is not.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  Work work = visible_work();
  if (work == Work::ForAnybody) {
    // What was sent home just now is its own also where it is not wanted.
    if ((s.idle.wakeable() != 0 || !c->inbox.empty()) && changes_its_mind(w)) return;
    sysmon_notice();  // chosen already, or none is wanted any more, or idle
  } else if (work == Work::ForItsCarrier || any_next_visible()) {
    // That carrier may be stuck after all. Or a waker trusted in our search, which does not take
    // what is young.
    sysmon_notice();
  }
  sleep_until_bound(w);
  w->last_look.waited((ticks() - end) / g_ticks_per_us);
  awake(w);
}

// Carriers are kept back, no other one is busy, and nothing is queued: a search would find only
// what kernel threads that are no tasks bring in this very moment. Who brings it wakes a worker.
static bool nothing_elsewhere() {
  const Scheduler& s = g_scheduler;
  return s.idle.kept_back() != 0 && s.idle.idle() + 1 >= s.carrier_count && !any_work_visible();
}

// Null: the kernel thread is to end.
static WispTask* next_task(Worker* w) {
  Scheduler& s = g_scheduler;
  for (;;) {
    Carrier* c = w->carrier;
    if (c == nullptr) {
      if (!wait_as_spare(w)) return nullptr;
      continue;
    }
    c->now = ticks();
    WispTask* t = w->dispatch_next;
    w->dispatch_next = nullptr;
    if (t == nullptr) t = pick_next(c);
    if (t != nullptr) {
      end_search(w, true);
      return t;
    }
    if (s.carrier_count > 1) {
      // Nothing to steal, and the last work came from the pump: a search in vain takes a
      // microsecond and more, a look there half of one.
      if (w->pump_first && visible_work() != Work::ForAnybody && found_in_pump(w, c)) {
        search_less(w);
        continue;
      }
      if (!w->searching && !s.idle.more_busy_than_wanted() && !nothing_elsewhere())
        w->searching = s.idle.try_search(s.carrier_count - s.idle.idle());
      if (w->searching) {
        t = search(w, c);
        if (t != nullptr) {
          s.forecast.help_wanted();
          w->spin_ticks = std::min(w->spin_ticks * 2, max_spin_ticks());
          end_search(w, true);
          deadlines_may_be_unwatched();
          return t;
        }
        search_less(w);
      }
    }
    // Who waits in its part already may have been woken and not have run yet: then it does look.
    bool own = s.idle.polling(c->part) || w->last_look.pays();
    if (!found_in_pump(w, c, own)) go_idle(w, c);
  }
}

// Structs without a kernel thread, for the next ones: a thread has ended, or was refused (where the
// kernel allows no more SysMonitor asks a thousand times a second). They are never freed, since
// observers walk all_workers.
static struct {
  SpinLock lock;
  Worker* head = nullptr;
} g_unused;

static void worker_unused(Worker* w) {
  w->tid.store(0, std::memory_order_relaxed);
  w->carrier = nullptr;
  w->waker_processor = -1;
  w->kept_off.store(false, std::memory_order_relaxed);
  w->left_pump_for_timer = false;
  w->changed = false;
  w->nice_added.store(0, std::memory_order_relaxed);
  w->cpu_seen.store(0, std::memory_order_relaxed);
  w->cpu_charged.store(0, std::memory_order_relaxed);
  SpinGuard guard(g_unused.lock);
  w->next = g_unused.head;
  g_unused.head = w;
}

std::atomic<const WorkerWatch*> g_worker_watch{nullptr};

static void* worker_main(void* argument) {
  Worker* w = static_cast<Worker*>(argument);
  ThreadSelf& me = thread_self();
  me.worker = w;
  me.depth.store(1, std::memory_order_relaxed);
  w->native_self = &me;
  w->native_tp = thread_pointer();
  int tid = kernel::gettid();
  w->tid.store(tid, std::memory_order_seq_cst);
  if (const WorkerWatch* watch = g_worker_watch.load(std::memory_order_seq_cst)) watch->begins(w);
  w->signal_mask = kernel::kAllSignals;
  w->random = static_cast<uint32_t>(tid) * 2654435761u | 1;
  w->spin_ticks = max_spin_ticks();
#if !WISP_SWITCH_FS
  fiber_adopt_thread(&w->fiber);
#endif
  if (w->carrier == nullptr) g_scheduler.workers_starting.fetch_sub(1, std::memory_order_relaxed);
  while (WispTask* task = next_task(w)) {
    run_task(w, w->carrier, task);
  }
  // What is deferred here is handled now, and nothing more comes: on this kernel thread no flow
  // will leave the runtime again.
  me.depth.store(0, std::memory_order_relaxed);
  compiler_barrier();
  if (me.pending_signals.load(std::memory_order_relaxed) != 0) runtime_leave_slow(me);
  kernel::set_signal_mask(kernel::kAllSignals);
  compiler_barrier();
  me.depth.store(1, std::memory_order_relaxed);
  outlive_children();
  me.worker = nullptr;
  if (const WorkerWatch* watch = g_worker_watch.load(std::memory_order_seq_cst)) watch->ends(w);
  g_scheduler.worker_count.fetch_sub(1, std::memory_order_relaxed);
  worker_unused(w);
  return nullptr;
}

static Worker* worker_make() {
  {
    SpinGuard guard(g_unused.lock);
    if (Worker* w = g_unused.head) {
      g_unused.head = w->next;
      return w;
    }
  }
  void* memory = nullptr;
  if (posix_memalign(&memory, kCacheLine, sizeof(Worker)) != 0) {
    errno = ENOMEM;
    return nullptr;
  }
  Worker* w = new (memory) Worker();
  Worker* head = g_scheduler.all_workers.load(std::memory_order_relaxed);
  do w->all_next = head;
  while (!g_scheduler.all_workers.compare_exchange_weak(head, w, std::memory_order_release));
  return w;
}

bool worker_start(Carrier* carrier) {
  Worker* w = worker_make();
  if (w == nullptr) return false;
  w->carrier = carrier;
  if (carrier != nullptr) {
    carrier->worker = w;
    w->part = carrier->part;
  }
  g_scheduler.worker_count.fetch_add(1, std::memory_order_relaxed);
  if (carrier == nullptr) g_scheduler.workers_starting.fetch_add(1, std::memory_order_relaxed);
  if (start_kernel_thread(worker_main, w)) return true;
  if (carrier == nullptr) g_scheduler.workers_starting.fetch_sub(1, std::memory_order_relaxed);
  g_scheduler.worker_count.fetch_sub(1, std::memory_order_relaxed);
  int error = errno;
  worker_unused(w);
  errno = error;
  return false;
}

}  // namespace wisp
