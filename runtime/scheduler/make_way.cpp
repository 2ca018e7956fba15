// A task that goes on while others wait: it lets them run first, behind what it does for them.
#include "scheduler/internal.h"
#include "scheduler/own_thread.h"
#include "scheduler/pick.h"

namespace wisp {

// See docs/wake-ups.md. A chain of tasks that each wake one and make way keeps the
// ring waiting for so long at most.
constexpr uint64_t kMakeWayUs = 1000;
// A task that never waits, as its answers are always there already, goes on for so long while
// others have got answers, and for so long while any others queue. SysMonitor would come later.
constexpr uint64_t kLongRunUs = 200, kLongestRunUs = 1000;
// For so long where one carrier does all (narrow.h): nobody else takes what waits. Four clients of
// a server, whose answers were always there already, had a p99 of 516 us there, with it 190 (on two
// carriers 245).
constexpr uint64_t kAloneRunUs = 50;

static bool one_does_all() { return g_scheduler.idle.kept_back() != 0 && g_scheduler.width() == 1; }

bool make_way_is_due() {
  // The task's own fields: the carrier may be taken away from it meanwhile. relaxed: a thief may
  // empty the slot at any time.
  const WispTask* self = current_task();
  const Carrier* c = self->carrier;
  if (c == nullptr || WISP_UNLIKELY(self->stays_here != 0)) return false;
  if (c->next.load(std::memory_order_relaxed) != nullptr) return true;
  uint64_t now = ticks();
  return now - self->dispatched_at >= us_to_ticks(one_does_all() ? kAloneRunUs : kLongRunUs) &&
         (c->anything_queued() || g_scheduler.global.has_answers() || poll_is_due(c->part, now));
}

// Who asks is in the middle of something, and holds what others may wait for: it goes to the front.
static void make_way_with_a_question(WispTask* self, Carrier* c) {
  if (!one_does_all() || ticks() - self->dispatched_at < us_to_ticks(kAloneRunUs)) return;
  leaves_ready(self);
  if (!c->front.push(self)) push_local(c, self);
  switch_out(self);
}

void make_way(bool asks) {
  RuntimeEntry entry;
  WispTask* self = entry.task();
  Carrier* c = self->carrier;
  // With a carrier idle announce_wake has found that the woken one goes there, or can wait.
  if (c == nullptr || g_scheduler.idle.wakeable() != 0) return;
  if (asks) return make_way_with_a_question(self, c);
  uint64_t now = ticks();
  WispTask* woken = nullptr;
  if (now < c->slice_end + us_to_ticks(kMakeWayUs - kSliceUs)) woken = c->swap_next(nullptr);
  if (woken != nullptr) {
    leaves_ready(self);
    if (now < c->slice_end) {
      if (WispTask* other = c->swap_next(self)) push_local(c, other);
    } else {
      push_local(c, self);
    }
    switch_out_for(self, woken);
    return;
  }
  // (After 500 us for anything in the ring: 256 connections 1.07 to 1.09 instead of 1.16 to 1.17 of
  // plain's requests, docs/tried-turns.md.)
  uint64_t longest = answers_wait(c) ? kLongRunUs : kLongestRunUs;
  if (now - self->dispatched_at < us_to_ticks(longest)) return;
  leaves_ready(self);
  push_local(c, self);
  switch_out(self);
}

constexpr uint64_t kTurnUs = 1000;
// In a row: mostly enough for somebody who wants two locks (JDK 8 signals with one held), now and
// then for a queue of waiters of whom each lets the next one go first.
constexpr uint32_t kFewTurns = 4, kManyTurns = 64;

bool turn_is_due() {
  // As in make_way_is_due.
  const WispTask* self = current_task();
  const Carrier* c = self != nullptr ? self->carrier : nullptr;
  if (c == nullptr || WISP_LIKELY(c->now < c->turn_at)) return false;
  // Not inside the runtime: who waits on a condition queues its waiter and unlocks the mutex then;
  // it would be queued to run, and a signal would queue it once more. Not in a vfork child, which
  // gives back locks that it shares with tasks: the task it stands on is its parent.
  return c->next.load(std::memory_order_relaxed) != nullptr &&
         self->self->depth.load(std::memory_order_relaxed) == 0 && self->self->straight == 0;
}

void give_turn() {
  RuntimeEntry entry;
  WispTask* self = entry.task();
  Carrier* c = self->carrier;
  if (c == nullptr || keeps_thread(self)) return;
  WispTask* woken = c->swap_next(nullptr);
  if (woken == nullptr) return;
  if (c->turns == 0 || --c->turns == 0) {
    uint32_t chance = next_random(self->worker.load(std::memory_order_relaxed)) % 16;
    c->turns = chance == 0 ? kManyTurns : 1 + chance % kFewTurns;
    c->turn_at = c->now + us_to_ticks(kTurnUs);
  }
  leaves_ready(self);
  c->swap_next(self);
  sysmon_notice();  // for a moment nobody has seen anything in the slot
  switch_out_for(self, woken);
}

}  // namespace wisp
