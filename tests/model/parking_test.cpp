// The parking protocol: enqueue -> wait against unpark, timeout, interrupt and requeue, with
// waiters of both kinds, and the on_cpu rule of task.h. The functions are those of
// sync/parking_lot.{h,cpp}, scheduler/timers.cpp and scheduler/dispatch.cpp under their own names,
// reduced to what takes part; the classes themselves hang on the scheduler and the kernel. Keep
// alike.
//
// Checked: a wait ends exactly once and is never lost; a task is never run by two workers; nobody
// touches a kernel thread's waiter after that thread may have gone on.
// Bounds: one task or kernel thread that waits up to twice, 2 workers, 2 wakers of different kinds.
#include "parking_system.h"

namespace {

using namespace parking_model;

// The task waits until `flag` is 1 (or gives up, see Plan); each waker does its thing once.
// Requeue wakes whom it has moved, Move leaves it to others.
enum class Waker { Unpark, Timer, Signal, Requeue, Move };

void unpark_each_wait(System& s) {
  s.flag[0].store(1, release);
  s.unpark(kKey, 1);
  if (!s.plan.waits_again) return;
  s.flag[1].store(1, release);
  s.unpark(kOtherKey, 1);
}

model::Scenario task_waits(Plan plan, std::vector<Waker> wakers) {
  return [=](model::Test& t) {
    System& s = t.make<System>(plan);
    t.daemon("worker1", [&s] { s.worker_main(true); });
    t.daemon("worker2", [&s] { s.worker_main(false); });
    for (Waker w : wakers) {
      switch (w) {
        case Waker::Unpark:
          t.thread("unparker", [&s] { unpark_each_wait(s); });
          break;
        case Waker::Timer:
          t.daemon("timer", [&s] { s.timer_main(); });
          break;
        case Waker::Signal:
          t.thread("killer", [&s] { s.kill_task(); });
          break;
        case Waker::Requeue:
          t.thread("requeuer", [&s] {
            s.requeue(kKey, kOtherKey);
            s.flag[0].store(1, release);
            s.unpark(kOtherKey, 1);
            s.unpark(kKey, 1);
          });
          break;
        case Waker::Move:
          t.thread("mover", [&s] { s.requeue(kKey, kOtherKey); });
          break;
      }
    }
    t.finally([&s] {
      if (s.done.get() == 0) model::fail("lost: the task waits for ever");
      MODEL_CHECK(s.queued_tasks.load() == 0);
      MODEL_CHECK(s.bucket[0].empty() && s.bucket[1].empty());
    });
  };
}

model::Scenario own_thread_waits(Plan plan, bool unparked, bool signal) {
  plan.own_thread = true;
  return [=](model::Test& t) {
    System& s = t.make<System>(plan);
    t.thread("task", [&s] { s.own_thread_waits(); });
    if (unparked) t.thread("unparker", [&s] { unpark_each_wait(s); });
    if (signal) t.thread("signal", [&s] { s.puts_signal_off(); });
    t.finally([&s] {
      MODEL_CHECK(s.done.get() == 1);
      MODEL_CHECK(s.bucket[0].empty() && s.bucket[1].empty());
    });
  };
}

model::Scenario kernel_thread_waits(Plan plan, bool second_waker) {
  return [=](model::Test& t) {
    System& s = t.make<System>(plan);
    t.thread("waiter", [&s] { s.kernel_thread_waits(); });
    t.thread("unparker", [&s, plan] {
      s.flag[0].store(1, release);
      s.unpark(kKey, 1);
    });
    if (second_waker) t.thread("unparker2", [&s] { s.unpark(kKey, 1); });
    t.finally([&s] { MODEL_CHECK(s.bucket[0].empty()); });
  };
}

// Nobody wakes it, but it is moved: its own end of waiting has to find it.
model::Scenario kernel_thread_is_moved(Plan plan, bool unparked) {
  return [=](model::Test& t) {
    System& s = t.make<System>(plan);
    t.thread("waiter", [&s] { s.kernel_thread_waits(); });
    t.thread("mover", [&s, unparked] {
      s.requeue(kKey, kOtherKey);
      if (!unparked) return;
      s.flag[0].store(1, release);
      s.unpark(kOtherKey, 1);
      s.unpark(kKey, 1);
    });
    t.finally([&s] { MODEL_CHECK(s.bucket[0].empty() && s.bucket[1].empty()); });
  };
}

Plan plan(uint32_t faults = kNone) {
  Plan p;
  p.faults = faults;
  return p;
}
Plan timed(uint32_t faults = kNone) {
  Plan p = plan(faults);
  p.timed = true;
  return p;
}
Plan timed_then_untimed(uint32_t faults = kNone) {
  Plan p = timed(faults);
  p.waits_again = true;
  return p;
}
model::Options fast() {
  model::Options o;
  o.by_value = true;  // all plain data is Plain
  return o;
}

using W = Waker;
const std::vector<model::Case> kCases = {
    {"unpark", nullptr, fast(), task_waits(plan(), {W::Unpark})},
    {"test_before_the_lock", "lost", fast(), task_waits(plan(kTestOutside), {W::Unpark})},
    {"no_on_cpu_wait", "two inside", fast(), task_waits(plan(kNoOnCpuWait), {W::Unpark})},
    {"timeout", nullptr, fast(), task_waits(timed(), {W::Timer})},
    {"timeout_or_unpark", nullptr, fast(), task_waits(timed(), {W::Timer, W::Unpark})},
    {"timeout_then_second_wait", nullptr, fast(),
     task_waits(timed_then_untimed(), {W::Timer, W::Unpark})},
    {"no_disarm", "old timer", fast(),
     task_waits(timed_then_untimed(kNoDisarm), {W::Timer, W::Unpark})},
    {"cancel_without_asking", "", fast(), task_waits(timed(kCancelBlindly), {W::Timer, W::Unpark})},
    {"signal", nullptr, fast(), task_waits(plan(), {W::Signal, W::Unpark})},
    {"signal_alone", nullptr, fast(), task_waits(plan(kStopOnSignal), {W::Signal})},
    {"signal_no_membarrier", "lost", fast(),
     task_waits(plan(kStopOnSignal | kNoMembarrier), {W::Signal})},
    {"signal_and_timeout", nullptr, fast(),
     task_waits(timed(kStopOnSignal), {W::Signal, W::Timer})},
    {"requeue", nullptr, fast(), task_waits(plan(), {W::Requeue})},
    {"requeue_and_signal", nullptr, fast(), task_waits(plan(), {W::Requeue, W::Signal})},
    {"requeue_and_timeout", nullptr, fast(), task_waits(timed(), {W::Requeue, W::Timer})},
    {"cancel_keeps_old_bucket", "", fast(), task_waits(timed(kOldBucket), {W::Requeue, W::Timer})},
    {"moved_and_timeout", nullptr, fast(), task_waits(timed(), {W::Move, W::Timer})},
    {"moved_out_of_sight", "lost", fast(), task_waits(timed(kRequeueHides), {W::Move, W::Timer})},
    {"moved_out_of_a_signals_sight", "lost", fast(),
     task_waits(plan(kRequeueHides | kStopOnSignal), {W::Move, W::Signal})},
    {"moved_and_signal", nullptr, fast(), task_waits(plan(kStopOnSignal), {W::Move, W::Signal})},
    {"own_thread", nullptr, fast(), own_thread_waits(plan(), true, false)},
    {"own_thread_test_before_the_lock", "deadlock", fast(),
     own_thread_waits(plan(kTestOutside), true, false)},
    {"own_thread_second_wait", nullptr, fast(),
     own_thread_waits(timed_then_untimed(), true, false)},
    {"own_thread_trusts_timeout", "", fast(),
     own_thread_waits(timed_then_untimed(kTrustTimeout), true, false)},
    {"own_thread_and_signal", nullptr, fast(), own_thread_waits(timed_then_untimed(), true, true)},
    {"own_thread_signal_alone", nullptr, fast(),
     own_thread_waits(plan(kStopOnSignal), false, true)},
    {"own_thread_does_not_look", "deadlock", fast(),
     own_thread_waits(plan(kStopOnSignal | kNoLook), false, true)},
    {"kernel_thread", nullptr, fast(), kernel_thread_waits(plan(), false)},
    {"kernel_thread_timed", nullptr, fast(), kernel_thread_waits(timed(), false)},
    {"kernel_thread_two_unparkers", nullptr, fast(), kernel_thread_waits(timed(), true)},
    {"kernel_thread_touched_late", "destroyed", fast(),
     kernel_thread_waits(plan(kTouchAfterWake), false)},
    {"kernel_thread_trusts_timeout", "destroyed", fast(),
     kernel_thread_waits(timed(kTrustTimeout), false)},
    {"kernel_thread_moved", nullptr, fast(), kernel_thread_is_moved(timed(), false)},
    {"kernel_thread_requeued", nullptr, fast(), kernel_thread_is_moved(timed(), true)},
    {"kernel_thread_moved_trusts_timeout", "destroyed", fast(),
     kernel_thread_is_moved(timed(kTrustTimeout), false)},
    {"kernel_thread_keeps_old_bucket", "", fast(), kernel_thread_is_moved(timed(kOldBucket), true)},
    {"kernel_thread_moved_and_signal", nullptr, fast(),
     kernel_thread_is_moved(plan(kStopOnSignal), false)},
    {"kernel_thread_moved_out_of_sight", "deadlock", fast(),
     kernel_thread_is_moved(plan(kStopOnSignal | kRequeueHides), false)},
    // The time stays run out, so that the next look finds it.
    {"kernel_thread_looks_again", nullptr, fast(),
     kernel_thread_is_moved(timed(kRequeueHides), false)},
};

}  // namespace

int main(int argc, char** argv) { return model::run_cases(argc, argv, kCases); }
