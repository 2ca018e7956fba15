// SysMonitor's side, copied from sysmon.cpp (look_at, look_at_pump, carriers_moved, deadline_left,
// sysmon_main) and retake.cpp (retake, run_by_spare), under the same names; and what the tasks do.
// Keep alike. Left out: hand-offs' race with the task (handoff_test.cpp), new workers (as if it had
// made all it may), lent threads, trimming. Its short sleeps end when nothing else moves, and only
// so often (`patience`): who is still overlooked then is so for ever.
#pragma once
#include "watch_worker.h"

namespace watch_model {

struct Findings {
  bool starving = false;
  uint32_t pump_was_empty = 0, pump_empty = 0;  // parts
};

struct System : Workers {
  // As scheduler_start leaves them, with some tasks asleep.
  explicit System(const Shape& s) : Workers(s) {
    idle.set_parts(shape.parts);
    for (uint32_t i = 0; i < shape.parts && shape.parts > 1; ++i) carrier[i].part = i;
    for (int i = shape.carriers; i-- > 0;) idle.publish_carrier(&carrier[i]);
    for (int i = 0; i < shape.workers; ++i) idle.publish_spare(&worker[i]);
    for (int i = 0; i < kTasks; ++i) {
      const Task& t = shape.task[i];
      if (t.heap < 0) continue;
      insert_timer(&carrier[t.heap], 1u << i, t.deadline);
      carrier[t.heap].timer_check_at.store(t.deadline);
    }
  }

  void run_by_spare(Carrier* c) {
    if (Worker* w = idle.take_spare(c)) return wake_worker(w, kRunCarrier);
    publish_with_work(c);
  }
  bool retake(Carrier* c, uint32_t current) {
    if ((current & kComputes) == 0) return false;  // inside the runtime
    if (!c->current.compare_exchange_strong(current, 0)) return false;
    run_by_spare(c);
    return true;
  }
  void look_at(Carrier* c, uint32_t time, Findings* f) {
    uint32_t current = c->current.load(acquire);
    if (current == 0) {
      if (c->queue.load(relaxed) != 0 && idle.idle() != 0) {
        f->starving = true;
        announce_work(Noticer::SysMonitor);
      }
      return;
    }
    if ((current & kSwitches) != 0) return;  // it moves
    bool due = c->next_deadline.load(relaxed) <= time;
    bool work = c->next.load(relaxed) != 0 || c->queue.load(relaxed) != 0;
    if (!work && !due && global.load(relaxed) == 0) return;
    if (idle.idle() != 0) {
      if (due) fire_timers(c, nullptr, time);
      announce_work(Noticer::SysMonitor);
    } else if (!retake(c, current) && due) {
      fire_timers(c, nullptr, time);
    }
  }
  void look_at_pump(uint32_t part, Findings* f) {
    if (idle.polling(part)) return;
    if (pump_part_is_seen_to(part)) {
      seen_to.store(0, relaxed);  // time passes
      f->pump_empty |= 1u << part;
      return;
    }
    if (idle.idle() <= idle.polling()) {
      poll_events(part, nullptr);
      return;
    }
    if ((f->pump_was_empty >> part & 1) != 0 && !has(kNobodySent))
      if (Worker* w = idle.take_any_spare()) {
        w->part.store(part, relaxed);
        wake_worker(w, kGoToPump);
      }
    f->pump_empty |= 1u << part;
  }
  void look_at_pump(Findings* f) {
    if (!pump_is_empty()) return;
    for (uint32_t part = 0; part < shape.parts; ++part) look_at_pump(part, f);
  }
  bool all_idle() const { return idle.idle() == carriers(); }
  bool deadline_left(uint32_t seen, bool all_were_idle) const {
    uint32_t deadline = earliest_deadline();
    return deadline < seen ||
           (all_were_idle && deadline < watched.load(relaxed) && deadline < wakes_at.load(relaxed));
  }
  void sysmon_main(uint64_t patience) {
    uint32_t pump_was_empty = 0;
    for (;;) {
      model::forget(patience * 4 + pump_was_empty);
      kick.store(0);
      told.set(0);
      uint32_t time = now.load(relaxed);
      Findings f;
      f.pump_was_empty = pump_was_empty;
      look_at_pump(&f);
      pump_was_empty = f.pump_empty;
      for (int i = 0; i < shape.carriers; ++i) look_at(&carrier[i], time, &f);
      uint32_t deadline = earliest_deadline();
      if (deadline <= time) {
        for (int i = 0; i < shape.carriers; ++i)
          if (carrier[i].current.load(acquire) == 0 &&
              carrier[i].next_deadline.load(relaxed) <= time)
            fire_timers(&carrier[i], nullptr, time);
        deadline = earliest_deadline();
      }
      if (global.load(relaxed) != 0 && idle.idle() != 0) announce_work(Noticer::SysMonitor);
      bool idles = all_idle() && global.load(relaxed) == 0 && f.pump_empty == 0 && !f.starving;
      uint32_t wake_at = kSoon;
      if (idles) wake_at = deadline < watched.load(relaxed) ? deadline : kNever;
      wakes_at.store(wake_at, relaxed);
      lazy.store(idles, relaxed);
      if (!has(kNoFenceInSysmon)) model::fence();
      bool pump_left = pump_is_empty() && !has(kPumpLeftBehindALook);
      if ((idles && (!all_idle() || pump_left)) ||
          (!has(kDeadlineBehindALook) && deadline_left(deadline, idles))) {
        wake_at = kSoon;
        wakes_at.store(wake_at, relaxed);
        lazy.store(0, relaxed);
      }
      patience -= sleep(wake_at, patience != 0);
      lazy.store(0, relaxed);
    }
  }
  // 1 if a long time has passed.
  uint32_t sleep(uint32_t wake_at, bool patient) {
    auto kicked = [](uint32_t v) { return v != 0; };
    uint32_t kick_seen;
    if (wake_at != kSoon)
      kick_seen = kick.sleep_until(kicked, now, wake_at);
    else
      kick_seen = patient ? kick.sleep_for_long(kicked) : kick.sleep(kicked);
    if (kick_seen != 0 && told.get() == 0) model::fail("SysMonitor keeps itself awake");
    return wake_at == kSoon && kick_seen == 0;
  }

