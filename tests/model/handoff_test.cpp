// The hand-off word (runtime/scheduler/handoff.h, the very template) between a task that enters and
// leaves the runtime and SysMonitor that wants its carrier. Copied around it, under their own
// names: RuntimeEntry and BlockingRegion (scheduler.h, scheduler.cpp), retake (retake.cpp), prepare
// and finish_switch (dispatch.cpp).
//
// Invariant: at most one kernel thread acts for a carrier at a time (Exclusive), and it is the one
// that the carrier's `current` or its owner's program says. Bounds: 2 carriers, one task, 2
// retakes.
#include "scheduler/handoff.h"

#include "model.h"

namespace {

using model::Atomic;
using wisp::HandOff;
constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;

enum Fault : uint32_t {
  kNone = 0,
  kNoMembarrier = 1,
  kMembarrierFirst = 2,  // before the request instead of after it
  kLookBeforeDepth = 4,  // the task loads the word, then stores depth
  kNoCurrentCheck = 8,   // retake does not ask whether the carrier still runs this task
  kSetTaken = 16,        // retake stores Taken instead of the CAS
};

struct Task;
struct Carrier {
  Atomic<Task*> current{nullptr};
  model::Exclusive acting;
};
struct Task {
  Atomic<uint32_t> depth{0};
  wisp::BasicHandOffWord<Atomic> handoff;
  model::Plain<Carrier*> carrier;
  Atomic<uint32_t> on_cpu{1};
};

struct System {
  explicit System(uint32_t f) : faults(f) {
    task.carrier = &carrier[0];
    carrier[0].current.store(&task);
  }
  const uint32_t faults;
  Task task;
  Carrier carrier[2];
  Atomic<Carrier*> idle{nullptr};  // stands for IdleSet: one carrier that waits for a worker
  model::Ghost taken;

  bool has(Fault f) const { return (faults & f) != 0; }

  // --- the task's side. Inside the runtime it acts for its carrier, if it still has one.
  void enter() {
    bool none;
    if (has(kLookBeforeDepth)) {
      none = task.handoff.is_none();
      task.depth.store(task.depth.load(relaxed) + 1, relaxed);
    } else {
      task.depth.store(task.depth.load(relaxed) + 1, relaxed);
      none = task.handoff.is_none();  // compiler barrier only
    }
    if (!none) runtime_enter_slow();
  }
  void runtime_enter_slow() {
    if (task.handoff.move(HandOff::Requested, HandOff::None)) return;
    if (task.handoff.load() == HandOff::Taken) task.carrier = nullptr;
  }
  void leave() { task.depth.store(task.depth.load(relaxed) - 1, relaxed); }
  void act() {
    Carrier* c = task.carrier;
    if (c == nullptr) return;
    c->acting.enter();
    c->acting.leave();
  }
  void enter_and_act() {
    enter();
    act();
    leave();
  }
  void prepare(Carrier* c) {
    task.on_cpu.store(1, relaxed);
    task.carrier = c;
    if (!task.handoff.is_none()) task.handoff.set(HandOff::None);
    c->current.store(&task, release);
  }
  void blocking_region_begin() {
    enter();
    if (Carrier* c = task.carrier) {
      task.carrier = nullptr;
      task.handoff.set(HandOff::Taken);
      c->current.store(nullptr, release);
      idle.exchange(c);  // give_away: under IdleSet's lock
    }
    leave();
  }
  void blocking_region_end() {
    enter();
    if (task.carrier == nullptr) {
      Carrier* c = idle.exchange(nullptr);  // take_carrier
      if (c != nullptr) {
        task.carrier = c;
        task.handoff.set(HandOff::None);
        c->current.store(&task, release);
      }
    }
    act();
    leave();
  }

