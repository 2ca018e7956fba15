// The idle protocol (runtime/scheduler/idle.h and its users) under every interleaving and store
// buffer: when nothing moves any more, no task is left in a queue. Also: never more than one woken
// searcher at a time. Every part of the protocol is left out once, and that must show.
//
// In the cases without `sysmon` no wake-up may depend on SysMonitor. The next slot is SysMonitor's
// own business (a task in it waits for its waker on purpose) and takes part only in hand-offs.
#include "idle_system.h"

namespace {

using namespace idle_model;
using P = Program;

// `first` is in carrier 0's ring, announced by nobody: a task that already is where it is. The
// carrier published last comes up for it: with two in one part carrier 1, which steals it. Each
// word of `pushers` is a kernel thread, each '+' a leaf pushed to the global queue and announced,
// each 'h' one sent home to carrier 0, each 'H' one to the last carrier.
model::Scenario scenario(Shape shape, std::vector<Program> first,
                         std::vector<const char*> pushers) {
  for (const char* p : pushers) shape.homes |= strpbrk(p, "hH") != nullptr;
  return [=](model::Test& t) {
    System& s = t.make<System>(shape);
    t.watch(&s.idle, sizeof s.idle);
    for (Worker& w : s.worker) t.watch(&w.next, sizeof w.next);
    for (Carrier& c : s.carrier) t.watch(&c.idle_next, sizeof c.idle_next);
    uint64_t made = 0;
    for (Program p : first) {
      s.carrier[0].queue.push(&t.make<Task>(Task{p}));
      made += p == P::Fork2 ? 3 : p == P::Leaf || p == P::BlockForLeaf || p == P::AwaitLeaf ? 1 : 2;
    }
    if (!first.empty()) {
      bool no_spare;
      s.idle.take_pair(&no_spare)->wake.store(kRunCarrier);
    }
    static const char* const kNames[] = {"worker1", "worker2", "worker3", "worker4"};
    int early = shape.workers - shape.late_workers;
    for (int i = 0; i < shape.workers; ++i)
      t.daemon(kNames[i], [&s, i, early] {
        s.worker_main(&s.worker[i], i < early ? 0 : static_cast<uint32_t>(i - early + 1));
      });
    for (const char* p : pushers) {
      made += strlen(p);
      t.thread("pusher", [&s, p] {
        for (const char* q = p; *q != 0; ++q) {
          model::forget(static_cast<uint64_t>(q - p));
          Carrier* home = &s.carrier[*q == 'H' ? s.shape.carriers - 1 : 0];
          if (*q != '+' && s.send_home(home)) continue;
          s.global_push();
          s.announce_work();
        }
      });
    }
    if (shape.sysmon) t.daemon("sysmon", [&s] { s.sysmon_main(); });
    t.finally([&s, made] {
      bool next_full = false;
      for (Carrier& c : s.carrier) next_full |= c.next.load() != nullptr;
      if (s.any_work_visible() || next_full)
        model::fail("lost wake-up: a task waits, everybody sleeps");
      if (s.ran.get() != made) model::fail("lost wake-up: a task waits for one that never ran");
      MODEL_CHECK(s.idle.searching() == 0);
    });
  };
}

Shape shape(int carriers, int workers, uint32_t faults = kNone) {
  Shape s;
  s.carriers = carriers;
  s.workers = workers;
  s.faults = faults;
  return s;
}
Shape with_pump(Shape s) {
  s.pump = true;
  return s;
}
// A part for each carrier.
Shape with_two_parts(Shape s) {
  s.parts = kParts;
  return with_pump(s);
}
Shape with_helper(Shape s) {
  s.helper = true;
  return s;
}
Shape with_sysmon(Shape s, int late_workers) {
  s.sysmon = true;
  s.late_workers = late_workers;
  return s;
}
Shape with_one_kept_back(Shape s) {
  s.kept_back = 1;
  return with_sysmon(s, 0);
}
Shape with_leaving(Shape s) {
  s.leaves = true;
  return with_sysmon(s, 0);
}
// With a carrier for each of those that meet.
Shape with_meeting(Shape s, uint32_t after) {
  s.brief = after;
  s.meet = 2;
  return s;
}
model::Options fast(int preemptions = -1) {
  model::Options o;
  o.by_value = true;  // what is not atomic is Plain, or behind IdleSet's lock and watched
  o.preemptions = preemptions;
  return o;
}
// For what is too large otherwise: stores that stay in a buffer count, too.
model::Options few(int preemptions) {
  model::Options o = fast(preemptions);
  o.count_delays = true;
  return o;
}

constexpr auto kLost = "lost wake-up";

const std::vector<model::Case> kCases = {
    // One carrier: the going-to-sleep half against wakers from outside.
    {"one_carrier", nullptr, fast(), scenario(shape(1, 1), {}, {"++"})},
    {"one_carrier_two_pushers", nullptr, fast(), scenario(shape(1, 1), {}, {"++", "+"})},
    {"a_failed_claim_hides_work", kLost, fast(),
     scenario(shape(1, 1, kOneLookAtFailure), {}, {"++", "+"})},
    {"no_fence_at_push", kLost, fast(), scenario(shape(1, 1, kNoFenceAtPush), {}, {"++"})},
    {"no_fence_at_sleep", kLost, fast(), scenario(shape(1, 1, kNoFenceAtSleep), {}, {"++"})},
    {"no_second_look", kLost, fast(), scenario(shape(1, 1, kNoSecondLook), {}, {"++"})},
    {"searching_read_late", "data race", fast(),
     scenario(shape(1, 1, kSearchingReadLate), {}, {"++"})},
    // The event pump as the place to sleep.
    {"pump", nullptr, fast(), scenario(with_pump(shape(1, 1)), {}, {"++"})},
    {"pump_two_workers", nullptr, fast(), scenario(with_pump(shape(1, 2)), {}, {"++"})},
    {"pump_flag_late", "", fast(), scenario(with_pump(shape(1, 1, kPollingFlagLate)), {}, {"++"})},
    {"pump_for_two", "searching() == 0", fast(),
     scenario(with_pump(shape(2, 2, kPumpForTwo)), {P::Fork2}, {})},
    {"fork_with_pump", nullptr, fast(), scenario(with_pump(shape(2, 2)), {P::Fork2}, {})},
    {"two_parts", nullptr, fast(), scenario(with_two_parts(shape(2, 2)), {}, {"+"})},
    {"fork_with_two_parts", nullptr, fast(), scenario(with_two_parts(shape(2, 2)), {P::Fork2}, {})},
    {"wrong_part", "", fast(), scenario(with_two_parts(shape(2, 2, kWrongPart)), {}, {"++"})},
    // Two carriers: searching, stealing, spreading.
    {"two_carriers", nullptr, fast(), scenario(shape(2, 2), {}, {"+"})},
    {"two_carriers_two_pushers", nullptr, fast(1), scenario(shape(2, 2), {}, {"+", "+"})},
    {"two_carriers_two_pushes", nullptr, fast(), scenario(shape(2, 2), {}, {"++"})},
    {"fork", nullptr, fast(), scenario(shape(2, 2), {P::Fork2}, {})},
    {"busy_parent", nullptr, fast(), scenario(shape(2, 2), {P::WaitForLeaf}, {})},
    {"busy_parent_and_pusher", nullptr, fast(1), scenario(shape(2, 2), {P::WaitForLeaf}, {"+"})},
    // Two tasks that both have to run, pushed while somebody goes idle.
    {"meeting", nullptr, fast(1), scenario(with_meeting(shape(2, 2), 0), {}, {"++"})},
    {"meeting_after_one", nullptr, few(2), scenario(with_meeting(shape(2, 2), 1), {}, {"+++"})},
    {"meeting_of_two_pushers", nullptr, few(2),
     scenario(with_meeting(shape(2, 2), 1), {P::Leaf}, {"+", "+"})},
    {"meeting_of_two_pushed", nullptr, few(2),
     scenario(with_meeting(shape(2, 2), 1), {P::Leaf}, {"++"})},
    {"changed_mind_runs_one", kLost, few(2),
     scenario(with_meeting(shape(2, 2, kChangedMindRunsOne), 1), {P::Leaf}, {"++"})},
    // One of two carriers is not wanted: only SysMonitor wakes anybody for it.
    {"kept_back", nullptr, fast(1), scenario(with_one_kept_back(shape(2, 2)), {}, {"++"})},
    {"kept_back_fork", nullptr, fast(2), scenario(with_one_kept_back(shape(2, 2)), {P::Fork2}, {})},
    {"kept_back_busy_parent", nullptr, fast(2),
     scenario(with_one_kept_back(shape(2, 2)), {P::WaitForLeaf}, {})},
    {"kept_back_busy_parent_and_pusher", nullptr, fast(0),
     scenario(with_one_kept_back(shape(2, 2)), {P::WaitForLeaf}, {"+"})},
    {"kept_back_and_stuck", "lost", fast(2),
     scenario(with_one_kept_back(shape(2, 2, kSysmonKeepsBack)), {P::WaitForLeaf}, {})},
    // A sleeper that gets up by itself to search.
    {"helper", nullptr, fast(), scenario(with_helper(shape(1, 1)), {}, {"++"})},
    {"helper_two_workers", nullptr, fast(), scenario(with_helper(shape(1, 2)), {}, {"++"})},
    {"helper_two_carriers", nullptr, fast(1), scenario(with_helper(shape(2, 2)), {}, {"++"})},
    {"helper_and_fork", nullptr, fast(), scenario(with_helper(shape(2, 2)), {P::Fork2}, {})},
    {"helper_and_blocked", nullptr, fast(1),
     scenario(with_helper(shape(1, 2)), {P::BlockForLeaf}, {"+"})},
    // The look of start_helping is for shapes larger than these.
    {"a_helper_need_not_look", nullptr, fast(2),
     scenario(with_helper(shape(1, 2, kHelperLeaves)), {P::BlockForLeaf}, {"+"})},
    // Hand-offs: carriers without a worker, workers without a carrier.
    {"blocked", nullptr, fast(), scenario(shape(1, 2), {P::BlockForLeaf}, {"+"})},
    {"blocked_with_work_in_next", nullptr, fast(), scenario(shape(1, 2), {P::NextThenBlock}, {})},
    {"blocked_all_workers", nullptr, fast(1),
     scenario(with_sysmon(shape(1, 2), 1), {P::BlockForLeaf}, {"+"})},
    {"blocked_all_next", nullptr, fast(),
     scenario(with_sysmon(shape(1, 2), 1), {P::NextThenBlock}, {})},
    {"blocked_all_ring", nullptr, fast(),
     scenario(with_sysmon(shape(1, 2), 1), {P::RingThenBlock}, {})},
    {"a_new_worker_need_not_look", nullptr, fast(),
     scenario(with_sysmon(shape(1, 2, kSpareSleepsAtOnce), 1), {P::RingThenBlock}, {})},
    {"sysmon_only_global", kLost, fast(),
     scenario(with_sysmon(shape(1, 2, kSysmonOnlyGlobal), 1), {P::RingThenBlock}, {})},
    {"next_must_be_moved", kLost, fast(),
     scenario(with_sysmon(shape(1, 2, kNextStays), 1), {P::NextThenBlock}, {})},
    // Sent home: the sender wakes that carrier if it is idle, else that one comes to its inbox. Of
    // two carriers the last one runs `first`.
    {"home", nullptr, fast(), scenario(shape(1, 1), {}, {"h"})},
    {"home_twice", nullptr, fast(), scenario(shape(1, 1), {}, {"hh"})},
    {"home_two_senders", nullptr, fast(), scenario(shape(1, 1), {}, {"h", "h"})},
    {"home_and_pusher", nullptr, fast(), scenario(shape(1, 1), {}, {"h", "+"})},
    {"home_with_pump", nullptr, fast(), scenario(with_pump(shape(1, 1)), {}, {"hh"})},
    {"home_of_two", nullptr, fast(), scenario(shape(2, 2), {}, {"h"})},
    {"home_of_two_twice", nullptr, fast(), scenario(shape(2, 2), {}, {"hh"})},
    {"homes", nullptr, few(1), scenario(shape(2, 2), {}, {"h", "H"})},
    {"home_of_two_and_pusher", nullptr, few(2), scenario(shape(2, 2), {}, {"h", "+"})},
    {"home_with_two_parts", nullptr, fast(), scenario(with_two_parts(shape(2, 2)), {}, {"h"})},
    {"homes_with_two_parts", nullptr, few(1), scenario(with_two_parts(shape(2, 2)), {}, {"hH"})},
    {"home_and_fork", nullptr, few(1), scenario(shape(2, 2), {P::Fork2}, {"h"})},
    {"home_and_fork_there", nullptr, few(1), scenario(shape(2, 2), {P::Fork2}, {"H"})},
    {"home_blocked", nullptr, fast(), scenario(shape(1, 2), {P::BlockForLeaf}, {"h"})},
    {"home_blocked_all_workers", nullptr, few(1),
     scenario(with_sysmon(shape(1, 2), 1), {P::BlockForLeaf}, {"h"})},
    {"home_busy", nullptr, few(1), scenario(with_sysmon(shape(2, 2), 0), {P::AwaitLeaf}, {"H"})},
    {"home_kept_back", nullptr, few(1), scenario(with_one_kept_back(shape(2, 2)), {}, {"hH"})},
    {"home_kept_back_busy", nullptr, few(1),
     scenario(with_one_kept_back(shape(2, 2)), {P::AwaitLeaf}, {"H"})},
    {"home_no_fence", kLost, fast(), scenario(shape(1, 1, kNoFenceAtHome), {}, {"hh"})},
    {"home_inbox_unseen", kLost, fast(), scenario(shape(1, 1, kInboxUnseen), {}, {"hh"})},
    {"home_idle_marked_late", kLost, fast(), scenario(shape(1, 1, kIdleMarkedLate), {}, {"hh"})},
    // Left to a carrier that moves: SysMonitor sees whether it comes to it.
    {"left_fork", nullptr, few(1), scenario(with_leaving(shape(2, 2)), {P::Fork2}, {})},
    {"left_busy_parent", nullptr, few(2),
     scenario(with_leaving(shape(2, 2)), {P::WaitForLeaf}, {})},
    {"left_home", nullptr, few(2), scenario(with_leaving(shape(2, 2)), {}, {"h"})},
    {"left_home_busy", nullptr, few(1), scenario(with_leaving(shape(2, 2)), {P::AwaitLeaf}, {"H"})},
    {"left_and_pusher", nullptr, few(1),
     scenario(with_leaving(shape(2, 2)), {P::WaitForLeaf}, {"+"})},
    {"left_kept_back", nullptr, few(1),
     scenario(with_leaving(with_one_kept_back(shape(2, 2))), {P::AwaitLeaf}, {"H"})},
    {"left_blocked", nullptr, few(1),
     scenario(with_leaving(shape(2, 3)), {P::BlockForLeaf, P::WaitForLeaf}, {})},
    {"left_silently", kLost, few(1),
     scenario(with_leaving(shape(2, 2, kLeavesSilently)), {P::WaitForLeaf}, {})},
    {"sent_silently", kLost, few(1),
     scenario(with_leaving(shape(2, 2, kSendsSilently)), {P::AwaitLeaf}, {"H"})},
};

}  // namespace

int main(int argc, char** argv) { return model::run_cases(argc, argv, kCases); }