  // --- the threads and the tasks
  void worker_main(Worker* w) {
    sleep_until_bound(w);
    awake();
    for (;;) run(w, next_task(w));
  }
  void run(Worker* w, Tasks task) {
    const int index = index_of(task);
    const Task& t = shape.task[index];
    Carrier* c = w->carrier;
    auto have_run = [&t](Tasks v) { return (v & t.until) == t.until; };
    switch (t.program) {
      case Program::None:
        model::fail("a task that nobody made");
      case Program::Leaf:
        ran.fetch_or(task);
        break;
      case Program::WakeTwo:
        c->current.store(task, release);
        for (Tasks other = kA; other <= kC; other *= 2)
          if (other != task) ready(c, other);
        compute(w, task, t.until);
        break;
      case Program::Compute:
        compute(w, task, t.until);
        break;
      case Program::Block:
        ran.fetch_or(task);
        blocking_region(w, [&] { ran.await(have_run); });
        break;
      case Program::BlockLate:
        blocking_region(w, [&] { now.await([](uint32_t v) { return v != 0; }); });
        compute(w, task, t.until);
        break;
      case Program::Sleep:
      case Program::LentSleep:
        if (!slept[index]) {
          slept[index] = true;
          if (t.program == Program::LentSleep) blocking_region(w, [] {});
          return timer_arm(task, w->carrier, t.deadline);
        }
        ran.fetch_or(task);
        break;
      case Program::Switch:
        ran.fetch_or(task);
        c->current.store(task | kSwitches, release);
        while ((ran.load(relaxed) & t.until) != t.until) switch_once(c);
        c->current.store(0, release);
        break;
    }
    ended.add(static_cast<int64_t>(task));
  }
  void compute(Worker* w, Tasks task, Tasks until) {
    Carrier* c = w->carrier;
    uint32_t mine = task | kComputes;
    if (c != nullptr) c->current.store(mine, release);
    ran.fetch_or(task);
    ran.await([until](Tasks v) { return (v & until) == until; });
    if (c != nullptr && !c->current.compare_exchange_strong(mine, 0)) w->carrier = nullptr;
  }
  template <typename F>
  void blocking_region(Worker* w, F kernel_waits) {
    Carrier* c = w->carrier;
    w->carrier = nullptr;
    give_away(c);
    kernel_waits();
    idle.take_carrier(w);
  }
  // Until the first switch at which pick_next finds something: a timer that it looks for, or a task
  // that has come to the global queue.
  void switch_once(Carrier* c) {
    model::forget();
    uint32_t at = c->timer_check_at.load(relaxed);
    if (at == kNever)
      c->timer_check_at.sleep_until([](uint32_t v) { return v != kNever; }, global, 1);
    else
      now.sleep_until([at](uint32_t v) { return v >= at; }, global, 1);
    Tasks t = pick_next(c);
    if (t == 0) return;
    MODEL_CHECK(slept[index_of(t)]);
    ran.fetch_or(t);
    ended.add(static_cast<int64_t>(t));
  }
};

}  // namespace watch_model
