// In which order a carrier runs what its queues hold: pick_next by itself, no scheduler is started.
#include "scheduler/pick.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "platform/clock.h"
#include "scheduler/internal.h"

namespace wisp {
namespace {

class Pick : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    clock_calibrate();
    carriers_[0].alone = GetParam();
    carriers_[0].worker = &worker_;
    carriers_[1].index = 1;
    g_scheduler.carriers = carriers_;
    g_scheduler.carrier_count = GetParam() ? 1 : 2;
  }
  void TearDown() override {
    g_scheduler.carriers = nullptr;
    g_scheduler.carrier_count = 0;
    EXPECT_TRUE(g_scheduler.global.empty());
    EXPECT_FALSE(g_scheduler.global.has_answers());
  }

  void in_ring(char first, int count) {
    for (int i = 0; i < count; ++i) push_local(c_, named(static_cast<char>(first + i)));
  }
  void in_front(char first, int count) { answers(c_, first, count); }
  // into nullptr: who has looked into the event pump owns no carrier.
  void answers(Carrier* into, char first, int count) {
    for (int i = 0; i < count; ++i) {
      named(static_cast<char>(first + i))->awaits_answer = true;
      queue_arrival(into, named(static_cast<char>(first + i)));
    }
  }
  // Each pick takes no time, so that no slice ends by itself.
  std::string picks(size_t count) {
    std::string order;
    while (order.size() < count) {
      WispTask* t = pick_next(c_);
      if (t == nullptr) break;
      order += t->name[0];
    }
    return order;
  }
  WispTask* named(char name) {
    WispTask* t = &tasks_[static_cast<unsigned char>(name)];
    t->name[0] = name;
    return t;
  }

  Worker worker_;
  Carrier carriers_[2];
  Carrier* c_ = &carriers_[0];
  std::vector<WispTask> tasks_ = std::vector<WispTask>(128);
};

TEST_P(Pick, TheFrontGoesAheadOfTheRingWhichHasEachSixteenthTurn) {
  in_ring('a', 3);
  in_front('A', 26);
  in_front('0', 10);
  EXPECT_EQ(picks(50), "aABCDEFGHIJKLMNObPQRSTUVWXYZ0123c456789");
}

// Long slices: the ring does not wait for fifteen of them.
TEST_P(Pick, TheRingHasATurnAfterThreeMilliseconds) {
  in_ring('a', 3);
  in_front('A', 9);
  std::string order;
  while (order.size() < 12) {
    c_->now += us_to_ticks(900);
    order += picks(1);
  }
  EXPECT_EQ(order, "aABCbDEFcGHI");
}

// More than there is room for queues at the end of the ring, and none is lost.
TEST_P(Pick, AFullFrontOverflowsIntoTheRing) {
  for (uint32_t i = 0; i < Carrier::kFront; ++i) in_front('f', 1);
  in_ring('r', 1);
  in_front('z', 1);
  std::string order = picks(1000);
  EXPECT_EQ(order.size(), Carrier::kFront + 2);
  EXPECT_EQ(order.substr(0, 17), "r" + std::string(15, 'f') + "z");
}

// Whose queue is long, and another's not half of that, puts what comes next where others find it;
// who takes it from there may keep its connection.
TEST_P(Pick, ALongQueueSpillsOver) {
  static const Poller nothing = {[](uint32_t, uint64_t) { return 0; }, nullptr, nullptr, nullptr};
  g_poller.store(&nothing);
  auto spills = [&](int own, int others) {
    for (int i = 0; i < own; ++i) c_->queue.push(named('o'));
    for (int i = 0; i < others; ++i) carriers_[1].queue.push(named('t'));
    poll_events(0, c_);
    push_local(c_, named('x'));
    bool spilt = g_scheduler.global.pop() != nullptr;
    while (c_->queue.pop() != nullptr || carriers_[1].queue.pop() != nullptr) {
    }
    return spilt;
  };
  bool several = !GetParam();
  EXPECT_EQ(spills(300, 0), several);
  EXPECT_EQ(spills(300, 140), several);
  EXPECT_FALSE(spills(300, 160));
  EXPECT_FALSE(spills(200, 0));
  EXPECT_FALSE(spills(0, 300));
  g_poller.store(nullptr);
}

TEST_P(Pick, WhoTakesWhatOthersSpiltMayKeepItsConnection) {
  for (bool spills : {true, false}) {
    c_->spills = spills;
    for (int i = 0; i < 8; ++i) c_->queue.push(named('a'));
    g_scheduler.global.push(named('g'));
    EXPECT_FALSE(c_->adopts);
    EXPECT_EQ(picks(8), "aaaaaaag");
    EXPECT_EQ(c_->adopts, !spills);
    EXPECT_EQ(picks(8), "a");
  }
  c_->adopts = false;
  g_scheduler.global.push(named('g'));
  for (int i = 0; i < 8; ++i) c_->queue.push(named('a'));
  EXPECT_EQ(picks(9).size(), 9u);
  EXPECT_FALSE(c_->adopts) << "so soon after the other one";
}

// Who has been woken by a descriptor for something else waits its turn.
TEST_P(Pick, OnlyAnAnswerGoesAhead) {
  in_ring('a', 2);
  queue_arrival(c_, named('w'));
  in_ring('c', 1);
  in_front('1', 1);
  EXPECT_EQ(picks(9), "a1bwc");
}

