// A worker around the idle protocol (idle_wake.h), copied from
//   worker.cpp    end_search, awake, changes_its_mind, next_task with wait_as_spare and go_idle
//   dispatch.cpp  pick_next;  search.cpp  search, one pass
//   sleep.cpp     start_helping, sleep_until_bound without its clock
//   polling.cpp   wait_for_events without events
// under the same names. Keep alike.
#pragma once
#include "idle_wake.h"

namespace idle_model {

struct Workers : Wakers {
  using Wakers::Wakers;

  // --- worker.cpp: the loop
  void end_search(Worker* w, bool found) {
    if (!w->searching) return;
    w->searching = false;
    woken_searchers.set(0);
    bool last = idle.stop_searching();
    if (!found || !last) return;
    Work work = visible_work();
    if (work == Work::ForAnybody)
      announce_work();
    else if (work == Work::ForItsCarrier)
      leave_behind();
  }
  // One pass over the others' rings; more passes only see more.
  Task* search(Carrier* c) {
    if (!global_empty())
      if (Task* t = global_pop()) return t;
    if (!c->inbox.empty() && c->inbox.take(1) != 0) return &leaf;
    for (int i = 0; i < shape.carriers; ++i) {
      Carrier* victim = &carrier[i];
      if (victim == c || left_to_it(victim)) continue;
      Task* loot[4];
      uint32_t n = victim->queue.steal(loot, 4);
      if (n == 0 && !victim->inbox.empty() && victim->inbox.take(1) != 0) return &leaf;
      if (n == 0) continue;
      for (uint32_t k = 1; k < n; ++k) c->queue.push(loot[k]);
      return loot[0];
    }
    return nullptr;
  }
  void open_inbox(Carrier* c) {
    for (uint32_t n = c->inbox.take(); n != 0; --n) c->queue.push(&leaf);
  }
  Task* pick_next(Carrier* c) {
    if (!c->inbox.empty()) open_inbox(c);
    if (c->next.load(relaxed) != nullptr)
      if (Task* t = c->next.exchange(nullptr)) return t;
    if (Task* t = c->queue.pop()) return t;
    return global_empty() ? nullptr : global_pop();
  }
  // The timer before the deadline, which may come at any moment.
  bool start_helping(Worker* w) {
    if (!idle.claim_searcher()) return false;
    if (idle.take_back(w)) {
      w->searching = true;
      MODEL_CHECK(woken_searchers.add(1) == 1);
      return true;
    }
    idle.stop_searching();
    if (has(kHelperLeaves)) return false;
    model::fence();
    if (any_work_visible()) announce_work();
    return false;
  }
  void sleep_until_bound(Worker* w) {
    for (;;) {
      model::forget();
      if (shape.helper && w == &worker[shape.workers - 1] && helped.exchange(1) == 0)
        if (start_helping(w)) return;
      if (!wait_for_events(w) && w->wake.load(acquire) == 0) w->wake.futex_wait(0);
      uint32_t wake = w->wake.load(acquire);
      if (wake == kRunCarrier) break;
      if (wake == kGoToPump) {
        w->wake.store(0, relaxed);
        idle.publish_spare(w);
      }
    }
    w->wake.store(0, relaxed);
  }
  void awake(Worker* w) { mark_busy(w->carrier); }
  bool changes_its_mind(Worker* w) {
    if (!idle.take_back(w)) return false;
    if (!has(kChangedMindRunsOne)) {
      idle.search_on();
      w->searching = true;
    }
    mark_busy(w->carrier);
    return true;
  }
  Task* next_task(Worker* w) {
    for (;;) {
      model::forget();
      Carrier* c = w->carrier;
      if (c == nullptr) {
        idle.publish_spare(w);
        if (!has(kSpareSleepsAtOnce)) {
          model::fence();
          if (idle.idle() != 0 && visible_work() == Work::ForAnybody && changes_its_mind(w))
            continue;
        }
        sleep_until_bound(w);
        awake(w);
        continue;
      }
      mark_moved(c);
      if (Task* t = pick_next(c)) return end_search(w, true), t;
      if (shape.carriers > 1) {
        if (!w->searching && !idle.more_busy_than_wanted() &&
            idle.try_search(static_cast<uint32_t>(shape.carriers) - idle.idle()))
          w->searching = true;
        if (w->searching)
          if (Task* t = search(c)) return end_search(w, true), t;
      }
      // From publish_idle on `searching` belongs to whoever wakes this worker.
      bool searching = has(kSearchingReadLate) || w->searching;
      if (!has(kSearchingReadLate)) w->searching = false;
      if (!has(kIdleMarkedLate)) mark_idle(c);
      idle.publish_idle(c, w);
      if (has(kSearchingReadLate)) searching = w->searching;
      if (searching) {
        woken_searchers.set(0);
        idle.stop_searching();
      }
      if (!has(kNoFenceAtSleep)) model::fence();
      Work work = has(kNoSecondLook) ? Work::None : visible_work(!has(kInboxUnseen));
      if (work == Work::ForAnybody) {
        if ((idle.wakeable() != 0 || !c->inbox.empty()) && changes_its_mind(w)) continue;
        sysmon_notice();
      } else if (work == Work::ForItsCarrier) {
        leave_behind();
      }
      if (has(kIdleMarkedLate)) mark_idle(c);
      sleep_until_bound(w);
      awake(w);
    }
  }

  // --- polling.cpp, without events
  bool occupy_part(Worker* w, uint32_t* occupied_part) {
    uint32_t part = w->part.load(relaxed);
    for (uint32_t i = 0; i < shape.parts; ++i, part = (part + 1) % shape.parts) {
      if (!has(kPumpForTwo) && occupied[part].exchange(1) != 0) continue;
      if (idle.become_poller(w, part)) return *occupied_part = part, true;
      if (!has(kPumpForTwo)) occupied[part].store(0, release);
    }
    return false;
  }
  bool wait_for_events(Worker* w) {
    if (!shape.pump || w->wake.load(relaxed) != 0 || idle.idle() == 0) return false;
    uint32_t part;
    if (!occupy_part(w, &part)) return false;
    bool woken = has(kPollingFlagLate) && w->wake.load() != 0;
    w->polling.store(part + 1);
    if (!has(kPollingFlagLate)) woken = w->wake.load() != 0;
    if (!woken) {
      pump[part].await([](uint32_t v) { return v != 0; });
      pump[part].store(0);
    }
    w->polling.store(0);
    if (!has(kPumpForTwo)) occupied[part].store(0, release);
    idle.stop_polling(w);
    return true;
  }
};

}  // namespace idle_model
