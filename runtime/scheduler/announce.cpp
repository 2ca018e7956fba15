// Telling others of work, and giving away a carrier that has none to run it: whom to wake, and what
// SysMonitor has to know. The protocol with those who go idle is in idle.h; which woken task is to
// be announced, announce_wake decides (scheduler.cpp).
#include "scheduler/internal.h"
#include "scheduler/pick.h"
#include "scheduler/placement.h"

namespace wisp {

static void wake_searcher_from(const Carrier* from, Noticer by) {
  Scheduler& s = g_scheduler;
  for (;;) {
    if (!s.idle.claim_searcher()) return;
    bool no_spare = false;
    if (Worker* w = s.idle.take_pair(&no_spare, from != nullptr ? from->part : 0)) {
      w->searching = true;
      bump(w->carrier->wakeups);
      placement_before_wake(w);
      wake_worker(w, kRunCarrier);
      s.forecast.help_wanted();
      return;
    }
    s.idle.stop_searching();
    if (no_spare) {
      // It makes workers; itself it would only keep from sleeping, where it can make none.
      if (by != Noticer::SysMonitor) sysmon_notice_slow();
      return;
    }
    // Between claim and stop somebody may have pushed, seen a searcher and trusted it: us. So look
    // once more (found by tests/model/idle_test.cpp). seq_cst: stop, then look.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    Work work = visible_work();
    if (work != Work::ForAnybody) {
      if (work == Work::ForItsCarrier || any_next_visible()) sysmon_notice();
      return;
    }
    if (s.idle.idle() == 0) {  // the last idle carrier went to somebody who has a task for it
      sysmon_notice();
      return;
    }
  }
}

void wake_searcher(Noticer by) { wake_searcher_from(my_carrier(), by); }

// So much queues here that another carrier has to help although none is wanted.
static bool too_much_for(const Carrier* c) {
  constexpr uint64_t kMuchUs = 300;
  return c != nullptr && c->pace.expected(c->queued()) >= us_to_ticks(kMuchUs);
}

void announce_work_from(const Carrier* from, Noticer by) {
  // seq_cst: between the push and the look at the idle count (see idle.h).
  std::atomic_thread_fence(std::memory_order_seq_cst);
  auto& idle = g_scheduler.idle;
  Help help = idle.help();
  if (help == Help::None && idle.idle() != 0 && too_much_for(from)) help = Help::Wake;
  if (help == Help::Wake)
    wake_searcher_from(from, by);
  else if (help == Help::None)
    sysmon_notice();
}

void announce_work(Noticer by) { announce_work_from(my_carrier(), by); }

void announce_arrivals(uint32_t n, const Carrier* picks) {
  if (n == 0) return;
  if (n > 1 || picks == nullptr || picks->queued() > 1)
    announce_work();
  else if (picks->next.load(std::memory_order_relaxed) != nullptr)
    sysmon_notice();
}

void publish_with_work(Carrier* c) {
  // Nobody looks into the next slot of a carrier without a current task: thieves wait for its waker
  // to park. The ring is seen by everybody.
  if (WispTask* t = c->swap_next(nullptr)) push_local(c, t);
  pump_part_left(c);
  c->busy.end(ticks());
  g_scheduler.idle.publish_carrier(c);
}

void give_away(Carrier* c) {
  Scheduler& s = g_scheduler;
  bool has_work = c->next.load(std::memory_order_relaxed) != nullptr || c->anything_queued() ||
                  !s.global.empty();
  if (has_work) {
    if (Worker* w = s.idle.take_spare(c)) {
      placement_before_hand_over(w);
      wake_worker(w, kRunCarrier);
      return;
    }
  }
  publish_with_work(c);
  uint64_t deadline = c->next_deadline.load(std::memory_order_relaxed);
  if (deadline != ~0ull && deadline < watched_deadline()) sysmon_watch_deadline(deadline);
  if (has_work) {
    // It makes a worker, which looks for work as every new spare does (next_task).
    sysmon_notice_slow();
    return;
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);  // publish, then look (idle.h)
  Work work = visible_work();
  if (work == Work::ForAnybody)
    wake_searcher();
  else if (work == Work::ForItsCarrier)
    sysmon_notice();
}

Work visible_work() {
  Scheduler& s = g_scheduler;
  if (!s.global.empty()) return Work::ForAnybody;
  bool left = false;
  for (uint32_t i = 0; i < s.carrier_count; ++i) {
    Carrier& c = s.carriers[i];
    if (!c.anything_queued()) continue;
    if (!left_to_it(&c, ticks())) return Work::ForAnybody;
    left = true;
  }
  return left ? Work::ForItsCarrier : Work::None;
}

bool any_next_visible() {
  for (uint32_t i = 0; i < g_scheduler.carrier_count; ++i)
    if (g_scheduler.carriers[i].next.load(std::memory_order_relaxed) != nullptr) return true;
  return false;
}

}  // namespace wisp
