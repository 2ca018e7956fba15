// The scheduler around the idle protocol, for idle_test.cpp. IdleSet and RunQueue are the runtime's
// very templates; the rest is copied, function by function under the same names, reduced to what
// takes part in the protocol. Keep alike.
//   announce.cpp  visible_work, wake_searcher, announce_work, give_away, publish_with_work
//   worker.cpp    end_search, awake, changes_its_mind, next_task with wait_as_spare and go_idle
//   dispatch.cpp  pick_next;  search.cpp  search, one pass, left_to_it;  home.cpp
//   sleep.cpp     start_helping, sleep_until_bound without its clock
//   polling.cpp   wake_worker, wait_for_events without events
//   scheduler.cpp GlobalQueue, BlockingRegion;  sysmon.cpp  sysmon_notice, look_at, sysmon_main
// Who watches the pump's events and the clock is watch_*.h's.
#pragma once
#include "idle_shape.h"
#include "scheduler/idle.h"

namespace idle_model {

struct System {
  static constexpr int kMaxCarriers = 2, kMaxWorkers = 4;
  explicit System(const Shape& s) : shape(s) {
    // As scheduler_start does, once its workers have gone to sleep.
    idle.set_parts(shape.parts);
    idle.keep_back(shape.kept_back);
    for (uint32_t i = 0; i < shape.parts && shape.parts > 1; ++i) carrier[i].part = i;
    for (int i = 0; i < shape.carriers; ++i) idle.publish_carrier(&carrier[i]);
    for (int i = 0; i < shape.workers - shape.late_workers; ++i) idle.publish_spare(&worker[i]);
  }
  const Shape shape;
  Carrier carrier[kMaxCarriers];
  Worker worker[kMaxWorkers];
  Task leaf{Program::Leaf};
  wisp::IdleSet<Carrier, Worker, model::SpinLock, Atomic, kParts> idle;
  model::SpinLock global_lock{false};
  Atomic<uint32_t> global_size{0};  // leaves only
  Atomic<uint32_t> leaves_run{0};
  model::Ghost ran, woken_searchers;
  Atomic<uint32_t> kick{0}, started{0}, helped{0};
  Atomic<uint32_t> pump[kParts], occupied[kParts];

  bool has(Fault f) const { return (shape.faults & f) != 0; }

  // --- scheduler.cpp
  void global_push() {
    global_lock.lock();
    global_size.store(global_size.load(relaxed) + 1, relaxed);
    global_lock.unlock();
  }
  bool global_empty() const { return global_size.load(relaxed) == 0; }
  Task* global_pop() {
    global_lock.lock();
    uint32_t n = global_size.load(relaxed);
    if (n != 0) global_size.store(n - 1, relaxed);
    global_lock.unlock();
    return n != 0 ? &leaf : nullptr;
  }
  void enter_blocking_region(Worker* w) {
    Carrier* c = w->carrier;
    w->carrier = nullptr;
    give_away(c);
  }

  // --- home.cpp; busy_time.h, marked only where somebody asks for it: that is many states
  void mark_busy(Carrier* c) {
    if (shape.homes || shape.leaves) c->busy.store(1, relaxed);
  }
  void mark_idle(Carrier* c) {
    if (shape.homes || shape.leaves) c->busy.store(0, relaxed);
  }
  void mark_moved(Carrier* c) {
    if (shape.leaves) c->moves.store(1, relaxed);
  }
  void wake_home(Carrier* home) {
    bool no_spare = false;
    Worker* w = idle.take_pair_of(home, &no_spare);
    if (w == nullptr) return sysmon_notice();
    mark_moved(home);
    mark_busy(home);
    wake_worker(w, kRunCarrier);
  }
  bool send_home(Carrier* home) {
    auto width = static_cast<uint32_t>(shape.carriers) - idle.kept_back();
    if (home->busy.load(relaxed) == 0 && home - carrier >= width) return false;
    home->inbox.push();
    if (!has(kNoFenceAtHome)) model::fence();
    if (home->busy.load(relaxed) == 0)
      wake_home(home);
    else if (!has(kSendsSilently))
      sysmon_notice();
    return true;
  }

