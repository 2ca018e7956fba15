// A worker without work: it sleeps, on its futex or in the event pump, and owns no carrier
// (idle.h). One of the sleepers, the keeper, sleeps only until the earliest deadline of all
// carriers, and where a timer is expected to bring work for two, a helper does too (forecast.h).
#include <algorithm>

#include "platform/kernel.h"
#include "scheduler/internal.h"
#include "scheduler/placement.h"

namespace wisp {

constexpr uint64_t kNever = ~0ull;    // as a carrier's next_deadline says it
constexpr uint64_t kLittleNs = 2000;  // not over before the kernel has been asked

// The earliest deadline a sleeping worker watches. Only ever too late for a moment: a worker going
// to sleep with an earlier one puts its own there.
static std::atomic<uint64_t> g_watched{kNever};
uint64_t watched_deadline() { return g_watched.load(std::memory_order_relaxed); }

// Asleep it holds nothing of the runtime's: signal handlers may run right here.
static void sleep_on_futex(Worker* w, uint64_t deadline_ns) {
  ThreadSelf& me = *w->native_self;
  me.depth.store(0, std::memory_order_relaxed);
  compiler_barrier();
  if (me.pending_signals.load(std::memory_order_relaxed) != 0) runtime_leave_slow(me);
  // acquire: pairs with wake_worker.
  if (w->wake.load(std::memory_order_acquire) == 0) kernel::futex_wait(&w->wake, 0, deadline_ns);
  compiler_barrier();
  me.depth.store(1, std::memory_order_relaxed);
}

// What a sleeping worker watches the clock for.
enum class Watch : uint8_t { Nothing, Deadline, Help };

// One helper at a time (forecast.h). Relaxed: it orders nothing.
static std::atomic<bool> g_helper_watches{false};

static Watch take_watch(uint64_t deadline, uint64_t helped) {
  uint64_t watched = g_watched.load(std::memory_order_relaxed);
  // Again after a failure: the other one's deadline may be the later one.
  while (deadline < watched)
    if (g_watched.compare_exchange_weak(watched, deadline, std::memory_order_relaxed))
      return Watch::Deadline;
  // With one carrier there is nobody to help: its worker would go round until the deadline.
  if (g_scheduler.carrier_count > 1 && deadline != kNever && deadline != helped &&
      g_scheduler.forecast.expects_help() &&
      !g_helper_watches.exchange(true, std::memory_order_relaxed))
    return Watch::Help;
  return Watch::Nothing;
}

static void drop_watch(Watch watch, uint64_t deadline) {
  if (watch == Watch::Help) g_helper_watches.store(false, std::memory_order_relaxed);
  if (watch == Watch::Deadline)  // only our own entry: somebody with an earlier one may be there
    g_watched.compare_exchange_strong(deadline, kNever, std::memory_order_relaxed);
}

// The helper is up before the deadline. True: it is bound and searches, as if it had been woken.
static bool start_helping(Worker* w, uint64_t deadline_ns) {
  Scheduler& s = g_scheduler;
  if (!s.idle.claim_searcher()) return false;
  if (s.idle.take_back(w)) {
    w->searching = true;
    uint64_t now = monotonic_ns();
    w->spin_ticks =
        us_to_ticks((deadline_ns > now ? (deadline_ns - now) / 1000 : 0) + Forecast::kSoonUs);
    return true;
  }
  s.idle.stop_searching();
  // As in wake_searcher: somebody may have trusted this search.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (any_work_visible())
    announce_work_from(nullptr);
  else if (any_next_visible())
    sysmon_notice();
  return false;
}

// Who has left the pump for a timer and now watches the next one would leave it again, and each
// time SysMonitor has to be told (pump_may_be_empty): another spare waits there from now on. Should
// that one find all carriers busy and not go in, it tells SysMonitor itself.
static bool send_to_pump_instead(Worker* w) {
  Scheduler& s = g_scheduler;
  if (!w->left_pump_for_timer || s.idle.polling(w->part)) return false;
  w->left_pump_for_timer = false;
  Worker* other = s.idle.take_any_spare(w);
  if (other == nullptr) return false;
  other->part = w->part.load(std::memory_order_relaxed);
  wake_worker(other, kGoToPump);
  return true;
}

// The spare worker sleeps, in the event pump if nobody else is there. Returns with w->carrier set.
void sleep_until_bound(Worker* w) {
  Scheduler& s = g_scheduler;
  uint64_t helped = kNever;  // the deadline it was last up for as a helper, in vain
  for (;;) {
    uint64_t deadline = earliest_deadline();
    Watch watch = take_watch(deadline, helped);
    uint64_t until = watch != Watch::Nothing ? deadline : kForever;
    bool ahead = until != kForever && s.forecast.expects_help();
    if (ahead) until -= std::min(until - 1, s.forecast.lead_ns());  // 1: long past
    uint64_t now = watch != Watch::Nothing ? monotonic_ns() : 0;
    bool in_time = ahead && now < until;
    // Due, and may be later: asked for a little, the kernel adds its own slack.
    if (watch == Watch::Deadline && !ahead && until <= now && !timer_overdue(until, now))
      until = now + kLittleNs;
    EventWait waited = EventWait::NotThere;
    if (watch == Watch::Nothing || !send_to_pump_instead(w)) waited = wait_for_events(w, until);
    if (waited == EventWait::NotThere) sleep_on_futex(w, until);
    // Bound by itself, so no wake is on its way. In every other case w->carrier says nothing before
    // `wake` does: who takes a worker from the lists binds it first and stores `wake` later.
    if (waited == EventWait::Bound) {
      drop_watch(watch, deadline);
      return;
    }
    uint32_t wake = w->wake.load(std::memory_order_acquire);
    if (ahead && wake == 0) {
      now = monotonic_ns();
      // Otherwise it was woken for something else, a signal say.
      if (now >= until) {
        if (in_time) s.forecast.woke_late_by(now - until);
        if (watch == Watch::Help) {
          w->left_pump_for_timer = waited == EventWait::Waited;
          drop_watch(watch, deadline);
          if (start_helping(w, deadline)) return;
          helped = deadline;
          continue;
        }
        while (monotonic_ns() < deadline && w->wake.load(std::memory_order_relaxed) == 0)
          cpu_pause();
        wake = w->wake.load(std::memory_order_acquire);
      }
    }
    drop_watch(watch, deadline);
    if (wake == kRunCarrier) break;
    if (wake == kGoToPump) {
      w->wake.store(0, std::memory_order_relaxed);
      placement_after_wake(w);
      s.idle.publish_spare(w);
      continue;
    }
    if (deadline == kNever) continue;
    now = monotonic_ns();
    if (deadline > now) continue;
    // A deadline passed and nobody else is awake to see to it.
    w->left_pump_for_timer = waited == EventWait::Waited;
    if (s.idle.take_back(w)) {
      s.forecast.timer_fired(ticks());
      uint32_t fired = 0;
      for (uint32_t i = 0; i < s.carrier_count; ++i)
        if (s.carriers[i].next_deadline.load(std::memory_order_relaxed) <= now)
          fired += fire_timers(&s.carriers[i], w->carrier, now);
      if (fired > 1) announce_work();  // one of each heap is not known to any of them as two
      return;
    }
    // Every carrier is busy: SysMonitor watches the timers while that is so.
    sysmon_watch_deadline(now);
    sleep_on_futex(w, now + 10000000);
    if (w->wake.load(std::memory_order_acquire) == kRunCarrier) break;
  }
  w->wake.store(0, std::memory_order_relaxed);
}

}  // namespace wisp
