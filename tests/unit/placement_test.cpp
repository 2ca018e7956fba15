// Where a woken worker wakes up: scheduler/placement.h. Two kernel threads, no scheduler.
#include "scheduler/placement.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "platform/running.h"
#include "scheduler/internal.h"

namespace wisp {
namespace {

bool equal(const cpu_set_t& a, const cpu_set_t& b) { return CPU_EQUAL(&a, &b) != 0; }

cpu_set_t processors_of(int tid) {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(tid, sizeof set, &set);
  return set;
}

void only(int tid, int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  ASSERT_EQ(sched_setaffinity(tid, sizeof set, &set), 0);
}

// A kernel thread that does what it is told, step by step; idle it yields.
class Sleeper {
 public:
  Sleeper() : thread_([this] { run(); }) {
    while (!ready_) usleep(100);
  }
  ~Sleeper() {
    done_ = true;
    thread_.join();
  }
  void does(std::function<void()> step) {
    step_ = std::move(step);
    asked_ = true;
    while (asked_) usleep(100);
  }
  Worker worker;

 private:
  void run() {
    worker.tid = gettid();
    ready_ = true;
    while (!done_) {
      if (asked_) {
        step_();
        asked_ = false;
      }
      usleep(100);
    }
  }
  std::function<void()> step_;
  std::atomic<bool> ready_{false}, asked_{false}, done_{false};
  std::thread thread_;
};

// Runs `body` on a kernel thread that stays on the first processor it may use.
void on_one_processor(std::function<void(int)> body) {
  std::thread([&] {
    int here = sched_getcpu();
    only(gettid(), here);
    body(here);
  }).join();
}

TEST(Placement, WhoWokeUpOnItsWakersProcessorIsKeptOffIt) {
  cpu_set_t all = processors_of(getpid());
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "one processor";
  g_count_running = [] { return 1; };
  on_one_processor([&](int here) {
    Sleeper sleeper;
    Worker* w = &sleeper.worker;
    auto wakes_up = [w] { placement_after_wake(w); };

    // The kernel puts it here: from then on it is kept off.
    only(w->tid, here);
    placement_before_wake(w);
    EXPECT_FALSE(w->kept_off);
    sleeper.does(wakes_up);
    EXPECT_EQ(sched_setaffinity(w->tid, sizeof all, &all), 0);

    int kept_off = 0;
    for (int i = 0; i < 70; ++i) {
      placement_before_wake(w);
      cpu_set_t now = processors_of(w->tid);
      EXPECT_EQ(w->kept_off, !CPU_ISSET(here, &now));
      kept_off += w->kept_off;
      if (!w->kept_off) break;
      // It wakes up elsewhere and has all processors again.
      sleeper.does(wakes_up);
      if (kept_off == 64) {
        // Woken here by somebody who did not say where it is: that tells nothing.
        only(w->tid, here);
        sleeper.does(wakes_up);
        EXPECT_EQ(sched_setaffinity(w->tid, sizeof all, &all), 0);
      }
      EXPECT_FALSE(w->kept_off);
      EXPECT_TRUE(equal(processors_of(w->tid), all));
    }
    // After a while one is let go, to see.
    EXPECT_EQ(kept_off, 64);

    // It wakes up here again. While no processor is idle it may; when it is not known it may not.
    only(w->tid, here);
    sleeper.does(wakes_up);
    EXPECT_EQ(sched_setaffinity(w->tid, sizeof all, &all), 0);
    for (bool busy : {true, false, true, false}) {
      g_count_running = busy ? [] { return 1'000'000; } : [] { return -1; };
      placement_before_wake(w);
      EXPECT_EQ(w->kept_off, !busy);
      if (!busy) sleeper.does(wakes_up);
      EXPECT_TRUE(equal(processors_of(w->tid), all));
    }
  });
  g_count_running = &running_threads;
}

// Two carriers; the other one is busy where its worker has looked around.
class TwoCarriers {
 public:
  TwoCarriers() : carriers_(std::make_unique<Carrier[]>(2)) {
    g_scheduler.carriers = carriers_.get();
    g_scheduler.carrier_count = 2;
    other().worker = &worker_;
  }
  ~TwoCarriers() {
    g_scheduler.carriers = nullptr;
    g_scheduler.carrier_count = 0;
    g_kept_apart = false;
  }
  Carrier& ours() { return carriers_[0]; }
  Carrier& other() { return carriers_[1]; }

