// See home.h.
//
// A task in an inbox and a carrier going idle. The sender pushes, a full fence, looks whether the
// home is idle; who goes idle marks that (BusyTime::end), publishes the carrier, a full fence,
// looks at the inboxes: one of the two sees the other. Who sees an idle home that is not in the
// idle list yet leaves it to its worker's look, which follows; one that is not there any more has
// been bound to a worker, which takes its inbox before it picks (tests/model/idle_test.cpp, the
// cases "home").
#include "scheduler/home.h"

#include "scheduler/internal.h"
#include "scheduler/placement.h"

namespace wisp {

bool outweighs_message(const WispTask* task) {
  constexpr uint64_t kUs = 8;
  return task->slice_mean.load(std::memory_order_relaxed) > us_to_ticks(kUs);
}

bool comes_to_them(const Carrier* c, uint64_t now) {
  constexpr uint64_t kBriefUs = 40, kMovesUs = 50;
  uint32_t queued = c->queued();
  return queued != 0 && !c->busy.idle() && c->pace.expected(queued) < us_to_ticks(kBriefUs) &&
         now < c->now + us_to_ticks(kMovesUs) && !chaos();
}

static bool takes_more(const Carrier* home) {
  constexpr uint64_t kLongUs = 100;
  return home->pace.expected(home->queued() + 1) <= us_to_ticks(kLongUs);
}

static void wake_home(Carrier* home) {
  bool no_spare = false;
  Worker* w = g_scheduler.idle.take_pair_of(home, &no_spare);
  if (w == nullptr) {
    // In the first case it makes workers.
    no_spare ? sysmon_notice_slow() : sysmon_notice();
    return;
  }
  // Ours until the worker is up; thieves leave it the time for that.
  home->now = ticks();
  home->busy.begin(home->now);
  bump(home->wakeups);
  placement_before_wake(w);
  wake_worker(w, kRunCarrier);
}

bool send_home(WispTask* task, Carrier* here, IdleHome idle) {
  const Scheduler& s = g_scheduler;
  Carrier* home = task->carrier;
  if (home == here || home == nullptr || task->awaits_partner || s.carrier_count == 1) return false;
  if (chaos() && chaos_one_in(2)) return false;
  if (!home->busy.idle() ? !takes_more(home) : idle == IdleHome::Leave || home->index >= s.width())
    return false;
  home->inbox.push(task);
  // seq_cst: see above.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (home->busy.idle())
    wake_home(home);
  else
    sysmon_notice();
  return true;
}

}  // namespace wisp