// The answers that SysMonitor has found wait the longest already; its other finds do not go ahead.
TEST_P(Pick, AnAnswerWithoutACarrierGoesAhead) {
  in_ring('a', 3);
  in_front('A', 14);
  queue_arrival(nullptr, named('w'));
  answers(nullptr, '1', 3);
  EXPECT_TRUE(any_work_visible());
  EXPECT_EQ(g_scheduler.global.size(), 4u);
  // The ring has its turn; then, at each eighth look, one of the global queue.
  EXPECT_EQ(picks(21), "a123ABCwDEFGHIJKLbMNc");
}

// Nor do they starve the ring.
TEST_P(Pick, AnswersWithoutACarrierTakeTurnsWithTheRing) {
  in_ring('a', 2);
  answers(nullptr, 'A', 17);
  EXPECT_EQ(picks(19), "aABCDEFGHIJKLMNObPQ");
}

// What tasks wake runs in its waker's slice; at its end the queues have a turn, and no task of
// theirs waits for ever.
TEST_P(Pick, AChainOfWokenTasksStarvesNobody) {
  in_ring('a', 13);
  in_front('1', 6);
  std::string order;
  uint64_t slice = us_to_ticks(250);
  for (int i = 0; i < 100 && order.size() < 19; ++i) {
    c_->now += slice;
    c_->swap_next(named('Z'));
    std::string one = picks(1);
    if (one != "Z") order += one;
    c_->swap_next(nullptr);
  }
  std::string sorted(order);
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, "123456abcdefghijklm") << order;
}

// Nor those that no carrier has brought in: with nothing else in the queues.
TEST_P(Pick, AChainOfWokenTasksStarvesNoAnswer) {
  answers(nullptr, '1', 2);
  queue_arrival(nullptr, named('w'));
  std::string order;
  for (int i = 0; i < 40 && order.size() < 3; ++i) {
    c_->now += us_to_ticks(250);
    c_->swap_next(named('Z'));
    std::string one = picks(1);
    if (one != "Z") order += one;
    c_->swap_next(nullptr);
    while (c_->pop() != nullptr) {  // the displaced one
    }
  }
  std::sort(order.begin(), order.end());
  EXPECT_EQ(order, "12w");
}

// A worker that looks for work, and who decides whether to wake one, see them.
TEST_P(Pick, AnIdleCarrierFindsIt) {
  EXPECT_FALSE(any_work_visible());
  in_ring('a', 12);
  in_front('1', 4);
  for (int i = 0; i < 12; ++i) EXPECT_NE(c_->pop(), nullptr);
  EXPECT_TRUE(any_work_visible());
  EXPECT_EQ(c_->queued(), 4u);
  if (GetParam()) return;
  Worker thief;
  WispTask* stolen = search(&thief, &carriers_[1]);
  ASSERT_NE(stolen, nullptr);
  EXPECT_EQ(stolen->name[0], '1');
  // Half of them: this one, and one that stays ahead of a ring.
  EXPECT_EQ(carriers_[1].front.size(), 1u);
  EXPECT_TRUE(carriers_[1].queue.empty());
  EXPECT_EQ(c_->queued(), 2u);
}

// Its carrier has just come out of the event pump with it and is about to run it: a thief waits a
// little. But no task is left behind by that.
TEST_P(Pick, AThiefWaitsForTheOnlyOne) {
  if (GetParam()) return;
  Worker thief;
  for (int i = 0; i < 200; ++i) {  // a search that takes it at once is not always faster than that
    in_front('1', 1);
    uint64_t began = ticks();
    WispTask* stolen = search(&thief, &carriers_[1]);
    EXPECT_GE(ticks() - began, us_to_ticks(1));
    ASSERT_NE(stolen, nullptr);
    EXPECT_EQ(stolen->name[0], '1');
  }
  EXPECT_EQ(search(&thief, &carriers_[1]), nullptr);
}

// What others have sent: as what descriptors have woken.
TEST_P(Pick, TheInboxIsOpenedBeforeThePick) {
  in_ring('a', 1);
  named('1')->awaits_answer = true;
  for (char name : {'b', '1', 'c'}) c_->inbox.push(named(name));
  EXPECT_EQ(c_->queued(), 4u);
  EXPECT_TRUE(c_->anything_queued());
  EXPECT_EQ(picks(9), "a1bc");
  EXPECT_TRUE(c_->inbox.empty());
}

// Its carrier may be stuck: a thief takes from it, and from its own first.
TEST_P(Pick, AThiefTakesFromTheInbox) {
  if (GetParam()) return;
  Worker thief;
  c_->inbox.push(named('v'));
  EXPECT_TRUE(any_work_visible());
  carriers_[1].inbox.push(named('o'));
  EXPECT_EQ(search(&thief, &carriers_[1])->name[0], 'o');
  WispTask* stolen = search(&thief, &carriers_[1]);
  ASSERT_NE(stolen, nullptr);
  EXPECT_EQ(stolen->name[0], 'v');
  EXPECT_FALSE(any_work_visible());
}

INSTANTIATE_TEST_SUITE_P(Carriers, Pick, testing::Bool(),
                         [](const auto& p) { return p.param ? "one" : "two"; });

}  // namespace
}  // namespace wisp
