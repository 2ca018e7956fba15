// What the scheduler learns from its timers: scheduler/forecast.h.
#include "scheduler/forecast.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace wisp {
namespace {

void timer_with_help(Forecast* f) {
  uint64_t now = ticks();
  f->timer_fired(now);
  f->help_wanted_at(now);  // however long this thread is kept waiting in between
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
  for (int i = 0; i < 6; ++i) f.timer_fired(ticks());
  EXPECT_FALSE(f.expects_help());
}

TEST(Forecast, OneTimerCountsOnce) {
  Forecast f;
  f.timer_fired(ticks());
  for (int i = 0; i < 100; ++i) f.help_wanted();
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
