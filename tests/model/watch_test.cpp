// Who watches the event pump and the earliest deadline while workers sleep, get up, are busy or
// wait in the kernel, and while SysMonitor sleeps, perhaps for ever. When nothing moves any more,
// however long one waits, no descriptor is ready, no timer is due and no task waits, all tasks have
// ended, and SysMonitor has slept whenever it was not told anything. Every part of the protocol is
// left out once; those that tests/compat/mutations takes out of the runtime are among them.
//
// Bounds: 1 or 2 carriers, 1 to 3 workers, 2 or 3 tasks, and one preemption or one store that is
// late while others run; where it says `sequential`, as many preemptions and no late store.
#include "watch_sysmon.h"

namespace {

using namespace watch_model;
using P = Program;

// Each is a kernel thread, or the clock, and does one thing after the other: a digit is the time
// that it gets, a small letter a task's descriptor that gets ready, a capital a task that it makes
// ready, '!' a signal for who waits in the pump; at '|' it waits until a timer lies with the first
// carrier.
using Script = const char*;

void play(System& s, Script script) {
  for (const char* p = script; *p != 0; ++p) {
    model::forget(static_cast<uint64_t>(p - script));
    if (*p == '|') {
      s.carrier[0].next_deadline.await([](uint32_t v) { return v != kNever; });
    } else if (*p == '!') {
      s.pump[0].fetch_or(kInterrupt);
    } else if (*p <= '9') {
      s.now.store(static_cast<uint32_t>(*p - '0'));
    } else if (*p >= 'a') {
      uint32_t task = static_cast<uint32_t>(*p - 'a');
      s.pump[task % s.shape.parts].fetch_or(1u << task);
    } else {
      s.global.fetch_or(1u << (*p - 'A'));
      s.announce_work();
    }
  }
}

model::Scenario scenario(Shape shape, std::vector<Script> scripts) {
  return [=](model::Test& t) {
    System& s = t.make<System>(shape);
    t.watch(&s.idle, sizeof s.idle);
    for (Worker& w : s.worker) t.watch(&w.next, sizeof w.next);
    for (Carrier& c : s.carrier) t.watch(&c.idle_next, sizeof c.idle_next);
    static const char* const kNames[] = {"worker1", "worker2", "worker3"};
    for (int i = 0; i < shape.workers; ++i)
      t.daemon(kNames[i], [&s, i] { s.worker_main(&s.worker[i]); });
    if (shape.sysmon) t.daemon("sysmon", [&s] { s.sysmon_main(5); });
    for (Script script : scripts) t.thread(script, [&s, script] { play(s, script); });
    t.finally([&s, shape] {
      Tasks made = 0;
      for (int i = 0; i < kTasks; ++i)
        if (shape.task[i].program != P::None && shape.task[i].deadline <= s.now.load())
          made |= 1u << i;
      for (auto& part : s.pump)
        if ((part.load() & ~kInterrupt) != 0) model::fail("overlooked: a descriptor");
      if (s.earliest_deadline() <= s.now.load()) model::fail("overlooked: a timer");
      if (s.any_work_visible()) model::fail("overlooked: a task in a queue");
      if (s.ended.get() != made) model::fail("overlooked: a task waits for one that has not run");
      MODEL_CHECK(s.idle.searching() == 0);
    });
  };
}

Task leaf() { return {P::Leaf}; }
Task leaf_at(uint32_t deadline, int heap = 0) { return {P::Leaf, 0, deadline, heap}; }
Task computes(Tasks until) { return {P::Compute, until}; }
Task computes_at(uint32_t deadline, Tasks until, int heap = 0) {
  return {P::Compute, until, deadline, heap};
}
Task blocks(Tasks until) { return {P::Block, until}; }
Task sleeps() { return {P::Sleep, 0, 1}; }

Shape shape(int carriers, int workers, Task a, Task b, uint32_t faults) {
  Shape s;
  s.carriers = carriers;
  s.workers = workers;
  s.task[0] = a;
  s.task[1] = b;
  s.faults = faults;
  return s;
}
Shape with_pump(Shape s) {
  s.pump = true;
  return s;
}
// Neighbours' descriptors are in different ones.
Shape with_parts(Shape s) {
  s.parts = kParts;
  return with_pump(s);
}
Shape with_helper(Shape s) {
  s.helper = true;
  return s;
}

// The worker that watches clock and pump gets up for a timer, whose task computes until that of the
// descriptor has run.
model::Scenario pump_left_for_a_timer(uint32_t faults, std::vector<Script> outside = {"1b"},
                                      int carriers = 1, int workers = 2) {
  return scenario(with_pump(shape(carriers, workers, computes_at(1, kB), leaf(), faults)), outside);
}
// The task of the first descriptor waits in the kernel until that of the second one has run.
model::Scenario pump_left_behind_a_look(uint32_t faults) {
  return scenario(with_pump(shape(1, 2, blocks(kB), leaf(), faults)), {"ab"});
}
// The first timer's task computes until the second one's has run.
model::Scenario two_timers(uint32_t faults) {
  return scenario(shape(1, 2, computes_at(1, kB), leaf_at(2), faults), {"12"});
}
// Who watched the timer is chosen for a task that waits in the kernel until the timer's has run.
model::Scenario watch_left_behind_a_look(uint32_t faults) {
  return scenario(shape(1, 2, blocks(kB), leaf_at(1), faults), {"A1"});
}
// Two tasks, each of which computes until the other one runs, too.
model::Scenario timers_of_two_carriers(uint32_t faults) {
  return scenario(shape(2, 2, computes_at(1, kB), computes_at(1, kA, 1), faults), {"1"});
}
// It arms a timer with nothing else to run, and computing work comes from outside.
model::Scenario timer_left(uint32_t faults, int carriers) {
  return scenario(shape(carriers, 2, sleeps(), computes(kA), faults), {"A|B1"});
}
// One sleeper with a deadline, and another with a later one, among themselves.
model::Scenario watch_given_up(uint32_t faults) {
  Shape s = shape(1, 2, sleeps(), leaf_at(2), faults);
  s.sysmon = false;
  return scenario(s, {"A1"});
}
model::Scenario foreign_timer(uint32_t faults) {
  Task a = sleeps(), b = computes(kA);
  a.program = P::LentSleep;
  b.program = P::Switch;
  return scenario(shape(1, 2, a, b, faults), {"AB1"});
}
model::Scenario no_worker_to_be_had(uint32_t faults) {
  Task a = blocks(0);
  a.program = P::BlockLate;
  return scenario(shape(1, 1, a, leaf(), faults), {"AB1"});
}
// Each of three computes until the last of them has run; there are only two carriers.
model::Scenario two_woken(uint32_t faults) {
  Task a = computes(kB | kC);
  a.program = P::WakeTwo;
  Shape s = shape(2, 3, a, computes(kC), faults);
  s.task[2] = leaf();
  return scenario(s, {"A"});
}
// A task comes back from the kernel, takes the idle carrier and computes until another has run,
// which somebody wakes meanwhile.
model::Scenario last_carrier_taken(uint32_t faults) {
  Task a = blocks(kB);
  a.program = P::BlockLate;
  return scenario(shape(1, 2, a, leaf(), faults), {"A1", "B"});
}
// While a task computes until that of the descriptor has run, a signal gets the poller up.
model::Scenario signal_at_the_pump(uint32_t faults) {
  return scenario(with_pump(shape(1, 2, computes(kB), leaf(), faults)), {"A!b"});
}
// Who has left the pump for the first timer watches the second one.
model::Scenario sent_to_the_pump(uint32_t faults) {
  Shape s = with_pump(shape(1, 2, leaf_at(1), leaf_at(2), faults));
  s.task[2] = leaf();
  return scenario(s, {"12", "c"});
}
// Who leaves the pump sends the other worker there. Its task computes until another one has run,
// whose descriptor is ready then, or which somebody wakes while that worker is on its errand.
model::Scenario attended(std::vector<Script> outside, int workers) {
  Shape s = with_pump(shape(2, workers, computes(kB), leaf(), kNone));
  s.attends = true;
  return scenario(s, outside);
}
// The task of the first descriptor computes until that of the second one has run, which the other
// carrier's part of the pump tells of.
model::Scenario two_parts(std::vector<Script> outside, int workers) {
  return scenario(with_parts(shape(2, workers, computes(kB), leaf(), kNone)), outside);
}
// The same; that part is left to its carrier for a while.
model::Scenario part_seen_to(uint32_t faults, std::vector<Script> outside, int workers) {
  Shape s = with_parts(shape(2, workers, computes(kB), leaf(), faults));
  s.seen_to = true;
  return scenario(s, outside);
}
// The same by a timer.
model::Scenario part_left_for_a_timer() {
  return scenario(with_parts(shape(2, 2, computes_at(1, kB), leaf(), kNone)), {"1b"});
}
// The timer's task computes until another one has run, of which a helper should know.
model::Scenario helped(uint32_t faults, int carriers) {
  return scenario(with_helper(shape(carriers, 2, computes_at(2, kB), leaf(), faults)), {"12", "B"});
}
// The only carrier is taken for a task that computes until the timer's task has run.
model::Scenario busy_at_a_deadline(uint32_t faults) {
  return scenario(shape(1, 2, computes(kB), leaf_at(1), faults), {"A1"});
}

model::Options fast(int preemptions = -1) {
  model::Options o;
  o.by_value = true;  // what is not atomic is Plain, or behind IdleSet's lock and watched
  o.preemptions = preemptions;
  o.count_delays = true;
  return o;
}

// As if every store reached memory at once.
model::Options sequential(int preemptions = -1) {
  model::Options o = fast(preemptions);
  o.sequential = true;
  return o;
}

constexpr auto kOverlooked = "overlooked";

const std::vector<model::Case> kCases = {
    // Who watches the event pump.
    {"pump_left_for_a_timer", nullptr, fast(1), pump_left_for_a_timer(kNone)},
    {"pump_left_any_order", nullptr, sequential(1), pump_left_for_a_timer(kNone, {"1", "b"})},
    {"pump_left_two_carriers", nullptr, sequential(1), pump_left_for_a_timer(kNone, {"1b"}, 2, 3)},
    {"pump_left_silently", kOverlooked, fast(1), pump_left_for_a_timer(kPumpLeftForATimer)},
    {"sysmon_without_fence", kOverlooked, fast(1), pump_left_for_a_timer(kNoFenceInSysmon)},
    {"pump_left_behind_a_look", nullptr, fast(1), pump_left_behind_a_look(kNone)},
    {"pump_left_behind_any_look", nullptr, sequential(2), pump_left_behind_a_look(kNone)},
    {"no_last_look_at_the_pump", kOverlooked, sequential(2),
     pump_left_behind_a_look(kPumpLeftBehindALook)},
    {"nobody_sent_to_the_pump", kOverlooked, fast(1), pump_left_behind_a_look(kNobodySent)},
    {"two_parts", nullptr, sequential(1), two_parts({"ab"}, 2)},
    {"two_parts_any_order", nullptr, sequential(1), two_parts({"a", "b"}, 3)},
    {"two_parts_and_a_waker", nullptr, sequential(1), two_parts({"a", "B"}, 2)},
    {"part_seen_to", nullptr, sequential(1), part_seen_to(kNone, {"ab"}, 2)},
    {"part_seen_to_any_order", nullptr, sequential(1), part_seen_to(kNone, {"a", "b"}, 3)},
    {"part_left_for_a_timer", nullptr, sequential(1), part_left_for_a_timer()},
    {"signal_at_the_pump", nullptr, fast(1), signal_at_the_pump(kNone)},
    {"busy_pump_untold", kOverlooked, fast(1), signal_at_the_pump(kBusyPumpUntold)},
    {"sent_to_the_pump", nullptr, sequential(1), sent_to_the_pump(kNone)},
    {"attended", nullptr, fast(1), attended({"ab"}, 2)},
    {"attended_and_announced", nullptr, sequential(2), attended({"a", "B"}, 2)},
    {"attended_by_one_of_three", nullptr, sequential(1), attended({"ab"}, 3)},
    // Who watches the earliest deadline.
    {"two_timers", nullptr, fast(2), two_timers(kNone)},
    {"timer_left_awake", kOverlooked, fast(1), two_timers(kTimerLeftAwake)},
    {"watch_left_behind_a_look", nullptr, fast(1), watch_left_behind_a_look(kNone)},
    {"watch_left_behind_any_look", nullptr, sequential(2), watch_left_behind_a_look(kNone)},
    {"no_last_look_at_deadlines", kOverlooked, sequential(2),
     watch_left_behind_a_look(kDeadlineBehindALook)},
    {"busy_at_a_deadline", nullptr, fast(1), busy_at_a_deadline(kNone)},
    {"busy_deadline_untold", kOverlooked, fast(1), busy_at_a_deadline(kBusyDeadlineUntold)},
    {"two_watch", nullptr, sequential(3), watch_given_up(kNone)},
    {"watch_given_up", kOverlooked, sequential(3), watch_given_up(kWatchGivenUp)},
    {"timer_and_pick", nullptr, fast(1), timer_left(kNone, 1)},
    {"timer_and_search", nullptr, fast(1), timer_left(kNone, 2)},
    {"timer_left_by_a_search", kOverlooked, fast(1), timer_left(kTimerLeftByASearch, 2)},
    {"foreign_timer", nullptr, fast(1), foreign_timer(kNone)},
    {"foreign_timer_unseen", kOverlooked, fast(1), foreign_timer(kForeignTimerUnseen)},
    // Who hears of work.
    {"timers_of_two_carriers", nullptr, fast(1), timers_of_two_carriers(kNone)},
    {"timers_not_announced", kOverlooked, fast(1), timers_of_two_carriers(kTimersOfTwoCarriers)},
    {"last_carrier_taken", nullptr, fast(2), last_carrier_taken(kNone)},
    {"last_carrier_untold", kOverlooked, fast(1), last_carrier_taken(kAloneInSearch)},
    {"two_woken", nullptr, sequential(2), two_woken(kNone)},
    {"next_untold", kOverlooked, fast(1), two_woken(kNextUntold)},
    {"helped", nullptr, sequential(1), helped(kNone, 2)},
    {"helper_without_carrier", nullptr, sequential(1), helped(kNone, 1)},
    {"helper_silent", kOverlooked, sequential(1), helped(kHelperSilent, 1)},
    {"no_worker_to_be_had", nullptr, fast(2), no_worker_to_be_had(kNone)},
    {"sysmon_wakes_itself", "keeps itself awake", fast(1), no_worker_to_be_had(kSysmonWakesItself)},
    // x86 has a locked instruction before these fences; other processors need not.
    {"the_pumps_fence_need_not_be", nullptr, fast(1), pump_left_for_a_timer(kNoFenceAtPump)},
    {"the_tellers_fence_need_not_be", nullptr, fast(1),
     watch_left_behind_a_look(kNoFenceAtDeadline)},
    // SysMonitor has not gone to sleep for long while nobody watched there.
    {"seen_to_need_not_tell", nullptr, sequential(1), part_seen_to(kSeenToUntold, {"ab"}, 2)},
    // Here who got up has told SysMonitor, or who trusted in a search has found nobody searching.
    {"give_away_need_not_tell", nullptr, fast(1), watch_left_behind_a_look(kTimerGivenAway)},
    {"a_pick_need_not_tell", nullptr, fast(1), timer_left(kTimerLeftByAPick, 1)},
};

}  // namespace

int main(int argc, char** argv) { return model::run_cases(argc, argv, kCases); }
