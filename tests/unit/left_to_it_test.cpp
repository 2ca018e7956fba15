// Which work others leave to the carrier that has it (search.cpp): by what is visible alone, no
// scheduler is started.
#include <gtest/gtest.h>

#include "platform/clock.h"
#include "scheduler/internal.h"

namespace wisp {
namespace {

// Carriers of a machine on which most are busy.
class LeftToIt : public testing::Test {
 protected:
  static constexpr uint32_t kCarriers = 8;
  void SetUp() override {
    clock_calibrate();
    for (uint32_t i = 0; i < kCarriers; ++i) carriers_[i].index = i;
    g_scheduler.carriers = carriers_;
    g_scheduler.carrier_count = kCarriers;
    c_->busy.begin(ticks());
    slices_of(10);
  }
  void TearDown() override {
    g_scheduler.carriers = nullptr;
    g_scheduler.carrier_count = 0;
    while (idle_-- != 0) g_scheduler.idle.take_carrier(&worker_);
  }
  void slices_of(uint64_t us) {
    for (int i = 0; i < 200; ++i) c_->pace.look(run_ += 16 * us_to_ticks(us), switches_ += 16);
  }
  void idle(uint32_t n) {
    for (; idle_ < n; ++idle_) g_scheduler.idle.publish_carrier(&carriers_[7 - idle_]);
  }
  Work look(uint64_t since_us = 0) {
    c_->now = ticks() - us_to_ticks(since_us);
    return visible_work();
  }

  Carrier carriers_[kCarriers];
  Carrier* c_ = &carriers_[0];
  WispTask tasks_[4];
  Worker worker_;
  uint64_t run_ = 0, switches_ = 0;
  uint32_t idle_ = 0;
};

TEST_F(LeftToIt, FewBriefTasksOfACarrierThatMoves) {
  EXPECT_EQ(look(), Work::None);
  c_->queue.push(&tasks_[0]);
  c_->front.push(&tasks_[1]);
  c_->inbox.push(&tasks_[2]);
  EXPECT_EQ(look(), Work::ForItsCarrier);
  EXPECT_EQ(look(1000), Work::ForAnybody) << "it does not move";
  c_->inbox.push(&tasks_[3]);
  EXPECT_EQ(look(), Work::ForAnybody) << "they are too many";
  slices_of(1);
  EXPECT_EQ(look(), Work::ForItsCarrier);
  c_->busy.end(ticks());
  EXPECT_EQ(look(), Work::ForAnybody) << "nobody runs it";
}

TEST_F(LeftToIt, NotWhereMostAreIdleOrThereAreFew) {
  c_->queue.push(&tasks_[0]);
  idle(4);
  EXPECT_EQ(look(), Work::ForItsCarrier);
  idle(5);
  EXPECT_EQ(look(), Work::ForAnybody);
  // Who is not wanted is not idle.
  g_scheduler.idle.keep_back(4);
  EXPECT_EQ(look(), Work::ForItsCarrier);
  g_scheduler.idle.keep_back(0);
  while (idle_ > 0) g_scheduler.idle.take_carrier(&worker_), --idle_;
  EXPECT_EQ(look(), Work::ForItsCarrier);
  g_scheduler.carrier_count = 4;
  EXPECT_EQ(look(), Work::ForAnybody);
}

// They leave them to it, and take them when it does not come.
TEST_F(LeftToIt, ThievesDo) {
  for (int i = 0; i < 20; ++i) {
    c_->inbox.push(&tasks_[0]);
    uint64_t pushed = ticks();
    c_->now = pushed;
    WispTask* stolen = nullptr;
    while (stolen == nullptr) stolen = search(&worker_, &carriers_[1]);
    EXPECT_EQ(stolen, &tasks_[0]);
    EXPECT_GE(ticks() - pushed, us_to_ticks(50));
  }
}

}  // namespace
}  // namespace wisp
