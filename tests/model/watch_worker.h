// The worker's side of who watches the event pump and the deadlines, copied from
//   sleep.cpp    take_watch, drop_watch, start_helping, send_to_pump_instead, sleep_until_bound
//   polling.cpp  attend_pump, wait_for_events
//   dispatch.cpp pick_next and what it tells;  search.cpp  search, one pass
//   worker.cpp   end_search, deadlines_may_be_unwatched, awake, changes_its_mind, next_task with
//                wait_as_spare and go_idle
// under the same names, reduced as watch_state.h says. Keep alike. A busy carrier does not look at
// the pump between two tasks: whether it does is a matter of time.
#pragma once
#include "watch_wake.h"

namespace watch_model {

enum class Watch : uint8_t { Nothing, Deadline, Help };
enum class EventWait : uint8_t { NotThere, Waited, Bound };

struct Workers : Wakers {
  using Wakers::Wakers;

  // --- polling.cpp
  void attend_pump(uint32_t part) {  // it pays if the shape says so
    if (!shape.attends || idle.idle() == 0 || idle.polling(part)) return;
    if (Worker* other = idle.take_any_spare()) {
      other->part.store(part, relaxed);
      wake_worker(other, kGoToPump);
    }
  }
  bool occupy_part(Worker* w, uint32_t* occupied_part) {
    uint32_t part = w->part.load(relaxed);
    for (uint32_t i = 0; i < shape.parts; ++i, part = (part + 1) % shape.parts) {
      if (i != 0 && pump_part_is_seen_to(part)) continue;
      if (occupied[part].exchange(1) != 0) continue;
      if (idle.become_poller(w, part)) return *occupied_part = part, true;
      occupied[part].store(0, release);
    }
    return false;
  }
  EventWait wait_for_events(Worker* w, uint32_t until) {
    if (!shape.pump || w->wake.load(relaxed) != 0) return EventWait::NotThere;
    if (idle.idle() == 0) {
      if (!has(kBusyPumpUntold)) pump_may_be_empty();
      return EventWait::NotThere;
    }
    uint32_t part;
    if (!occupy_part(w, &part)) {
      if (!has(kSeenToUntold)) pump_may_be_empty();
      return EventWait::NotThere;
    }
    w->polling.store(part + 1);
    Tasks woken = 0;
    if (w->wake.load() == 0) {
      pump[part].sleep_until([](uint32_t v) { return v != 0; }, now, until);
      woken = pump[part].exchange(0) & ~kInterrupt;
    }
    w->polling.store(0);
    occupied[part].store(0, release);
    if (woken == 0) {
      idle.stop_polling(w);
      return EventWait::Waited;
    }
    if (w->wake.load(relaxed) == 0) w->part.store(part, relaxed);
    if (idle.take_back(w)) {
      static_cast<Carrier*>(w->carrier)->queue.fetch_or(woken);
      if (count_of(woken) > 1) announce_work();
      attend_pump(part);
      return EventWait::Bound;
    }
    idle.stop_polling(w);
    global.fetch_or(woken);
    announce_work();
    return EventWait::Waited;
  }

  // --- sleep.cpp
  Watch take_watch(uint32_t deadline, uint32_t helped) {
    uint32_t other = watched.load(relaxed);
    while (deadline < other) {
      if (watched.compare_exchange_weak(other, deadline)) return Watch::Deadline;
      if (has(kWatchGivenUp)) break;
    }
    if (shape.helper && deadline != kNever && deadline != helped && !helper_watches.exchange(true))
      return Watch::Help;
    return Watch::Nothing;
  }
  void drop_watch(Watch watch, uint32_t deadline) {
    if (watch == Watch::Help) helper_watches.store(false, relaxed);
    if (watch == Watch::Deadline) watched.compare_exchange_strong(deadline, kNever);
  }
  bool start_helping(Worker* w, uint32_t deadline) {
    model::yield();  // with one carrier it does not search: until the deadline it comes again
    if (!idle.claim_searcher()) return false;
    if (idle.take_back(w)) {
      w->searching = true;
      w->search_until = deadline;
      return true;
    }
    idle.stop_searching();
    model::fence();
    if (any_work_visible() && !has(kHelperSilent))
      announce_work();
    else if (any_next_visible())
      sysmon_notice();
    return false;
  }
  bool send_to_pump_instead(Worker* w) {
    uint32_t part = w->part.load(relaxed);
    if (!w->left_pump_for_timer || idle.polling(part)) return false;
    w->left_pump_for_timer = false;
    Worker* other = idle.take_any_spare(w);
    if (other == nullptr) return false;
    other->part.store(part, relaxed);
    wake_worker(other, kGoToPump);
    return true;
  }
  // Asleep, or close to a deadline without sleep. The wake word, 0: it is `until`.
  uint32_t sleep_on_futex(Worker* w, uint32_t until) {
    return w->wake.sleep_until([](uint32_t v) { return v != 0; }, now, until);
  }
  void sleep_until_bound(Worker* w) {
    uint32_t helped = kNever;
    for (;;) {
      model::forget(helped);
      uint32_t deadline = earliest_deadline();
      Watch watch = take_watch(deadline, helped);
      uint32_t until = watch != Watch::Nothing ? deadline : kNever;
      bool ahead = until != kNever && shape.helper;
      if (ahead) until -= 1;
      EventWait waited = EventWait::NotThere;
      if (watch == Watch::Nothing || !send_to_pump_instead(w)) waited = wait_for_events(w, until);
      if (waited == EventWait::NotThere) sleep_on_futex(w, until);
      if (waited == EventWait::Bound) return drop_watch(watch, deadline);
      uint32_t wake = w->wake.load(acquire);
      if (ahead && wake == 0 && now.load(relaxed) >= until) {
        if (watch == Watch::Help) {
          w->left_pump_for_timer = waited == EventWait::Waited;
          drop_watch(watch, deadline);
          if (start_helping(w, deadline)) return;
          helped = deadline;
          continue;
        }
        wake = sleep_on_futex(w, deadline);
      }
      drop_watch(watch, deadline);
      if (wake == kRunCarrier) break;
      if (wake == kGoToPump) {
        w->wake.store(0, relaxed);
        idle.publish_spare(w);
        continue;
      }
      if (deadline == kNever) continue;
      uint32_t time = now.load(relaxed);
      if (deadline > time) continue;
      w->left_pump_for_timer = waited == EventWait::Waited;
      if (idle.take_back(w)) {
        uint32_t fired = 0;
        for (int i = 0; i < shape.carriers; ++i)
          if (carrier[i].next_deadline.load(relaxed) <= time)
            fired += fire_timers(&carrier[i], w->carrier, time);
        if (fired > 1 && !has(kTimersOfTwoCarriers)) announce_work();
        return;
      }
      if (!has(kBusyDeadlineUntold)) sysmon_watch_deadline(time);
      if (sleep_for_long(w) == kRunCarrier) break;
    }
    w->wake.store(0, relaxed);
  }
  uint32_t sleep_for_long(Worker* w) {
    auto woken = [](uint32_t v) { return v != 0; };
    if (w->patience.get() == 0) return w->wake.sleep(woken);
    uint32_t wake = w->wake.sleep_for_long(woken);
    if (wake == 0) w->patience.add(-1);
    return wake;
  }

