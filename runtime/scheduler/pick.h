// Where a task queues on a carrier, and which one is next. Owner of the carrier only. In a header
// because the switch (dispatch.cpp) has it inline.
#pragma once
#include "scheduler/internal.h"

namespace wisp {

// How long `next` may run before the ring's turn comes (docs/wake-ups.md). Four times as long left
// sockets a third to a fifth of what plain threads give, beside locks handed over without a pause.
constexpr uint64_t kSliceUs = 50;

// Tail of the ring; the global queue if that is full, or others have so little that they should
// have this one.
inline void push_local(Carrier* c, WispTask* task) {
  if (WISP_UNLIKELY(c->spills) || WISP_UNLIKELY(!c->queue.push(task)))
    g_scheduler.global.push(task);
}

// Who armed a timer here just now, with nothing else to run on this carrier, has told nobody of it
// (timer_arm): the worker that went to sleep was to watch it. Now the carrier has a task after all.
inline void own_deadline_may_be_unwatched(const Carrier* c) {
  uint64_t deadline = c->next_deadline.load(std::memory_order_relaxed);
  if (deadline < watched_deadline()) sysmon_watch_deadline(deadline);
}

// Ahead of the ring goes who has got an answer that it waited for: it is in the middle of
// something, and what it holds (a connection to the database) others wait for. All others queue in
// the ring in the order in which they come (docs/wake-ups.md).
//
// The ring has a turn after so many of the front, or after so long, whichever is first.
constexpr uint32_t kFrontPerTurn = 15;
constexpr uint64_t kRingWaitsUs = 3000;

// Whom a descriptor has woken. Any thread with c == nullptr: it goes to whoever comes first.
inline void queue_arrival(Carrier* c, WispTask* task) {
  if (c == nullptr && task->awaits_answer)
    g_scheduler.global.push_answer(task);
  else if (c == nullptr)
    g_scheduler.global.push(task);
  else if (!task->awaits_answer || !c->front.push(task))
    push_local(c, task);
}

// Somebody has got an answer and waits for a carrier, this or any.
inline bool answers_wait(const Carrier* c) {
  return !c->front.empty() || g_scheduler.global.has_answers();
}

// The carrier has taken what queued elsewhere: now and then one connection comes to it for good
// with such a task (pump_part_adopts). One at a time and not too soon: all at once they would only
// change places.
inline void may_adopt(Carrier* c) {
  constexpr uint64_t kAdoptUs = 200;
  if (c->now < c->adopts_from) return;
  c->adopts.store(true, std::memory_order_relaxed);
  c->adopts_from = c->now + us_to_ticks(kAdoptUs);
}

// t, which was popped from the global queue.
inline WispTask* from_global(Carrier* c, WispTask* t) {
  if (t != nullptr) own_deadline_may_be_unwatched(c);
  return t;
}

// Those that SysMonitor has found waited longest: carriers had not looked for some 250 us. (When
// they had each eighth turn, as all else in the global queue, 700 tasks a second of a servlet that
// updates one row waited for 1 to 4 ms, the front's for less than 0.5.)
inline WispTask* pick_answer(Carrier* c) {
  GlobalQueue& global = g_scheduler.global;
  if (WISP_UNLIKELY(global.has_answers()))
    if (WispTask* t = from_global(c, global.pop_answer())) return t;
  return c->pop_front();
}

// From the carrier's two queues, and what goes ahead.
inline WispTask* pick_queued(Carrier* c) {
  WispTask* t = c->front_left != 0 && c->now < c->ring_due ? pick_answer(c) : nullptr;
  if (t != nullptr) {
    --c->front_left;
    if (c->now < c->slice_end) return t;
  } else {
    t = c->pop();
    if (t == nullptr) t = c->pop_front();
    if (t == nullptr) return nullptr;
    c->front_left = kFrontPerTurn;
    c->ring_due = c->now + us_to_ticks(kRingWaitsUs);
  }
  c->slice_end = c->now + us_to_ticks(kSliceUs);
  return t;
}

// What others have sent here.
inline void open_inbox(Carrier* c) {
  TaskList all = c->inbox.take();
  while (WispTask* t = all.pop()) queue_arrival(c, t);
  own_deadline_may_be_unwatched(c);
}

inline WispTask* pick(Carrier* c) {
  Scheduler& s = g_scheduler;
  if (!c->inbox.empty()) open_inbox(c);
  if (chaos())
    if (WispTask* t = chaos_pick(c)) return t;
  if (WISP_UNLIKELY(c->timer_check_due(c->now)) && fire_timers(c, c, monotonic_ns()) != 0)
    own_deadline_may_be_unwatched(c);
  if (poll_is_due(c) && poll_in_turn(c) != 0) own_deadline_may_be_unwatched(c);
  // Work from outside gets its turn even when this carrier never runs dry.
  if (WISP_UNLIKELY(!s.global.empty()) && (++c->picks & 7) == 0) {
    if (WispTask* t = from_global(c, s.global.pop_other())) {
      if (!c->spills) may_adopt(c);
      return t;
    }
  }
  if (c->next.load(std::memory_order_relaxed) != nullptr) {
    WispTask* t = c->swap_next(nullptr);  // null: a thief was faster (steal_next)
    if (t != nullptr) {
      if (WISP_LIKELY(c->now < c->slice_end)) return t;
      if (!c->anything_queued() && !s.global.has_answers()) return t;
      push_local(c, t);  // the slice that `next` inherits is used up: the queues' turn
    }
  }
  if (WispTask* t = pick_queued(c)) return t;
  return s.global.empty() ? nullptr : from_global(c, s.global.pop());
}

}  // namespace wisp
