// Where a woken task runs (scheduler/home.h), with a scheduler of two carriers. On which carrier a
// task is, is up to nobody here: the tests look it up.
#include "scheduler/home.h"

#include <gtest/gtest.h>

#include "scheduler/internal.h"
#include "unit/scheduler_fixture.h"

namespace wisp::test {
namespace {

constexpr uint64_t kBriefUs = 1, kLongUs = 100;

// The caller, which keeps its carrier from here on. It has none if it stood still before `entry`
// and SysMonitor took that away.
WispTask* on_carrier(const RuntimeEntry& entry) {
  while (entry.task()->carrier == nullptr) yield_current(entry.task());
  return entry.task();
}

// A task that parks at its home, while the waker keeps the other carrier.
struct Sleeper {
  std::atomic<uint32_t> word{0};
  std::atomic<WispTask*> task{nullptr};
  std::atomic<bool> ran{false};
  std::atomic<Carrier*> woke_up_on{nullptr};
  Carrier* home = nullptr;
  uint64_t times_stolen = 0;

  // On a kernel thread. It stays where it is until `leave` says so.
  void start(const std::function<bool()>& leave) {
    spawn([this, leave] {
      RuntimeEntry entry;
      task = on_carrier(entry);
      while (!leave()) kernel::sched_yield();
      home = entry.task()->carrier;
      times_stolen = entry.task()->times_stolen.load();
      park(&word, kForever, [this] { return word.load() == 0; });
      woke_up_on = entry.task()->carrier;
      ran = true;
    });
  }
  bool parked() const {
    const WispTask* t = task.load();  // null before it has begun
    return t != nullptr && t->state.load() == TaskState::Parked;
  }
  void wake() {
    word = 1;
    ParkingLot::unpark(&word, 1);
  }
  bool stolen() const { return task.load()->times_stolen.load() != times_stolen; }
};

class Home : public ::testing::Test {
 protected:
  void SetUp() override {
    if (carriers() != 2) GTEST_SKIP() << "one carrier for the waker and one as a home";
    start_scheduler();
  }

  // `waker` runs on the other carrier than the sleeper's home, which is idle, and keeps its own
  // until this returns.
  void wake_from_elsewhere(Sleeper* s, uint64_t slice_us, const std::function<void()>& waker) {
    std::atomic<bool> both{false}, over{false};
    s->start([&] { return both.load(); });
    spawn([&] {
      {
        RuntimeEntry entry;
        on_carrier(entry);
        both = true;
        if (!until([&] { return s->parked() && g_scheduler.idle.idle() == 1; })) abort();
        s->task.load()->slice_mean = us_to_ticks(slice_us);
        waker();
        if (!until([&] { return s->ran.load(); })) abort();
      }
      over = true;
    });
    if (!until([&] { return over.load(); })) abort();  // the tasks use this stack
  }
};

// Nobody takes it away from the waker, who would keep it: it was woken at home.
TEST_F(Home, WhoHasMuchOfItsOwnGoesThere) {
  Sleeper s;
  wake_from_elsewhere(&s, kLongUs, [&] { s.wake(); });
  EXPECT_EQ(s.woke_up_on.load(), s.home);
  EXPECT_FALSE(s.stolen());
}

// For a thief: the waker keeps its carrier here.
TEST_F(Home, WhoIsBriefStaysBesideItsWaker) {
  Sleeper s;
  wake_from_elsewhere(&s, kBriefUs, [&] { s.wake(); });
  EXPECT_TRUE(s.stolen());
}

// Its waker wakes another one as well, who has the next slot then. A thief, sent by SysMonitor, may
// be faster, and is often where starting the other one takes long (TSan, a busy machine): what is
// left behind with its waker never gets home by itself.
TEST_F(Home, WhoIsDisplacedGoesThere) {
  for (int tries = 0;; ++tries) {
    Sleeper s;
    std::atomic<bool> ran{false};
    wake_from_elsewhere(&s, kBriefUs, [&] {
      current_task()->wake_to_park = 0;  // nobody is called for the first
      s.wake();
      spawn([&] { ran = true; });
    });
    if (!until([&] { return ran.load(); })) abort();  // it uses this stack
    EXPECT_EQ(s.woke_up_on.load(), s.home);
    if (!s.stolen()) return;
    ASSERT_LT(tries, 100);
  }
}

// It belongs where its partner is.
TEST_F(Home, WhoWaitsForItsPartnerStays) {
  Sleeper s;
  wake_from_elsewhere(&s, kLongUs, [&] {
    s.task.load()->awaits_partner = true;
    s.wake();
  });
  s.task.load()->awaits_partner = false;  // the record may be the next task's
  EXPECT_TRUE(s.stolen());
}

// A waker that is about to park, as it always has, makes way for it: no kernel thread is woken.
TEST_F(Home, AnIdleHomeIsLeftIfTheWakerMakesWay) {
  for (int tries = 0;; ++tries) {
    Sleeper s;
    std::atomic<bool> both{false}, over{false};
    std::atomic<Carrier*> waker_on{nullptr};
    s.start([&] { return both.load(); });
    spawn([&] {
      {
        RuntimeEntry entry;
        on_carrier(entry);
        both = true;
        if (!until([&] { return s.parked() && g_scheduler.idle.idle() == 1; })) abort();
        s.task.load()->slice_mean = us_to_ticks(kLongUs);
        entry.task()->wake_to_park = 0;
        waker_on = entry.task()->carrier;
        s.wake();
      }
      over = true;
    });
    if (!until([&] { return over.load() && s.ran.load(); })) abort();
    if (s.woke_up_on.load() == waker_on.load() && !s.stolen()) return;
    // The kernel has put the waker aside, and a thief was faster.
    ASSERT_LT(tries, 100);
  }
}

// Busy, but with brief tasks: it waits for its turn there. With tasks of which nobody knows how
// long they take it stays with its waker.
TEST_F(Home, ABusyHomeIsSentWhatItSoonComesTo) {
  for (bool brief : {true, false}) {
    Sleeper s;
    std::atomic<bool> both{false}, keep{true}, over{false};
    std::atomic<int> kept{0};
    std::atomic<uint32_t> sent{0};
    s.start([&] { return both.load(); });
    spawn([&] {
      {
        RuntimeEntry entry;
        on_carrier(entry);
        both = true;
        if (!until([&] { return s.parked(); })) abort();
        // Who keeps the home busy.
        spawn([&] {
          RuntimeEntry other;
          Carrier* c = on_carrier(other)->carrier;
          uint64_t run = 0, switches = 0;
          for (int i = 0; i < 400; ++i)
            c->pace.look(run += 16 * (brief ? us_to_ticks(5) : us_to_ticks(100'000)),
                         switches += 16);
          kept = 1;
          while (keep) kernel::sched_yield();
        });
        if (!until([&] { return kept == 1; })) abort();
        s.task.load()->slice_mean = us_to_ticks(kLongUs);
        s.wake();
        sent = s.home->inbox.size();
        keep = false;
        if (!until([&] { return s.ran.load(); })) abort();
      }
      over = true;
    });
    if (!until([&] { return over.load(); })) abort();
    EXPECT_EQ(sent.load(), brief ? 1u : 0u);
  }
}

}  // namespace
}  // namespace wisp::test
