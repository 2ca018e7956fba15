// The claim on a parked task's stack (runtime/scheduler/on_cpu.h, the very template) between the
// workers that dispatch the task and SysMonitor that wants the unused part of its stack. Copied
// around it, under their own names: ready (scheduler.cpp), prepare, park_current and finish_switch
// (dispatch.cpp), look_at_some and trim_claimed (trim.cpp).
//
// Invariant: nobody is on the stack while SysMonitor trims it (Exclusive), and the claim is gone in
// the end. Bounds: 2 workers, 1 task, up to 2 parks, 2 looks.
#include "model.h"
#include "scheduler/on_cpu.h"

namespace {

using model::Atomic;

enum Fault : uint32_t {
  kNone = 0,
  kNoMembarrier = 1,
  kMembarrierFirst = 2,  // before the claim instead of after it
  kNoAbout = 4,          // a dispatcher does not say that it is about to enter
  kNoClaimCheck = 8,     // SysMonitor does not ask whether the claim stands
  kPlainUnclaim = 16,    // it stores Clear instead of taking back what is its own
};

struct System {
  explicit System(uint32_t f) : faults(f) {}
  const uint32_t faults;
  wisp::BasicOnCpu<Atomic> on_cpu;  // Clear: the task is parked in the beginning
  Atomic<uint32_t> announced{1};    // its waiter is in the parking lot
  Atomic<uint32_t> queued{0};
  model::Exclusive stack;
  model::Ghost runs, trims;

  bool has(Fault f) const { return (faults & f) != 0; }

  void ready() {
    if (announced.exchange(0) != 0) queued.exchange(1);
  }
  // A worker takes the task from the queue, waits for the stack, and runs it to its next park. One
  // that would wait longer than two looks gives the task back.
  void dispatch() {
    if (queued.exchange(0) == 0) return;
    if (has(kNoAbout) ? !on_cpu.clear() : !on_cpu.may_enter() && !on_cpu.may_enter()) {
      queued.exchange(1);
      return;
    }
    on_cpu.enter();
    stack.enter();
    runs.add(1);
    announced.exchange(1);  // from here a waker may queue it, although it still stands on its stack
    stack.leave();
    on_cpu.leave();
  }
  void look() {
    if (has(kMembarrierFirst)) model::membarrier();
    if (!on_cpu.claim()) return;
    if (!has(kNoMembarrier) && !has(kMembarrierFirst)) model::membarrier();
    if (has(kNoClaimCheck) || on_cpu.claim_stands()) {
      stack.enter();
      trims.add(1);
      stack.leave();
    }
    if (has(kPlainUnclaim))
      on_cpu.leave();
    else
      on_cpu.unclaim();
  }
};

model::Scenario wakes(int workers, int wakes, int looks, uint32_t faults = kNone) {
  return [=](model::Test& t) {
    System& s = t.make<System>(faults);
    t.thread("waker", [&s, wakes] {
      for (int i = 0; i < wakes; ++i) s.ready();
    });
    for (int i = 0; i < workers; ++i)
      t.thread(i == 0 ? "worker1" : "worker2", [&s, wakes] {
        for (int n = 0; n < wakes; ++n) s.dispatch();
      });
    t.thread("sysmon", [&s, looks] {
      for (int i = 0; i < looks; ++i) s.look();
    });
    t.finally([&s] { MODEL_CHECK(s.on_cpu.clear()); });
  };
}

// The trim must also happen, not only be safe.
void stays_parked(model::Test& t) {
  System& s = t.make<System>(uint32_t(kNone));
  t.thread("sysmon", [&s] { s.look(); });
  t.finally([&s] { MODEL_CHECK(s.trims.get() == 1 && s.on_cpu.clear()); });
}

model::Options fast() {
  model::Options o;
  o.by_value = true;
  return o;
}

constexpr auto kTwo = "two inside";
const std::vector<model::Case> kCases = {
    {"stays_parked", nullptr, fast(), stays_parked},
    {"one_wake", nullptr, fast(), wakes(1, 1, 2)},
    {"one_wake_by_reads_from", nullptr, {}, wakes(1, 1, 1)},
    {"two_wakes", nullptr, fast(), wakes(1, 2, 2)},
    {"two_workers", nullptr, fast(), wakes(2, 2, 1)},
    {"no_membarrier", kTwo, fast(), wakes(1, 1, 1, kNoMembarrier)},
    {"membarrier_first", kTwo, fast(), wakes(1, 1, 1, kMembarrierFirst)},
    {"no_about", kTwo, fast(), wakes(1, 1, 1, kNoAbout)},
    {"no_claim_check", kTwo, fast(), wakes(1, 1, 1, kNoClaimCheck)},
    {"plain_unclaim", kTwo, fast(), wakes(2, 2, 2, kPlainUnclaim)},
};

}  // namespace

int main(int argc, char** argv) { return model::run_cases(argc, argv, kCases); }