  // --- SysMonitor's side; on success it acts for the carrier, as the next worker will.
  void retake(Carrier* c) {
    if (c->current.load(acquire) != &task) return;  // look_at
    if (task.depth.load(relaxed) != 0) return;
    if (has(kMembarrierFirst)) model::membarrier();
    if (!task.handoff.move(HandOff::None, HandOff::Requested)) return;
    if (!has(kNoMembarrier) && !has(kMembarrierFirst)) model::membarrier();
    bool mine = task.depth.load(acquire) == 0 &&
                (has(kNoCurrentCheck) || c->current.load(acquire) == &task);
    if (mine && has(kSetTaken))
      task.handoff.set(HandOff::Taken);
    else if (!mine || !task.handoff.move(HandOff::Requested, HandOff::Taken)) {
      task.handoff.move(HandOff::Requested, HandOff::None);
      return;
    }
    c->current.store(nullptr, release);
    taken.add(1);
    c->acting.enter();
    c->acting.leave();
    idle.exchange(c);
  }
  // Another worker that takes the idle carrier and acts for it.
  void take_idle() {
    Carrier* c = idle.exchange(nullptr);
    if (c == nullptr) return;
    c->acting.enter();
    c->acting.leave();
  }
};

// A task that enters the runtime `times` times, and SysMonitor.
model::Scenario busy_task(int times, int retakes, uint32_t faults = kNone) {
  return [=](model::Test& t) {
    System& s = t.make<System>(faults);
    t.thread("task", [&s, times] {
      for (int i = 0; i < times; ++i) s.enter_and_act();
    });
    t.thread("sysmon", [&s, retakes] {
      for (int i = 0; i < retakes; ++i) s.retake(&s.carrier[0]);
    });
  };
}

// The task parks and is dispatched by another worker: on the other carrier, or on the same one
// (then its first worker has none any more). SysMonitor's request may be as old as it likes.
model::Scenario parking_task(bool same_carrier, uint32_t faults = kNone) {
  return [=](model::Test& t) {
    System& s = t.make<System>(faults);
    struct Queue {
      Atomic<uint32_t> parked{0};
    };
    Queue& q = t.make<Queue>();
    t.thread("worker1", [=, &s, &q] {
      s.enter_and_act();
      // Parks: announces itself (a locked queue), then leaves its stack.
      s.enter();
      Carrier* c = s.task.carrier;
      s.act();
      q.parked.fetch_add(1);
      if (c != nullptr) {
        c->current.store(nullptr, release);
        if (same_carrier) s.idle.exchange(c);
      }
      s.task.on_cpu.store(0, release);
      if (c != nullptr && !same_carrier) {
        c->acting.enter();  // goes on with other tasks
        c->acting.leave();
      }
    });
    t.thread("worker2", [=, &s, &q] {
      q.parked.await([](uint32_t n) { return n != 0; });
      Carrier* c = &s.carrier[1];
      if (same_carrier) c = s.idle.await([](Carrier* i) { return i != nullptr; });
      if (same_carrier && (c = s.idle.exchange(nullptr)) == nullptr) return;
      s.task.on_cpu.await([](uint32_t v) { return v == 0; });
      c->acting.enter();
      s.prepare(c);
      c->acting.leave();
      s.leave();
      s.enter_and_act();
    });
    t.thread("sysmon", [=, &s] {
      s.retake(&s.carrier[0]);
      s.retake(&s.carrier[same_carrier ? 0 : 1]);
    });
  };
}

// BlockingRegion against SysMonitor and against a worker that takes the idle carrier.
model::Scenario blocking_task(bool other_worker, uint32_t faults = kNone) {
  return [=](model::Test& t) {
    System& s = t.make<System>(faults);
    t.thread("task", [&s] {
      s.blocking_region_begin();
      s.blocking_region_end();
      s.enter_and_act();
    });
    t.thread("sysmon", [&s] {
      s.retake(&s.carrier[0]);
      s.retake(&s.carrier[0]);
    });
    if (other_worker) t.thread("worker2", [&s] { s.take_idle(); });
  };
}

// The hand-off must also happen, not only be safe: a task that stays outside loses its carrier.
void stays_outside(model::Test& t) {
  System& s = t.make<System>(uint32_t(kNone));
  t.thread("sysmon", [&s] { s.retake(&s.carrier[0]); });
  t.finally([&s] { MODEL_CHECK(s.taken.get() == 1 && s.task.handoff.load() == HandOff::Taken); });
}

model::Options fast() {
  model::Options o;
  o.by_value = true;
  return o;
}
model::Options sequential() {
  model::Options o = fast();
  o.sequential = true;
  return o;
}

constexpr auto kTwo = "two inside";
const std::vector<model::Case> kCases = {
    {"stays_outside", nullptr, fast(), stays_outside},
    {"busy_task", nullptr, fast(), busy_task(3, 2)},
    {"busy_task_by_reads_from", nullptr, {}, busy_task(2, 2)},
    {"no_membarrier", kTwo, fast(), busy_task(1, 1, kNoMembarrier)},
    {"no_membarrier_sequential", nullptr, sequential(), busy_task(3, 2, kNoMembarrier)},
    {"membarrier_first", kTwo, fast(), busy_task(1, 1, kMembarrierFirst)},
    {"look_before_depth", kTwo, fast(), busy_task(1, 1, kLookBeforeDepth)},
    {"set_taken", kTwo, fast(), busy_task(1, 1, kSetTaken)},
    {"other_carrier", nullptr, fast(), parking_task(false)},
    {"other_carrier_no_current_check", kTwo, fast(), parking_task(false, kNoCurrentCheck)},
    {"other_carrier_no_membarrier", kTwo, fast(), parking_task(false, kNoMembarrier)},
    {"same_carrier", nullptr, fast(), parking_task(true)},
    {"blocking_region", nullptr, fast(), blocking_task(false)},
    {"blocking_region_and_worker", nullptr, fast(), blocking_task(true)},
    {"blocking_region_no_membarrier", kTwo, fast(), blocking_task(false, kNoMembarrier)},
};

}  // namespace

int main(int argc, char** argv) { return model::run_cases(argc, argv, kCases); }
