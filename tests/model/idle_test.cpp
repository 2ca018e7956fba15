// The idle protocol: IdleSet of runtime/scheduler/idle.h is the very template; what surrounds it
// (wake_searcher, announce_work, end_search, the worker's loop) is copied from worker.cpp, function
// by function, reduced to what takes part in the protocol. Keep them alike.
//
// Checked: when nothing moves any more, no task is left in a queue. SysMonitor is not modelled: it
// may make the scheduler faster, but no wake-up may depend on it. Also: never more than one woken
// searcher at a time.
//
// Bounds: up to 2 carriers, 3 workers, 3 tasks, 2 threads that make them ready.
#include "model.h"
#include "scheduler/idle.h"
#include "scheduler/run_queue.h"

namespace {

using model::Atomic;
constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;

struct Task {};
struct Worker;
struct Carrier {
  model::Plain<Worker*> worker;
  Carrier* idle_next = nullptr;  // IdleSet's, under its lock
  wisp::RunQueue<Task, 4, Atomic> queue;
};
struct Worker {
  model::Plain<Carrier*> carrier;
  Worker* next = nullptr;  // IdleSet's, under its lock
  model::Plain<bool> searching;
  Atomic<uint32_t> wake{0};
};

enum class Fault { None, OneLookAtFailure, NoFenceAtPush, NoFenceAtSleep, NoSecondLook };

constexpr int kMaxCarriers = 2, kMaxWorkers = 3;
struct System {
  System(int carrier_count, int worker_count, Fault f) : carriers(carrier_count), fault(f) {
    // As scheduler_start does, once its workers have gone to sleep.
    for (int i = 0; i < carriers; ++i) idle.publish_carrier(&carrier[i]);
    for (int i = 0; i < worker_count; ++i) idle.publish_spare(&worker[i]);
  }
  const int carriers;
  const Fault fault;
  Carrier carrier[kMaxCarriers];
  Worker worker[kMaxWorkers];
  Task tasks[4];
  wisp::IdleSet<Carrier, Worker, model::SpinLock, Atomic> idle;
  // GlobalQueue: its tasks are all alike here.
  model::SpinLock global_lock{false};
  Atomic<uint32_t> global_size{0};
  model::Ghost ran, woken_searchers;

  // --- scheduler.cpp: GlobalQueue
  void global_push() {
    global_lock.lock();
    global_size.store(global_size.load(relaxed) + 1, relaxed);
    global_lock.unlock();
  }
  bool global_empty() const { return global_size.load(relaxed) == 0; }
  bool global_pop() {
    global_lock.lock();
    uint32_t n = global_size.load(relaxed);
    if (n != 0) global_size.store(n - 1, relaxed);
    global_lock.unlock();
    return n != 0;
  }

