// Waking workers, firing timers, looking at the event pump: what workers and SysMonitor both do,
// copied from
//   announce.cpp  wake_searcher, announce_work, publish_with_work, give_away
//   scheduler.cpp ready and announce_wake, of a task that goes on computing
//   timers.cpp    timer_arm, fire_timers (nobody disarms: the timed waits here all run out)
//   polling.cpp   wake_worker, poll_events, pump_may_be_empty
// under the same names, reduced as watch_state.h says. Keep alike.
#pragma once
#include "watch_state.h"

namespace watch_model {

struct Wakers : State {
  using State::State;

  // --- announce.cpp
  void wake_worker(Worker* w, WakeWord what) {
    w->wake.store(what);
    if (uint32_t part = w->polling.load(); part != 0) pump[part - 1].fetch_or(kInterrupt);
  }
  void wake_searcher(Noticer by) {
    for (;;) {
      if (!idle.claim_searcher()) return;
      bool no_spare = false;
      if (Worker* w = idle.take_pair(&no_spare)) {
        w->searching = true;
        return wake_worker(w, kRunCarrier);
      }
      idle.stop_searching();
      if (no_spare) {
        if (by != Noticer::SysMonitor || has(kSysmonWakesItself)) sysmon_notice_slow(by);
        return;
      }
      model::fence();
      if (!any_work_visible()) return any_next_visible() ? sysmon_notice() : void();
      if (idle.idle() == 0) return has(kAloneInSearch) ? void() : sysmon_notice();
    }
  }
  void announce_work(Noticer by = Noticer::Other) {
    model::fence();
    wisp::Help help = idle.help();
    if (help == wisp::Help::Wake)
      wake_searcher(by);
    else if (help == wisp::Help::None)
      sysmon_notice();
  }
  void give_away(Carrier* c) {
    bool has_work =
        c->next.load(relaxed) != 0 || c->queue.load(relaxed) != 0 || global.load(relaxed) != 0;
    if (has_work)
      if (Worker* w = idle.take_spare(c)) return wake_worker(w, kRunCarrier);
    publish_with_work(c);
    uint32_t deadline = c->next_deadline.load(relaxed);
    if (deadline != kNever && !has(kTimerGivenAway) && deadline < watched.load(relaxed))
      sysmon_watch_deadline(deadline);
    if (has_work) return sysmon_notice_slow();
    model::fence();
    if (any_work_visible()) wake_searcher(Noticer::Other);
  }

  void publish_with_work(Carrier* c) {
    if (c->next.load(relaxed) != 0)
      if (Tasks t = c->next.exchange(0)) c->queue.fetch_or(t);
    idle.publish_carrier(c);
  }
  // --- scheduler.cpp
  void ready(Carrier* c, Tasks task) {
    if (Tasks displaced = c->next.exchange(task)) c->queue.fetch_or(displaced);
    if (idle.wakeable() == 0)
      sysmon_notice();
    else
      announce_work();
  }

  // --- timers.cpp
  void insert_timer(Carrier* c, Tasks task, uint32_t deadline) {
    c->timer[index_of(task)] = deadline;
    refresh(c);
  }
  void refresh(Carrier* c) {
    uint32_t first = kNever;
    for (Plain<uint32_t>& t : c->timer)
      if (t != 0u && t < first) first = t;
    c->next_deadline.store(first, relaxed);
  }
  // `own` null: a handed-off task's.
  void timer_arm(Tasks task, Carrier* own, uint32_t deadline) {
    Carrier* c = own != nullptr ? own : &carrier[0];
    c->timer_lock.lock();
    insert_timer(c, task, deadline);
    bool first = c->next_deadline.load(relaxed) == deadline;
    if (first && (own != nullptr || !has(kForeignTimerUnseen)))
      c->timer_check_at.store(own != nullptr ? deadline : 0, relaxed);
    c->timer_lock.unlock();
    if (first && (own == nullptr || c->queue.load(relaxed) != 0)) sysmon_watch_deadline(deadline);
  }
  uint32_t fire_timers(Carrier* heap, Carrier* into, uint32_t time) {
    Tasks fired = 0;
    heap->timer_lock.lock();
    for (int i = 0; i < kTasks; ++i) {
      Plain<uint32_t>& t = heap->timer[i];
      if (t == 0u || t > time) continue;
      fired |= 1u << i;
      t = 0u;
    }
    refresh(heap);
    if (into == heap) heap->timer_check_at.store(heap->next_deadline.load(relaxed), relaxed);
    heap->timer_lock.unlock();
    if (fired == 0) return 0;
    (into != nullptr ? into->queue : global).fetch_or(fired);
    uint32_t count = count_of(fired);
    if (count > 1 || into == nullptr) announce_work();
    return count;
  }

  // --- polling.cpp
  uint32_t poll_events(uint32_t part, Carrier* into) {
    if (!shape.pump || idle.polling(part)) return 0;
    if (looking[part].exchange(1) != 0) return 0;
    Tasks woken = pump[part].fetch_and(kInterrupt) & ~kInterrupt;
    looking[part].store(0, release);
    if (woken != 0) (into != nullptr ? into->queue : global).fetch_or(woken);
    uint32_t n = count_of(woken);
    if (n > 1 || (n == 1 && into == nullptr)) announce_work();
    return n;
  }
  // How long a part has been neglected is a matter of time: it may be long enough or not.
  uint32_t poll_neglected(Carrier* into) {
    uint32_t n = 0;
    for (uint32_t part = 0; part < shape.parts && pump_is_empty(); ++part)
      if (part != into->part && !idle.polling(part) && model::choose(2) != 0)
        n += poll_events(part, into);
    return n;
  }
  void pump_may_be_empty() {
    if (!has(kNoFenceAtPump)) model::fence();
    if (pump_is_empty() && !has(kPumpLeftForATimer)) sysmon_notice();
  }

  static int index_of(Tasks task) { return __builtin_ctz(task); }
  static uint32_t count_of(Tasks tasks) { return static_cast<uint32_t>(__builtin_popcount(tasks)); }
  static Tasks take_one(Atomic<Tasks>& queue) {
    Tasks all = queue.load(relaxed);
    while (all != 0) {
      Tasks one = all & -all;
      if (queue.compare_exchange_weak(all, all & ~one)) return one;
    }
    return 0;
  }
};

}  // namespace watch_model
