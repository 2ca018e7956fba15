// Parking lot, timers, run queue and dispatch around one waiting task, for parking_test.cpp.
#pragma once
#include "model.h"

namespace parking_model {

using model::Atomic;
using model::Plain;
constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;

constexpr uint32_t kKey = 1, kOtherKey = 2;  // bucket 0 and bucket 1

enum class Reason : uint8_t { Unparked, TimedOut, Interrupted };

// Parts of the protocol left out, or (kStopOnSignal) what the waiting program does.
enum Fault : uint32_t {
  kNone = 0,
  kTestOutside = 1,    // the condition is tested before, not under the bucket lock
  kNoOnCpuWait = 2,    // a dispatcher does not wait for on_cpu == 0
  kNoDisarm = 4,       // the timer of a finished wait is left alone
  kCancelBlindly = 8,  // a timer wakes without having dequeued
  kNoMembarrier = 16,
  kOldBucket = 32,       // cancel does not look whether the waiter has moved
  kTouchAfterWake = 64,  // unpark reads the waiter after waking it
  kTrustTimeout = 128,   // a kernel thread whose futex timed out does not cancel first
  kStopOnSignal = 256,   // a signal ends the waiting; a kernel thread gets one only once
  kRequeueHides = 512,   // a requeue takes `queued` away for a moment
  kNoLook = 1024,        // a signal that is put off does not change the word of an own thread
};
struct Plan {
  bool timed = false;
  bool waits_again = false;  // however the first wait ended, a second, untimed one follows
  bool own_thread = false;   // the task waits on its kernel thread
  uint32_t faults = kNone;
};

struct Waiter {
  Plain<Waiter*> next, prev;
  Atomic<uint32_t> key{0};
  Plain<bool> is_task;
  Atomic<uint32_t> wake{0};
  Atomic<bool> queued{false};
  Plain<Reason> reason;
};
struct Bucket {
  model::SpinLock lock{false};
  Plain<Waiter*> head, tail;
  bool empty() const { return head == nullptr; }
};

struct System {
  explicit System(const Plan& p) : plan(p) { waiter.is_task = true; }
  const Plan plan;
  Bucket bucket[2];
  Atomic<uint32_t> flag[2];  // what the task waits for, in phase 1 and 2
  // The task.
  Waiter waiter;
  Atomic<uint32_t> on_cpu{1}, pending{0};
  Plain<bool> waiting;       // between its park and its return from it
  Plain<bool> armed_wait;    // that wait is timed
  Plain<uint32_t> phase{1};  // of its program: it waits on key 1, perhaps then on key 2
  model::Exclusive running;
  model::Ghost done;
  // The queue of runnable tasks: there is only one task, so a count does.
  model::SpinLock queue_lock{false};
  Atomic<uint32_t> queued_tasks{0};
  // Its timer.
  model::SpinLock timer_lock{false};
  Plain<uint32_t> timer_for;  // the phase it is armed for; 0 = not in the heap
  Atomic<uint32_t> armed{0};  // for the timer thread's loop only

  bool has(Fault f) const { return (plan.faults & f) != 0; }

