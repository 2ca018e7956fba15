// Carriers that are not wanted (scheduler/width.h): who is woken for them after all. With two
// carriers, where SysMonitor leaves it to the test how many are wanted.
#include <gtest/gtest.h>

#include "scheduler/internal.h"
#include "unit/scheduler_fixture.h"

namespace wisp::test {
namespace {

class KeptBack : public ::testing::Test {
 protected:
  void SetUp() override {
    if (carriers() != 2) GTEST_SKIP() << "one of two carriers is kept back here";
    start_scheduler();
    g_scheduler.idle.keep_back(1);
  }
  void TearDown() override { g_scheduler.idle.keep_back(0); }
};

// On a task that keeps its carrier.
void on_a_kept_carrier(const std::function<void()>& f) {
  std::atomic<bool> over{false};
  spawn([&] {
    {
      RuntimeEntry entry;  // nobody takes the carrier away
      f();
    }
    over = true;
  });
  if (!until([&] { return over.load(); })) abort();  // the task uses this stack
}

// The caller's carrier has tasks that run for so long, us, each.
void set_pace(uint64_t us) {
  // Of this test's own: carriers are as the former tests have left them.
  static uint64_t run[2] = {}, switches[2] = {};
  Carrier* c = current_task()->carrier;
  for (int i = 0; i < 200; ++i)
    c->pace.look(run[c->index] += 16 * us_to_ticks(us), switches[c->index] += 16);
}

// A task that makes another ready and does not make way; `before` that. How long it took until that
// one ran, ns.
uint64_t helped_after(const std::function<void()>& before) {
  uint64_t took = 0;
  on_a_kept_carrier([&] {
    set_pace(5);  // else it calls for help itself
    before();
    uint64_t since = monotonic_ns();
    std::atomic<bool> ran{false};
    spawn([&] { ran = true; });
    if (!until([&] { return ran.load(); })) abort();
    took = monotonic_ns() - since;
  });
  return took;
}

// Not only after four ticks, as who has been stuck for so long. On a busy machine only now and
// then.
TEST_F(KeptBack, WhoIsStuckIsHelped) {
  uint64_t soonest = ~0ull;
  for (int tries = 0; tries < 100 && soonest > 3'000'000; ++tries)
    soonest = std::min(soonest, helped_after([] {}));
  EXPECT_LE(soonest, 3'000'000u);
}

// Many ticks, of which SysMonitor knows. A task inside the runtime keeps its carrier whatever it
// does.
TEST_F(KeptBack, WhoIsStuckForLongIsHelped) {
  helped_after([] {
    sysmon_notice_slow();
    usleep(50'000);
  });
}

// Does who makes two tasks ready wake somebody at once? Who comes later is SysMonitor's, which is
// not called meanwhile: it would preempt the caller on a busy machine. On a task that keeps its
// carrier.
bool calls_for_help() {
  auto wakeups = [] {
    return g_scheduler.carriers[0].wakeups.load() + g_scheduler.carriers[1].wakeups.load();
  };
  std::atomic<int> ran{0};
  IdleSet<Carrier, Worker, SpinLock>& idle = g_scheduler.idle;
  EXPECT_TRUE(
      until([&] { return idle.idle() == 1 && idle.searching() == 0 && idle.spares() != 0; }));
  uint64_t before = wakeups();
  g_sysmon_lazy = 0;
  spawn([&] { ++ran; });
  spawn([&] { ++ran; });
  bool woken = wakeups() != before;
  sysmon_notice_slow();
  if (!until([&] { return ran == 2; })) abort();
  return woken;
}

TEST_F(KeptBack, WhoHasMuchToDoCallsForHelp) {
  constexpr int kTries = 40;  // SysMonitor's look may come just then
  int with_long = 0, with_brief = 0;
  auto one = [&](uint64_t us) {
    bool woken = false;
    on_a_kept_carrier([&] {
      set_pace(us);
      woken = calls_for_help();
    });
    return woken;
  };
  for (int i = 0; i < kTries; ++i) with_long += one(1000);
  for (int i = 0; i < kTries; ++i) with_brief += one(5);
  one(1'000'000);  // nobody else is taken for brief
  EXPECT_GT(with_long, with_brief + kTries / 4);
}

// Its answers are always there already, and somebody else has got one: nobody else takes that.
TEST_F(KeptBack, WhoAsksLetsOthersGoFirst) {
  int gave_way = 0, went_on = 0;
  bool ever_quick = false;  // not under TSan
  auto asks_after = [&](uint64_t us, int* count, bool expected) {
    Latch done(2);
    spawn([&] {
      uint64_t begun = ticks();
      std::atomic<bool> ran{false};
      spawn([&] {
        ran = true;
        done.count_down();
      });
      {
        RuntimeEntry entry;
        Carrier* c = entry.task()->carrier;
        WispTask* other = c != nullptr ? c->swap_next(nullptr) : nullptr;
        if (other != nullptr && !c->front.push(other)) abort();
      }
      for (uint64_t end = ticks() + us_to_ticks(us); ticks() < end;) cpu_pause();
      bool before = ran;
      ever_quick |= ticks() - begun < us_to_ticks(30);
      if (make_way_is_due()) make_way(true);
      if (!before && ran == expected) ++*count;
      done.count_down();
    });
    done.wait();
  };
  // On a busy machine the task is put aside meanwhile, or SysMonitor has the other one run.
  for (int i = 0; i < 200 && gave_way == 0; ++i) asks_after(100, &gave_way, true);
  for (int i = 0; i < 200 && went_on == 0; ++i) asks_after(0, &went_on, false);
  EXPECT_GT(gave_way, 0);
  if (ever_quick) {
    EXPECT_GT(went_on, 0);
  }
}

}  // namespace
}  // namespace wisp::test