  // --- dispatch.cpp
  void own_deadline_may_be_unwatched(Carrier* c) {
    uint32_t deadline = c->next_deadline.load(relaxed);
    if (deadline < watched.load(relaxed) && !has(kTimerLeftByAPick))
      sysmon_watch_deadline(deadline);
  }
  Tasks pick_next(Carrier* c) {
    if (timer_check_due(c) && fire_timers(c, c, now.load(relaxed)) != 0)
      own_deadline_may_be_unwatched(c);
    if (c->next.load(relaxed) != 0)
      if (Tasks t = c->next.exchange(0)) return t;
    if (Tasks t = take_one(c->queue)) return t;
    Tasks t = take_one(global);
    if (t != 0) own_deadline_may_be_unwatched(c);
    return t;
  }
  bool timer_check_due(Carrier* c) {
    uint32_t at = c->timer_check_at.load(relaxed);
    return at != kNever && now.load(relaxed) >= at;
  }
  // --- search.cpp
  // Its waker is given a moment, which may be over or not.
  Tasks steal_next(Carrier* victim) {
    if (victim->next.load(relaxed) == 0 || victim->current.load(relaxed) == 0) return 0;
    return model::choose(2) != 0 ? take_one(victim->next) : 0;
  }
  Tasks search(Carrier* c) {
    if (Tasks t = take_one(global)) return t;
    for (int i = 0; i < shape.carriers; ++i) {
      if (&carrier[i] == c) continue;
      if (Tasks t = take_one(carrier[i].queue)) return t;
      if (Tasks t = steal_next(&carrier[i])) return t;
    }
    if (timer_check_due(c) && fire_timers(c, c, now.load(relaxed)) != 0) return take_one(c->queue);
    return 0;
  }

  // --- worker.cpp: the loop
  void end_search(Worker* w) {
    if (!w->searching) return;
    w->searching = false;
    if (!idle.stop_searching()) return;
    if (any_work_visible())
      announce_work();
    else if (any_next_visible() && !has(kNextUntold))
      sysmon_notice();
  }
  void deadlines_may_be_unwatched() {
    uint32_t deadline = earliest_deadline();
    if (deadline < watched.load(relaxed)) sysmon_watch_deadline(deadline);
  }
  void awake() {
    pump_may_be_empty();
    if (!has(kTimerLeftAwake)) deadlines_may_be_unwatched();
  }
  bool changes_its_mind(Worker* w) {
    if (!idle.take_back(w)) return false;
    idle.search_on();
    w->searching = true;
    deadlines_may_be_unwatched();
    return true;
  }
  Tasks next_task(Worker* w) {
    for (;;) {
      model::forget();
      Carrier* c = w->carrier;
      if (c == nullptr) {
        idle.publish_spare(w);
        model::fence();
        if (idle.idle() != 0 && any_work_visible() && changes_its_mind(w)) continue;
        sleep_until_bound(w);
        awake();
        continue;
      }
      if (Tasks t = pick_next(c)) {
        end_search(w);
        return t;
      }
      if (shape.carriers > 1) {
        if (!w->searching && idle.try_search(carriers() - idle.idle())) w->searching = true;
        if (w->searching) {
          Tasks t = search(c);
          if (t == 0 && w->search_until != 0u) {
            now.await([until = uint32_t(w->search_until)](uint32_t v) { return v >= until; });
            t = search(c);
          }
          w->search_until = 0u;
          if (t != 0) {
            end_search(w);
            if (!has(kTimerLeftByASearch)) deadlines_may_be_unwatched();
            return t;
          }
        }
      }
      if (poll_events(c->part, c) != 0 || poll_neglected(c) != 0) {
        end_search(w);
        deadlines_may_be_unwatched();
        continue;
      }
      bool searching = w->searching;
      w->searching = false;
      idle.publish_idle(c, w);
      if (searching) idle.stop_searching();
      model::fence();
      if (any_work_visible()) {
        if (changes_its_mind(w)) continue;
        sysmon_notice();
      } else if (any_next_visible() && !has(kNextUntold)) {
        sysmon_notice();
      }
      sleep_until_bound(w);
      awake();
    }
  }
};

}  // namespace watch_model