  // --- sync/parking_lot.{h,cpp}
  Bucket& bucket_of(uint32_t key) { return bucket[key - 1]; }
  void append(Bucket& b, uint32_t key, Waiter* w) {
    w->key.store(key, relaxed);
    w->next = nullptr;
    w->prev = b.tail;
    if (b.tail != nullptr)
      b.tail->next = w;
    else
      b.head = w;
    b.tail = w;
    w->queued.store(true, release);
  }
  void take_out(Bucket& b, Waiter* w) {
    (w->prev != nullptr ? w->prev->next : b.head) = w->next;
    (w->next != nullptr ? w->next->prev : b.tail) = w->prev;
  }
  void unlink(Bucket& b, Waiter* w) {
    take_out(b, w);
    w->queued.store(false, relaxed);
  }
  template <typename F>
  bool enqueue(uint32_t key, Waiter* w, F still_wanted) {
    w->wake.store(0, relaxed);
    Bucket& b = bucket_of(key);
    if (has(kTestOutside) && !still_wanted()) return false;
    b.lock.lock();
    bool wanted = has(kTestOutside) || still_wanted();
    if (wanted) append(b, key, w);
    b.lock.unlock();
    return wanted;
  }
  void wake(Waiter* w) {
    if (w->is_task) return plan.own_thread ? wake_on_own_thread() : ready();
    Atomic<uint32_t>* word = &w->wake;
    word->store(1, release);
    word->futex_wake(1);
  }
  uint32_t unpark(uint32_t key, uint32_t n) {
    Bucket& b = bucket_of(key);
    Waiter* woken = nullptr;
    uint32_t count = 0;
    b.lock.lock();
    for (Waiter* w = b.head; w != nullptr && count < n; w = w->next) {
      if (w->key.load(relaxed) != key) continue;
      unlink(b, w);
      w->reason = Reason::Unparked;
      woken = w;
      ++count;
    }
    b.lock.unlock();
    if (woken != nullptr) {
      wake(woken);
      if (has(kTouchAfterWake)) woken->queued.load(relaxed);
    }
    return count;
  }
  bool cancel(Waiter* w, Reason reason) {
    for (;;) {
      if (!w->queued.load(acquire)) return false;
      uint32_t key = w->key.load(relaxed);
      Bucket& b = bucket_of(key);
      b.lock.lock();
      bool queued = w->queued.load(relaxed);
      bool here = w->key.load(relaxed) == key || has(kOldBucket);
      if (queued && here) {
        unlink(b, w);
        w->reason = reason;
      }
      b.lock.unlock();
      if (!queued) return false;
      if (here) return true;
    }
  }
  void requeue(uint32_t from, uint32_t to) {
    Bucket& source = bucket_of(from);
    Bucket& target = bucket_of(to);
    source.lock.lock();
    target.lock.lock();
    if (Waiter* w = source.head) {
      if (has(kRequeueHides))
        unlink(source, w);
      else
        take_out(source, w);
      append(target, to, w);
    }
    target.lock.unlock();
    source.lock.unlock();
  }
  // pthread_kill on a task (signal layer) and ParkingLot::interrupt.
  void kill_task() {
    pending.fetch_or(1);
    if (!has(kNoMembarrier)) model::membarrier();
    if (cancel(&waiter, Reason::Interrupted)) ready();
  }

  // --- the queue of runnable tasks
  void ready() {
    queue_lock.lock();
    queued_tasks.store(queued_tasks.load(relaxed) + 1, relaxed);
    queue_lock.unlock();
  }
  bool pop() {
    queue_lock.lock();
    uint32_t n = queued_tasks.load(relaxed);
    if (n != 0) queued_tasks.store(n - 1, relaxed);
    queue_lock.unlock();
    return n != 0;
  }

  // --- scheduler/timers.cpp
  void timer_arm() {
    timer_lock.lock();
    timer_for = static_cast<uint32_t>(phase);
    timer_lock.unlock();
    armed.store(1, release);
  }
  void timer_disarm() {
    if (waiter.reason == Reason::TimedOut) return;
    timer_lock.lock();
    timer_for = 0u;
    timer_lock.unlock();
  }
  void timer_main() {
    armed.await([](uint32_t v) { return v != 0; });
    timer_lock.lock();
    uint32_t fired_for = timer_for;
    timer_for = 0u;
    bool fired = false;
    if (fired_for != 0) {
      fired = cancel(&waiter, Reason::TimedOut) || has(kCancelBlindly);
      if (fired && fired_for != phase) model::fail("an old timer ended a later wait");
    }
    timer_lock.unlock();
    if (fired) ready();
  }

