// What watch_worker.h and watch_sysmon.h share: carriers, workers, tasks, the clock, the event
// pump, and the words by which SysMonitor is told. Mirrors, under the same names: carrier.h, the
// looks of announce.cpp and timers.cpp (any_work_visible, earliest_deadline), pump_is_empty of
// internal.h, sysmon_notice and sysmon_watch_deadline of internal.h and sysmon.cpp.
//
// Reduced: queues are sets of tasks (the run queue has its own test). Time is a small number; slack
// and leads of the kernel's timers are nothing. Sleeping is `sleep_until` on the word slept on
// (idle_test.cpp has the futexes). What SysMonitor was told is not remembered (g_told): that only
// spares a second telling.
#pragma once
#include "model.h"
#include "scheduler/idle.h"

namespace watch_model {

using model::Atomic;
using model::Plain;
constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;

// Tasks are bits, a queue is a word of them.
using Tasks = uint32_t;
constexpr int kTasks = 3;
constexpr Tasks kA = 1, kB = 2, kC = 4;
constexpr uint32_t kInterrupt = 0x80;  // in the pump, beside the tasks whose descriptors are ready
constexpr uint32_t kComputes = 0x40, kSwitches = 0x20;  // beside the task in Carrier::current
constexpr uint32_t kNever = 99, kSoon = 0;              // times

enum class Program : uint8_t {
  None,
  Leaf,       // has run
  Compute,    // has run, and computes until `until` have
  Block,      // has run, and waits in the kernel until `until` have
  BlockLate,  // waits in the kernel until it is 1 o'clock, then has run, and computes
  Sleep,      // arms a timer, parks; has run when that has fired
  LentSleep,  // loses its carrier first, so that the timer lies with a carrier not its own
  Switch,     // two tasks that wake each other all the time, until `until` have run
  WakeTwo,    // wakes both others, then as Compute
};
struct Task {
  Program program = Program::None;
  Tasks until = 0;
  uint32_t deadline = 0;  // at the beginning, in the heap of carrier `heap`; or its own, of Sleep
  int heap = -1;
};

// Left-out parts of the protocol. Those that tests/compat/mutations takes out of the runtime bear
// its names.
enum Fault : uint32_t {
  kNone = 0,
  kPumpLeftForATimer = 1,     // pump_may_be_empty tells nobody
  kForeignTimerUnseen = 2,    // the carrier that a foreign timer lies with is not made to look
  kTimersOfTwoCarriers = 4,   // what one worker fires of several heaps is not announced
  kTimerLeftByASearch = 8,    // who finds work tells nobody of its carrier's timer
  kPumpLeftBehindALook = 16,  // SysMonitor's last look leaves the pump out
  kSysmonWakesItself = 32,
  kTimerLeftByAPick = 64,       // as kTimerLeftByASearch, of what comes from the global queue
  kTimerLeftAwake = 128,        // who gets up leaves the next deadline to nobody
  kDeadlineBehindALook = 256,   // SysMonitor's last look leaves the deadlines out
  kNoFenceAtPump = 512,         // pump_may_be_empty without its fence
  kNoFenceAtDeadline = 1024,    // sysmon_watch_deadline without its fence
  kNoFenceInSysmon = 2048,      // SysMonitor's last look without its fence
  kWatchGivenUp = 4096,         // a sleeper whose CAS fails leaves the watch to the other one
  kTimerGivenAway = 8192,       // give_away tells nobody of the carrier's timer
  kNobodySent = 16384,          // SysMonitor sends nobody to the pump
  kBusyPumpUntold = 32768,      // who finds all carriers busy at the pump tells nobody
  kBusyDeadlineUntold = 65536,  // who finds all carriers busy at a deadline tells nobody
  kAloneInSearch = 131072,      // the last idle carrier is taken while a waker looks for it
  kHelperSilent = 262144,       // a helper without a carrier does not look for who trusted it
  kNextUntold = 524288,         // nobody is told of what a search has left in a next slot
  kSeenToUntold = 1048576,      // who leaves a part to its busy carrier tells nobody
};
struct Shape {
  int carriers = 1, workers = 2;
  bool sysmon = true, pump = false, helper = false;
  bool attends = false;  // who leaves the pump sends another one there
  uint32_t parts = 1;    // of the pump: one for all carriers, or one for each
  bool seen_to = false;  // the last part counts as seen to until SysMonitor has looked there once
  Task task[kTasks];
  uint32_t faults = kNone;
};

constexpr uint32_t kParts = 2;  // of the event pump, at most
struct Worker;
struct Carrier {
  Plain<Worker*> worker;
  uint32_t part = 0;
  Carrier* idle_next = nullptr;  // IdleSet's, under its lock
  Atomic<Tasks> next{0}, queue{0};
  Atomic<uint32_t> current{0};  // Compute and Switch only: others are soon over
  model::SpinLock timer_lock{false};
  Plain<uint32_t> timer[kTasks];  // the heap: deadlines, 0 = none
  Atomic<uint32_t> next_deadline{kNever}, timer_check_at{kNever};
};
struct Worker {
  Plain<Carrier*> carrier;
  Worker* next = nullptr;  // IdleSet's, under its lock
  Plain<bool> searching, left_pump_for_timer;
  Plain<uint32_t> search_until;  // spin_ticks of a helper: it searches beyond the deadline
  Atomic<uint32_t> wake{0};
  Atomic<uint32_t> polling{0};  // the part, less 1
  Atomic<uint32_t> part{0};
  model::Ghost patience{2};  // how often it looks after a long time
};
enum WakeWord : uint32_t { kRunCarrier = 1, kGoToPump = 2 };
enum class Noticer : uint8_t { Other, SysMonitor };

struct State {
  static constexpr int kCarriers = 2, kWorkers = 3;
  explicit State(const Shape& s) : shape(s) {}
  const Shape shape;
  Carrier carrier[kCarriers];
  Worker worker[kWorkers];
  wisp::IdleSet<Carrier, Worker, model::SpinLock, Atomic, kParts> idle;
  Atomic<Tasks> global{0};
  Atomic<uint32_t> now{0};
  Plain<bool> slept[kTasks];  // of Sleep: it is on its second way
  Atomic<Tasks> ran{0};
  model::Ghost ended;
  // polling.cpp: events of the pump's parts, who is inside, who looks
  Atomic<uint32_t> pump[kParts], occupied[kParts], looking[kParts];
  Atomic<uint32_t> seen_to{shape.seen_to};
  // sleep.cpp
  Atomic<uint32_t> watched{kNever};
  Atomic<bool> helper_watches{false};
  // sysmon.cpp
  Atomic<uint32_t> lazy{0}, kick{0}, wakes_at{kSoon};
  model::Ghost told;  // somebody else than SysMonitor has kicked it

