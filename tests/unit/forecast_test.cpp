// What the scheduler learns from its timers: scheduler/forecast.h.
#include "scheduler/forecast.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace wisp {
namespace {

// Ticks of a clock of our own, `us` later than the last: however long this thread is kept waiting.
uint64_t after(uint64_t us) {
  static uint64_t now = us_to_ticks(1000);
  return now += us_to_ticks(us);
}

void timer_with_help(Forecast* f, uint64_t period_us = 1000) {
  uint64_t now = after(period_us);
  f->timer_fired(now);
  f->help_wanted_at(now);
}

TEST(Forecast, ExpectsHelpAfterFourTimersThatNeededIt) {
  Forecast f;
  for (int i = 0; i < 3; ++i) timer_with_help(&f);
  EXPECT_FALSE(f.expects_help());
  timer_with_help(&f);
  EXPECT_TRUE(f.expects_help());
}

TEST(Forecast, ForgetsWhenTimersNeedNoneAnyMore) {
  Forecast f;
  for (int i = 0; i < 100; ++i) timer_with_help(&f);
  EXPECT_TRUE(f.expects_help());
  for (int i = 0; i < 6; ++i) f.timer_fired(after(1000));
  EXPECT_FALSE(f.expects_help());
}

// A hundred threads that sleep for a millisecond each: two workers would be up all the time.
TEST(Forecast, NotWhereTimersComeAllTheTime) {
  Forecast f;
  for (int i = 0; i < 100; ++i) {
    timer_with_help(&f, 100);
    EXPECT_FALSE(f.expects_help());
  }
  for (int i = 0; i < 8; ++i) timer_with_help(&f);
  EXPECT_TRUE(f.expects_help());
  for (int i = 0; i < 8; ++i) timer_with_help(&f, 100);
  EXPECT_FALSE(f.expects_help());
}

TEST(Forecast, OneTimerCountsOnce) {
  Forecast f;
  uint64_t now = after(1000);
  f.timer_fired(now);
  for (int i = 0; i < 100; ++i) f.help_wanted_at(now);
  EXPECT_FALSE(f.expects_help());
}

TEST(Forecast, HelpLongAfterTheTimerIsNotPutDownToIt) {
  Forecast f;
  for (int i = 0; i < 8; ++i) {
    f.timer_fired(ticks());
    usleep(10 * Forecast::kSoonUs);
    f.help_wanted();
  }
  EXPECT_FALSE(f.expects_help());
}

TEST(Forecast, TheLeadFollowsTheKernelAndHasABound) {
  Forecast f;
  for (int i = 0; i < 100; ++i) f.woke_late_by(20000);
  EXPECT_NEAR(static_cast<double>(f.lead_ns()), 30000, 200);
  for (int i = 0; i < 100; ++i) f.woke_late_by(1000000000);
  EXPECT_NEAR(static_cast<double>(f.lead_ns()), 160000, 200);
}

}  // namespace
}  // namespace wisp