  // --- scheduler/dispatch.cpp: a worker runs the task whenever it gets it
  void worker_main(bool has_task) {
    for (;;) {
      model::forget(has_task);
      if (!has_task) {
        queued_tasks.await([](uint32_t n) { return n != 0; });
        if (!pop()) continue;
        if (!has(kNoOnCpuWait)) on_cpu.await([](uint32_t v) { return v == 0; });
        on_cpu.store(1, relaxed);
      }
      has_task = false;
      running.enter();
      run_task();
      running.leave();
      // finish_switch, by the flow that goes on: the task's stack is free from here.
      on_cpu.store(0, release);
    }
  }
  // Runs the task until it leaves its stack.
  void run_task() {
    for (;;) {
      if (waiting) {  // back from a park
        waiting = false;
        if (armed_wait && !has(kNoDisarm)) timer_disarm();
        MODEL_CHECK(!waiter.queued.load(relaxed));
        if (waiter.reason == Reason::Interrupted && !has(kStopOnSignal)) pending.exchange(0);
        if (waiter.reason == Reason::TimedOut) {
          if (last_phase()) return finish();
          phase = 2u;
        }
      }
      if (done.get() != 0) model::fail("resumed after its end");
      if (has(kStopOnSignal) && pending.load(acquire) != 0) return finish();
      if (flag[phase - 1].load(acquire) != 0) {
        if (last_phase()) return finish();
        phase = 2u;
        continue;
      }
      if (!park()) continue;
      // switch_out: what pick_next finds may be the task itself, which then never leaves.
      if (!pop()) return;
    }
  }
  bool last_phase() const { return !plan.waits_again || phase == 2u; }
  // ParkingLot::enqueue and wait, up to the switch. False: go on at once.
  bool park() {
    uint32_t key = phase;
    if (!enqueue(key, &waiter, [=, this] { return flag[key - 1].load(relaxed) == 0; }))
      return false;
    if (pending.load(relaxed) != 0 && cancel(&waiter, Reason::Interrupted)) {
      if (!has(kStopOnSignal)) pending.exchange(0);  // handled: the caller leaves the runtime
      return false;
    }
    armed_wait = plan.timed && phase == 1u;
    if (armed_wait) timer_arm();
    waiting = true;
    return true;
  }
  void finish() { MODEL_CHECK(done.add(1) == 1); }

  // --- scheduler/own_thread.cpp
  static constexpr uint32_t kWoken = 1, kLook = 2;
  Atomic<uint32_t> own_wake{0}, put_off{0};

  void wake_on_own_thread() {
    own_wake.fetch_or(kWoken, release);
    own_wake.futex_wake(1);
  }
  // own_thread_has_signal: a handler on the very thread, which is up afterwards.
  void puts_signal_off() {
    put_off.fetch_or(1);
    if (!has(kNoLook)) own_wake.fetch_or(kLook, relaxed);
    own_wake.futex_wake(1);
  }
  void wait_on_own_thread(bool in_time) {
    for (;;) {
      model::forget(in_time);
      uint32_t word = own_wake.load(acquire);
      if ((word & kWoken) != 0) return;
      if (put_off.load(relaxed) != 0 && cancel(&waiter, Reason::Interrupted)) return;
      if (own_wake.futex_wait(word, in_time) != -110) continue;
      if (cancel(&waiter, Reason::TimedOut) || has(kTrustTimeout)) return;
      in_time = false;
    }
  }
  void own_thread_waits() {
    for (uint32_t p = 1; p <= (plan.waits_again ? 2u : 1u); ++p) {
      while (flag[p - 1].load(acquire) == 0) {
        own_wake.store(0, relaxed);  // note_own_thread
        if (!enqueue(p, &waiter, [=, this] { return flag[p - 1].load(relaxed) == 0; })) break;
        wait_on_own_thread(plan.timed && p == 1);
        MODEL_CHECK(!waiter.queued.load(relaxed));
        if (waiter.reason == Reason::TimedOut) break;
        // The runtime is left: its handler has run.
        if (put_off.exchange(0) != 0 && has(kStopOnSignal)) return finish();
      }
    }
    finish();
  }

  // --- a kernel thread's wait: ParkingLot::wait. What ends the sleep is the time, which stays run
  // out, or (kStopOnSignal) a signal, which comes once.
  void kernel_thread_waits() {
    while (flag[0].load(acquire) == 0) {
      Waiter w;  // on its stack
      w.is_task = false;
      if (!enqueue(kKey, &w, [this] { return flag[0].load(relaxed) == 0; })) return;
      for (bool interrupted = false;;) {
        model::forget(interrupted);
        if (w.wake.load(acquire) != 0) break;
        int r = w.wake.futex_wait(0, plan.timed || (has(kStopOnSignal) && !interrupted));
        if (r != -110) continue;
        if (has(kTrustTimeout)) return;
        interrupted = has(kStopOnSignal);
        if (cancel(&w, interrupted ? Reason::Interrupted : Reason::TimedOut)) return;
      }
    }
  }
};

}  // namespace parking_model
