// The tick rate is measured once, at start, and stays for life.
#include "platform/clock.h"

#include <gtest/gtest.h>

namespace wisp::test {
namespace {

// A made-up time at 2 ticks per nanosecond. Every look takes 20 ns, and at some the thread is away
// for 10 ms.
uint64_t g_now = 0;
unsigned g_look = 0, g_away = 0;  // g_away: a bit per look, counted from the end of the word
uint64_t look() {
  if ((g_away >> g_look++ % 32 & 1) != 0) g_now += 10'000'000;
  return g_now += 20;
}
uint64_t made_up_ns() { return look(); }
uint64_t made_up_ticks() { return look() * 2; }

TEST(Clock, PairsAreOfOneMoment) {
  for (unsigned away : {0u, 1u, 2u, 4u, 6u, 0xFFFFu, 0xF0F0F0u}) {
    g_now = 1000, g_look = 0, g_away = away;
    ClockPair pair = clock_pair(&made_up_ns, &made_up_ticks);
    EXPECT_NEAR(static_cast<double>(pair.ticks), 2.0 * static_cast<double>(pair.ns), 100) << away;
  }
}

TEST(Clock, RateIsMeasured) {
  clock_calibrate();
  uint64_t ns = monotonic_ns(), then = ticks();
  while (monotonic_ns() - ns < 5'000'000) {
  }
  uint64_t by_ticks = ticks_to_ns(ticks() - then), by_clock = monotonic_ns() - ns;
  EXPECT_GT(by_clock + by_clock / 20, by_ticks);
}

}  // namespace
}  // namespace wisp::test