  bool has(Fault f) const { return (shape.faults & f) != 0; }
  uint32_t carriers() const { return static_cast<uint32_t>(shape.carriers); }

  bool any_work_visible() const {
    if (global.load(relaxed) != 0) return true;
    for (int i = 0; i < shape.carriers; ++i)
      if (carrier[i].queue.load(relaxed) != 0) return true;
    return false;
  }
  bool any_next_visible() const {
    for (int i = 0; i < shape.carriers; ++i)
      if (carrier[i].next.load(relaxed) != 0) return true;
    return false;
  }
  uint32_t earliest_deadline() const {
    uint32_t earliest = kNever;
    for (int i = 0; i < shape.carriers; ++i) {
      uint32_t d = carrier[i].next_deadline.load(relaxed);
      if (d < earliest) earliest = d;
    }
    return earliest;
  }
  bool pump_part_is_seen_to(uint32_t part) const {
    return part + 1 == shape.parts && seen_to.load(relaxed) != 0;
  }
  bool pump_is_empty() const { return shape.pump && idle.polling() != shape.parts; }

  // --- sysmon.cpp: what others call
  void sysmon_notice_slow(Noticer by = Noticer::Other) {
    lazy.store(0, relaxed);
    kick.exchange(1);
    if (by == Noticer::Other) told.set(1);
  }
  void sysmon_notice() {
    if (lazy.load(relaxed) != 0) sysmon_notice_slow();
  }
  void sysmon_watch_deadline(uint32_t deadline) {
    if (!has(kNoFenceAtDeadline)) model::fence();
    if (wakes_at.load(relaxed) <= deadline) return;
    sysmon_notice_slow();
  }
};

}  // namespace watch_model