  // --- worker.cpp
  bool any_work_visible() const {
    if (!global_empty()) return true;
    for (int i = 0; i < carriers; ++i)
      if (!carrier[i].queue.empty()) return true;
    return false;
  }
  void wake_searcher() {
    for (;;) {
      if (!idle.claim_searcher()) return;
      bool no_spare = false;
      Worker* w = idle.take_pair(&no_spare);
      if (w != nullptr) {
        w->searching = true;
        MODEL_CHECK(woken_searchers.add(1) == 1);
        w->wake.store(1);
        w->wake.futex_wake(1);
        return;
      }
      idle.stop_searching();
      if (fault == Fault::OneLookAtFailure || no_spare) return;
      // Who came meanwhile trusted our claim.
      if (idle.idle() == 0 || !any_work_visible()) return;
    }
  }
  void announce_work() {
    if (fault != Fault::NoFenceAtPush) model::fence();
    if (idle.should_wake()) wake_searcher();
  }
  void end_search(Worker* w, bool found) {
    if (!w->searching) return;
    w->searching = false;
    woken_searchers.set(0);
    bool last = idle.stop_searching();
    if (found && last && any_work_visible()) announce_work();
  }
  // Steals from every other ring; one pass (more passes only see more).
  bool search(Carrier* c) {
    if (!global_empty() && global_pop()) return true;
    for (int i = 0; i < carriers; ++i) {
      if (&carrier[i] == c) continue;
      Task* loot[4];
      uint32_t n = carrier[i].queue.steal(loot, 4);
      if (n == 0) continue;
      for (uint32_t k = 1; k < n; ++k) c->queue.push(loot[k]);
      return true;
    }
    return false;
  }
  bool pick_next(Carrier* c) {
    if (c->queue.pop() != nullptr) return true;
    return !global_empty() && global_pop();
  }
  void sleep_until_bound(Worker* w) {
    while (w->wake.load(acquire) == 0) w->wake.futex_wait(0);
    w->wake.store(0, relaxed);
  }
  // Returns whenever the worker has a task.
  void next_task(Worker* w) {
    for (;;) {
      model::forget();
      Carrier* c = w->carrier;
      if (c == nullptr) {
        sleep_until_bound(w);
        continue;
      }
      if (pick_next(c)) return end_search(w, true);
      if (carriers > 1) {
        if (!w->searching && idle.try_search(static_cast<uint32_t>(carriers) - idle.idle()))
          w->searching = true;
        if (w->searching && search(c)) return end_search(w, true);
      }
      idle.publish_idle(c, w);
      end_search(w, false);
      if (fault != Fault::NoFenceAtSleep) model::fence();
      if (fault != Fault::NoSecondLook && any_work_visible() && idle.take_back(w)) continue;
      sleep_until_bound(w);
    }
  }
  void worker_main(Worker* w) {
    for (;;) {
      next_task(w);
      ran.add(1);
    }
  }
  void check(uint64_t tasks_made) {
    if (any_work_visible()) model::fail("lost wake-up: a task is queued and everybody sleeps");
    MODEL_CHECK(ran.get() == tasks_made);
    MODEL_CHECK(idle.searching() == 0);
  }
};

// Kernel threads make tasks ready: each word is a thread, each '+' a push to the global queue.
model::Scenario from_outside(int carriers, int workers, std::vector<const char*> pushers,
                             Fault fault = Fault::None) {
  return [=](model::Test& t) {
    System& s = t.make<System>(carriers, workers, fault);
    t.watch(&s.idle, sizeof s.idle);
    for (Worker& w : s.worker) t.watch(&w.next, sizeof w.next);
    for (Carrier& c : s.carrier) t.watch(&c.idle_next, sizeof c.idle_next);
    static const char* const kNames[] = {"worker1", "worker2", "worker3"};
    for (int i = 0; i < workers; ++i)
      t.daemon(kNames[i], [&s, i] { s.worker_main(&s.worker[i]); });
    uint64_t made = 0;
    for (const char* p : pushers) {
      made += strlen(p);
      t.thread("pusher", [&s, p] {
        for (const char* q = p; *q != 0; ++q) {
          model::forget(static_cast<uint64_t>(q - p));
          s.global_push();
          s.announce_work();
        }
      });
    }
    t.finally([&s, made] { s.check(made); });
  };
}

model::Options fast(int preemptions = -1) {
  model::Options o;
  o.by_value = true;  // what is not atomic is Plain, or behind IdleSet's lock
  o.preemptions = preemptions;
  return o;
}

const std::vector<model::Case> kCases = {
    {"one_carrier", nullptr, fast(), from_outside(1, 1, {"++"})},
    {"one_carrier_two_pushers", nullptr, fast(), from_outside(1, 1, {"++", "+"})},
    {"a_failed_claim_hides_work", "lost wake-up", fast(),
     from_outside(1, 1, {"++", "+"}, Fault::OneLookAtFailure)},
    {"no_fence_at_push", "lost wake-up", fast(), from_outside(1, 1, {"++"}, Fault::NoFenceAtPush)},
    {"no_fence_at_sleep", "lost wake-up", fast(), from_outside(1, 1, {"++"}, Fault::NoFenceAtSleep)},
    {"no_second_look", "lost wake-up", fast(), from_outside(1, 1, {"++"}, Fault::NoSecondLook)},
};

}  // namespace

int main(int argc, char** argv) { return model::run_cases(argc, argv, kCases); }