  // --- announce.cpp
  Work visible_work(bool with_inboxes = true) const {
    if (!global_empty()) return Work::ForAnybody;
    bool left = false;
    for (int i = 0; i < shape.carriers; ++i) {
      const Carrier* c = &carrier[i];
      if (c->queue.empty() && (!with_inboxes || c->inbox.empty())) continue;
      if (!left_to_it(c)) return Work::ForAnybody;
      left = true;
    }
    return left ? Work::ForItsCarrier : Work::None;
  }
  bool any_work_visible() const { return visible_work() != Work::None; }
  void leave_behind() {
    if (!has(kLeavesSilently)) sysmon_notice();
  }
  void wake_worker(Worker* w, WakeWord what) {
    w->wake.store(what);
    if (uint32_t part = w->polling.load(); part != 0)
      interrupt_pump(has(kWrongPart) ? 0 : part - 1);
    else
      w->wake.futex_wake(1);
  }
  void wake_searcher(bool by_sysmon = false) {
    for (;;) {
      if (!idle.claim_searcher()) return;
      bool no_spare = false;
      Worker* w = idle.take_pair(&no_spare);
      if (w != nullptr) {
        w->searching = true;
        MODEL_CHECK(woken_searchers.add(1) == 1);
        wake_worker(w, kRunCarrier);
        return;
      }
      idle.stop_searching();
      if (no_spare) return by_sysmon ? void() : sysmon_notice();
      // Who came meanwhile trusted our claim.
      model::fence();
      Work work = has(kOneLookAtFailure) ? Work::None : visible_work();
      if (work == Work::ForItsCarrier && !by_sysmon) leave_behind();
      if (work != Work::ForAnybody) return;
      if (idle.idle() == 0) return by_sysmon ? void() : sysmon_notice();
    }
  }
  void announce_work(bool by_sysmon = false) {
    if (!has(kNoFenceAtPush)) model::fence();
    wisp::Help help = idle.help();
    if (help == wisp::Help::Wake)
      wake_searcher(by_sysmon);
    else if (help == wisp::Help::None && !by_sysmon)
      sysmon_notice();
  }
  void give_away(Carrier* c) {
    bool has_work = c->next.load(relaxed) != nullptr || c->anything_queued() || !global_empty();
    if (has_work) {
      if (Worker* w = idle.take_spare(c)) return wake_worker(w, kRunCarrier);
    }
    publish_with_work(c);
    if (has_work) return sysmon_notice();  // it makes a worker
    model::fence();
    Work work = visible_work();
    if (work == Work::ForAnybody)
      wake_searcher();
    else if (work == Work::ForItsCarrier)
      leave_behind();
  }
  void publish_with_work(Carrier* c) {
    if (!has(kNextStays))
      if (Task* t = c->next.exchange(nullptr)) c->queue.push(t);
    mark_idle(c);
    idle.publish_carrier(c);
  }

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
  bool left_to_it(const Carrier* c) const {
    return shape.leaves && c->busy.load(relaxed) != 0 && c->moves.load(relaxed) != 0;
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

  // --- polling.cpp and io/event_pump.cpp, without events: `pump` is the wake-up eventfd
  void interrupt_pump(uint32_t part) { pump[part].store(1); }
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

  // --- sysmon.cpp: the parts that replace a wake-up. Its timed looks come when nothing else moves.
  void sysmon_notice() {
    if (!shape.sysmon) return;
    if (kick.exchange(1) == 0) kick.futex_wake(1);
  }
  // Nothing else moves.
  void help_stuck() {
    if (idle.wakeable() != 0 || has(kSysmonKeepsBack))
      announce_work(true);
    else
      wake_searcher(true);
  }
  void sysmon_main() {
    for (uint64_t quiet = 0;;) {
      model::forget(quiet);
      kick.store(0);
      bool starving = false;
      for (int i = 0; i < shape.carriers && !has(kSysmonOnlyGlobal); ++i) {
        Carrier* c = &carrier[i];
        if (!c->anything_queued() || idle.idle() == 0) continue;
        starving = true;
        // Left to it for now: by the next look it has come to them, or does not move.
        if (left_to_it(c))
          c->moves.store(0, relaxed);
        else
          help_stuck();
      }
      if (!global_empty() && idle.idle() != 0) help_stuck();
      if (idle.spares() == 0 && started.load() < static_cast<uint32_t>(shape.late_workers)) {
        started.fetch_add(1);
        if (any_work_visible()) starving = true;
      }
      // Sleeps for ever only while all is idle; else looks again after a while.
      auto all_idle = [this] { return idle.idle() == static_cast<uint32_t>(shape.carriers); };
      bool for_ever = all_idle() && global_empty() && !starving;
      model::fence();
      if (for_ever && !all_idle()) for_ever = false;
      if (kick.load() != 0) continue;
      // `leaves`: its long sleep is for ever too, and it does not begin that while something waits
      // (carriers_moved); so who leaves a task to its carrier has to tell it.
      bool soon = shape.leaves ? starving || any_work_visible() : !for_ever;
      if (soon && quiet < 3) {
        ++quiet;
        model::when_quiet();
        continue;
      }
      kick.futex_wait(0);
    }
  }

  // --- the threads
  void worker_main(Worker* w, uint32_t late_number) {
    if (late_number != 0)
      started.await([=](uint32_t n) { return n >= late_number; });
    else
      sleep_until_bound(w), awake(w);  // published by the constructor
    for (;;) {
      Task* t = next_task(w);
      run(w, t->program);
    }
  }
  void run(Worker* w, Program program) {
    Carrier* c = w->carrier;
    if (shape.homes || shape.leaves) MODEL_CHECK(c->busy.load(relaxed) != 0);
    switch (program) {
      case Program::Leaf:
        if (leaves_run.fetch_add(1) >= shape.brief && shape.meet != 0)
          leaves_run.await([this](uint32_t n) { return n >= shape.brief + shape.meet; });
        break;
      case Program::Fork2:
        for (int i = 0; i < 2; ++i) {
          c->queue.push(&leaf);
          announce_work();
        }
        break;
      case Program::WaitForLeaf:
        c->queue.push(&leaf);
        announce_work();
        [[fallthrough]];
      case Program::AwaitLeaf:
        leaves_run.await([](uint32_t n) { return n != 0; });
        break;
      case Program::NextThenBlock:
        c->next.exchange(&leaf);
        [[fallthrough]];
      case Program::RingThenBlock:
      case Program::BlockForLeaf:
        if (program == Program::RingThenBlock) c->queue.push(&leaf);
        enter_blocking_region(w);
        leaves_run.await([](uint32_t n) { return n != 0; });
        if (Carrier* again = idle.take_carrier(w)) mark_busy(again);
        break;
    }
    ran.add(1);
  }
};

}  // namespace idle_model
