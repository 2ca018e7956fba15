// The event pump in parts, one for each group of carriers: scheduler/polling.cpp, idle.h,
// search.cpp. The pump is one of the test's own, which counts the looks.
#include <gtest/gtest.h>

#include "scheduler/internal.h"
#include "unit/scheduler_fixture.h"

namespace wisp::test {
namespace {

constexpr uint32_t kGroups = 2;
[[maybe_unused]] const int g_parts = g_config_parts = kGroups;

std::atomic<uint32_t> g_inside[kGroups];   // who waits there
std::atomic<uint32_t> g_entered[kGroups];  // how often somebody has begun to
std::atomic<bool> g_interrupted[kGroups];

int fake_poll(uint32_t part, uint64_t deadline_ns) {
  if (deadline_ns == kDontWait) return 0;
  ++g_entered[part];
  ++g_inside[part];
  while (!g_interrupted[part].exchange(false)) usleep(100);
  --g_inside[part];
  return 0;
}
const Poller kFake = {fake_poll, [](uint32_t part) { g_interrupted[part] = true; }, [](uint32_t) {},
                      [](uint32_t) { return true; }};

class PumpParts : public ::testing::Test {
 protected:
  void SetUp() override {
    if (carriers() < static_cast<int>(kGroups)) GTEST_SKIP() << "there is one group only";
    start_scheduler();
  }
};

TEST_F(PumpParts, NeighboursShareOne) {
  ASSERT_EQ(pump_parts(), kGroups);
  uint32_t n = g_scheduler.carrier_count, last = 0;
  std::vector<uint32_t> size(kGroups);
  for (uint32_t i = 0; i < n; ++i) {
    uint32_t part = pump_part_of_carrier(i);
    EXPECT_GE(part, last);
    ++size[last = part];
  }
  for (uint32_t s : size) EXPECT_GE(s, n / kGroups);
}

// Who waited where a busy carrier sees to the events would only take them away from it.
TEST_F(PumpParts, NobodyWaitsWhereABusyCarrierSeesToIt) {
  for (Worker* w = g_scheduler.all_workers.load(); w != nullptr; w = w->all_next)
    if (w->part != 0) GTEST_SKIP() << "it may wait in its own part in any case";
  std::atomic<uint64_t>& until_then = g_pump_parts[1].seen_to_until;
  until_then = ~0ull;
  poller_start(&kFake);
  EXPECT_TRUE(until([] { return g_inside[0] == 1; }));
  // One more is sent and finds that somebody waits in its own part.
  Worker* other = nullptr;  // it may still be on its way to sleep
  ASSERT_TRUE(until([&] { return (other = g_scheduler.idle.take_any_spare()) != nullptr; }));
  other->part = 0;
  wake_worker(other, kGoToPump);
  usleep(50'000);  // SysMonitor has looked many times
  EXPECT_EQ(g_inside[1], 0u);
  until_then = 0;
  EXPECT_TRUE(until([] { return g_inside[1] == 1; }));
}

TEST_F(PumpParts, EachHasItsWatcher) {
  poller_start(&kFake);
  for (auto& inside : g_inside) EXPECT_TRUE(until([&] { return inside == 1; }));
}

// How many looks a busy carrier makes at the others' parts, where the next look is due `at`.
uint64_t looks_if_due(uint64_t at) {
  Carrier* mine = current_task()->carrier;
  for (PumpPart& part : g_pump_parts) part.poll_at = at;
  uint64_t before = mine->polls.load();
  poll_neglected(mine);
  return mine->polls.load() - before;
}
uint64_t neglected_looks() { return looks_if_due(0); }

TEST_F(PumpParts, TheNeglectedOnesAreLookedAt) {
  poller_start(&kFake);
  std::atomic<int> holding{0};
  std::atomic<bool> let_go{false}, over{false};
  for (int i = 1; i < carriers(); ++i)
    spawn([&] {
      RuntimeEntry entry;  // no hand-off: the carrier stays
      ++holding;
      while (!let_go) usleep(100);
      --holding;
    });
  spawn([&] {
    RuntimeEntry entry;
    auto watchers = [] { return g_scheduler.idle.polling(); };
    // With no carrier idle nobody waits for events; who does still is interrupted.
    EXPECT_TRUE(until([&] {
      for (auto& interrupted : g_interrupted) interrupted = true;
      return holding == carriers() - 1 && watchers() == 0;
    }));
    EXPECT_TRUE(until([&] { return neglected_looks() == kGroups - 1; }))
        << "SysMonitor may be looking there";
    EXPECT_TRUE(until([] { return looks_if_due(ticks() + us_to_ticks(1'000'000)) == 0; }))
        << "somebody has just looked";
    let_go = true;
    uint32_t other = 1 - current_task()->carrier->part;
    // Who came first may have been sent away by what was left of the interruptions.
    EXPECT_TRUE(until([&] {
      uint32_t entered = g_entered[other];
      bool before = g_inside[other] == 1;
      uint64_t looks = neglected_looks();
      // The same one all the time: who had left meanwhile would have entered again.
      if (!before || g_inside[other] != 1 || g_entered[other] != entered) return false;
      EXPECT_EQ(looks, 0u) << "somebody waits there";
      return true;
    }));
    over = true;
  });
  if (!until([&] { return over && holding == 0; })) abort();  // the tasks use this stack
}

// On all carriers at once, each kept busy until all have asked: for how many `holds`.
int on_all_carriers(const std::function<bool(uint32_t part)>& holds) {
  std::atomic<int> right{0}, arrived{0}, asked{0}, done{0};
  for (int i = 0; i < carriers(); ++i)
    spawn([&] {
      {
        RuntimeEntry entry;  // no hand-off: the carrier stays
        ++arrived;
        until([&] { return arrived == carriers() && g_scheduler.idle.idle() == 0; });
        if (holds(current_task()->carrier->part)) ++right;
        ++asked;
        until([&] { return asked == carriers(); });
      }
      ++done;
    });
  if (!until([&] { return done == carriers(); })) abort();  // the tasks use this stack
  return right;
}

// A group's own part for who works beside others; the first one for who is alone, so that he finds
// what his tasks send each other.
TEST_F(PumpParts, ABusyCarrierWantsItsOwn) {
  EXPECT_EQ(on_all_carriers([](uint32_t part) { return pump_part_wanted() == part; }), carriers());
}

// A carrier that is not wanted leaves what it has to those that are.
TEST_F(PumpParts, BeyondTheWidthNothingIsKept) {
  if (carriers() < 4) GTEST_SKIP() << "with one alone all is in the first part";
  uint32_t half = g_scheduler.carrier_count / 2;
  int right = on_all_carriers([&](uint32_t part) {
    // SysMonitor may want more meanwhile.
    return until([&] {
      g_scheduler.idle.keep_back(half);
      return pump_part_wanted() == 0 && pump_part_wanted(1) == 0 &&
             pump_part_wanted(0) == (part == 0 ? 0 : kAnyPart);
    });
  });
  g_scheduler.idle.keep_back(0);
  EXPECT_EQ(right, carriers());
}

TEST_F(PumpParts, OneAloneWantsTheFirst) {
  std::atomic<bool> first{false}, over{false};
  spawn([&] {
    RuntimeEntry entry;
    first = until([] {
      return g_scheduler.idle.idle() + 1 == g_scheduler.carrier_count && pump_part_wanted() == 0;
    });
    over = true;
  });
  if (!until([&] { return over.load(); })) abort();  // the task uses this stack
  EXPECT_TRUE(first);
}

struct Idler;
struct Idle {
  uint32_t part;
  Idler* worker = nullptr;
  Idle* idle_next = nullptr;
};
struct Idler {
  std::atomic<uint32_t> part{0};
  Idle* carrier = nullptr;
  Idler* next = nullptr;
};

// Who gets a carrier gets one of the group asked for, as long as there is one, else of the first.
TEST(IdleGroups, OnesOwnFirst) {
  IdleSet<Idle, Idler, SpinLock> set;
  set.set_parts(3);
  Idle carriers[] = {{0}, {0}, {2}, {2}};
  Idler workers[4], asks;
  for (Idle& c : carriers) set.publish_carrier(&c);
  for (Idler& w : workers) set.publish_spare(&w);
  bool no_spare;
  EXPECT_EQ(set.take_pair(&no_spare, 2)->carrier->part, 2u);
  EXPECT_EQ(set.take_pair(&no_spare, 1)->carrier->part, 0u) << "the first group";
  asks.part = 0;
  EXPECT_EQ(set.take_carrier(&asks)->part, 0u);
  EXPECT_EQ(set.take_carrier(&asks)->part, 2u) << "there is no other";
  EXPECT_EQ(asks.part, 2u);
  EXPECT_EQ(set.take_carrier(&asks), nullptr);
  EXPECT_EQ(set.idle(), 0u);
}

// Those that are not wanted are nobody's to wake, and anybody's to take.
TEST(IdleGroups, KeptBack) {
  IdleSet<Idle, Idler, SpinLock> set;
  set.set_parts(3);
  Idle carriers[] = {{0}, {1}, {2}};
  Idler workers[3], asks;
  for (Idle& c : carriers) set.publish_carrier(&c);
  for (Idler& w : workers) set.publish_spare(&w);
  set.keep_back(2);
  EXPECT_EQ(set.wakeable(), 1u);
  EXPECT_EQ(set.help(), Help::Wake);
  bool no_spare;
  EXPECT_NE(set.take_pair(&no_spare, 0), nullptr);
  EXPECT_FALSE(set.more_busy_than_wanted());
  EXPECT_EQ(set.wakeable(), 0u);
  EXPECT_EQ(set.help(), Help::None);
  // Events wake who waits where a carrier is idle. Those of part 0 have a busy one.
  EXPECT_FALSE(set.become_poller(&workers[0], 0));
  EXPECT_TRUE(set.become_poller(&workers[0], 1));
  EXPECT_TRUE(set.take_back(&workers[0]));
  EXPECT_TRUE(set.more_busy_than_wanted());
  set.keep_back(0);
  EXPECT_TRUE(set.become_poller(&workers[1], 0)) << "to help";
  EXPECT_NE(set.take_carrier(&asks), nullptr);
  EXPECT_EQ(set.idle(), 0u);
}

// Each part has one who waits there; they are the last to be chosen, those of the part asked for
// first.
TEST(IdleGroups, WatchersAreTakenLast) {
  IdleSet<Idle, Idler, SpinLock> set;
  set.set_parts(2);
  Idle carriers[] = {{0}, {1}, {1}};
  Idler spare, watchers[2];
  for (Idle& c : carriers) set.publish_carrier(&c);
  for (Idler& w : watchers) set.publish_spare(&w);
  for (uint32_t part : {0u, 1u}) {
    EXPECT_TRUE(set.become_poller(&watchers[part], part));
    EXPECT_TRUE(set.polling(part));
  }
  set.publish_spare(&spare);
  EXPECT_FALSE(set.become_poller(&spare, 1));
  EXPECT_EQ(set.polling(), 2u);
  bool no_spare;
  EXPECT_EQ(set.take_pair(&no_spare, 1), &spare);
  EXPECT_EQ(set.take_pair(&no_spare, 1), &watchers[1]);
  EXPECT_FALSE(set.polling(1));
  EXPECT_EQ(set.polling(), 1u);
  EXPECT_FALSE(set.stop_polling(&watchers[1]));
  EXPECT_TRUE(set.take_back(&watchers[0]));
  EXPECT_EQ(set.polling(), 0u);
}

// A certain carrier, with who waits in its part or was there last.
TEST(IdleGroups, ACertainCarrier) {
  IdleSet<Idle, Idler, SpinLock> set;
  set.set_parts(3);
  Idle carriers[] = {{0}, {1}, {1}, {2}};
  Idler spares[3], watcher;
  for (Idle& c : carriers) set.publish_carrier(&c);
  for (uint32_t i = 0; i < 3; ++i) {
    spares[i].part = i;
    set.publish_spare(&spares[i]);
  }
  set.publish_spare(&watcher);
  ASSERT_TRUE(set.become_poller(&watcher, 2));
  bool no_spare = true;
  EXPECT_EQ(set.take_pair_of(&carriers[1], &no_spare), &spares[1]);
  EXPECT_EQ(spares[1].carrier, &carriers[1]) << "not the first of its part";
  EXPECT_FALSE(no_spare);
  EXPECT_EQ(set.take_pair_of(&carriers[1], &no_spare), nullptr) << "it is not idle any more";
  EXPECT_FALSE(no_spare);
  EXPECT_EQ(set.take_pair_of(&carriers[3], &no_spare), &watcher);
  EXPECT_FALSE(set.polling(2));
  EXPECT_EQ(set.idle(), 2u);
  EXPECT_NE(set.take_pair_of(&carriers[2], &no_spare), nullptr) << "anybody";
  EXPECT_NE(set.take_pair_of(&carriers[0], &no_spare), nullptr);
  EXPECT_EQ(set.spares(), 0u);
  set.publish_carrier(&carriers[0]);
  EXPECT_EQ(set.take_pair_of(&carriers[0], &no_spare), nullptr);
  EXPECT_TRUE(no_spare);
  EXPECT_EQ(set.idle(), 1u);
}

}  // namespace
}  // namespace wisp::test
