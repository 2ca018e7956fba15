// The scheduler around the idle protocol, for idle_test.cpp. IdleSet and RunQueue are the runtime's
// very templates; the rest is copied, function by function under the same names, reduced to what
// takes part in the protocol. Keep alike.
//   announce.cpp  visible_work, wake_searcher, announce_work, give_away, publish_with_work
//   scheduler.cpp GlobalQueue, BlockingRegion;  search.cpp  left_to_it;  home.cpp
//   polling.cpp   wake_worker;  sysmon.cpp  sysmon_notice
// Here: what there is, and who is woken for work. Its workers and SysMonitor are idle_worker.h's
// and idle_system.h's; who watches the pump's events and the clock is watch_*.h's.
#pragma once
#include "idle_shape.h"
#include "scheduler/idle.h"

namespace idle_model {

struct Wakers {
  static constexpr int kMaxCarriers = 2, kMaxWorkers = 4;
  explicit Wakers(const Shape& s) : shape(s) {
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
  void enter_blocking_region(Worker* w) {
    Carrier* c = w->carrier;
    w->carrier = nullptr;
    give_away(c);
  }

  // --- search.cpp
  bool left_to_it(const Carrier* c) const {
    return shape.leaves && c->busy.load(relaxed) != 0 && c->moves.load(relaxed) != 0;
  }

  // --- io/event_pump.cpp, without events: `pump` is the wake-up eventfd
  void interrupt_pump(uint32_t part) { pump[part].store(1); }

  // --- sysmon.cpp
  void sysmon_notice() {
    if (!shape.sysmon) return;
    if (kick.exchange(1) == 0) kick.futex_wake(1);
  }
};

}  // namespace idle_model