 private:
  std::unique_ptr<Carrier[]> carriers_;
  Worker worker_;
};

TEST(Placement, WhoSleepsIsKeptOffWhereOthersAreBusy) {
  cpu_set_t all = processors_of(getpid());
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "one processor";
  on_one_processor([&](int here) {
    TwoCarriers two;
    Sleeper sleeper;
    Worker* w = &sleeper.worker;
    w->carrier = &two.ours();
    two.ours().worker = w;
    ASSERT_EQ(sched_setaffinity(w->tid, sizeof all, &all), 0);
    auto off = [&] {
      cpu_set_t now = processors_of(w->tid);
      return CPU_ISSET(here, &now) == 0 && CPU_COUNT(&now) == CPU_COUNT(&all) - 1;
    };
    auto up = [&] {
      sleeper.does([w] { placement_after_wake(w); });
      return equal(processors_of(w->tid), all);
    };
    placement_look_around(&two.other());
    EXPECT_EQ(two.other().processor, here);
    two.other().busy.begin(1);

    // Not unless it is wanted.
    sleeper.does([w] { placement_before_wait(w); });
    EXPECT_TRUE(equal(processors_of(w->tid), all));
    g_kept_apart = true;
    sleeper.does([w] { placement_before_wait(w); });
    EXPECT_TRUE(off());
    EXPECT_TRUE(up());
    placement_before_hand_over(w);
    EXPECT_TRUE(off());
    EXPECT_TRUE(up());
    // Where nobody is busy its waker is.
    two.other().busy.end(2);
    placement_before_hand_over(w);
    EXPECT_TRUE(equal(processors_of(w->tid), all));
    placement_before_wake(w);
    EXPECT_TRUE(off());
    EXPECT_TRUE(up());
  });
}

TEST(Placement, WorkersSeeEachOther) {
  on_one_processor([](int here) {
    TwoCarriers two;
    Worker self;
    Carrier& c = two.ours();
    c.worker = &self;
    two.other().busy.begin(1);
    placement_look_around(&c);  // the other one has not looked around yet
    EXPECT_EQ(c.processor, here);
    EXPECT_EQ(c.together, 0u);
    two.other().processor = here;
    placement_look_around(&c);
    EXPECT_EQ(c.together, 1u);
    two.other().processor = here + 1;
    placement_look_around(&c);
    two.other().processor = here;
    two.other().busy.end(2);
    placement_look_around(&c);  // idle
    EXPECT_EQ(c.together, 1u);
    EXPECT_EQ(c.looks_around, 4u);
    g_scheduler.carrier_count = 1;  // not asked there
    placement_look_around(&c);
    EXPECT_EQ(c.looks_around, 4u);
  });
}

TEST(Placement, TheOnlyProcessorStays) {
  cpu_set_t before = processors_of(getpid());
  on_one_processor([&](int here) {
    Sleeper sleeper;
    Worker* w = &sleeper.worker;
    only(getpid(), here);
    only(w->tid, here);
    placement_before_wake(w);
    sleeper.does([w] { placement_after_wake(w); });  // on its waker's processor: where else
    placement_before_wake(w);
    EXPECT_FALSE(w->kept_off);
    cpu_set_t now = processors_of(w->tid);
    EXPECT_TRUE(CPU_ISSET(here, &now));
    EXPECT_EQ(CPU_COUNT(&now), 1);
  });
  EXPECT_EQ(sched_setaffinity(getpid(), sizeof before, &before), 0);
}

}  // namespace
}  // namespace wisp
