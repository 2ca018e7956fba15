// When workers are kept off each other's processors: by simulated windows. See scheduler/spread.h.
#include "scheduler/spread.h"

#include <gtest/gtest.h>

namespace {

using wisp::Spread;

struct Process {
  Spread spread;
  Spread::Seen seen{0, 0, 0, 0};
  uint64_t now = 1, idle = 0;
  int asked = 0;

  // A window: percent of the looks that saw another one, of a processor that the process used, and
  // that was idle.
  bool window(uint64_t together, uint64_t cpu, uint64_t idle_percent,
              uint64_t us = Spread::kWindowUs) {
    now += us;
    seen.looks += 1000;
    seen.together += 10 * together;
    seen.cpu_us += cpu * us / 100;
    idle += idle_percent * us / 100;
    bool asks = spread.asks(seen.looks, seen.together);
    asked += asks;
    seen.idle_us = asks ? 1'000'000 + idle : 0;
    return spread.look(now, seen);
  }
  // After so many windows at most; 0: it does not come to that.
  int until(bool on, uint64_t together, uint64_t cpu, uint64_t idle_percent, int most = 1000) {
    for (int i = 1; i <= most; ++i)
      if (window(together, cpu, idle_percent) == on) return i;
    return 0;
  }
};

TEST(Spread, WhereTheyAreTogetherBesideAnIdleProcessor) {
  // The first window shows them together, the next one how long others were idle meanwhile.
  EXPECT_EQ(Process().until(true, 50, 95, 30), 2);
  EXPECT_EQ(Process().until(true, 50, 95, Spread::kIdlePercent + 1), 2);
  EXPECT_EQ(Process().until(true, 50, 95, Spread::kIdlePercent - 5), 0) << "no processor idle";
  EXPECT_EQ(Process().until(true, 20, 95, 30), 0) << "apart by themselves";
  EXPECT_EQ(Process().until(true, 50, 40, 150), 0) << "hardly anything to do";
}

TEST(Spread, AsksForTheIdleTimeWhereItMatters) {
  Process apart;
  EXPECT_EQ(apart.until(true, 10, 150, 40, 20), 0);
  EXPECT_EQ(apart.asked, 0);
  Process unknown;
  for (int i = 0; i < 20; ++i) {
    unknown.now += Spread::kWindowUs;
    unknown.seen = {unknown.seen.looks + 10, unknown.seen.together + 10,
                    unknown.seen.cpu_us + Spread::kWindowUs, 0};
    EXPECT_FALSE(unknown.spread.look(unknown.now, unknown.seen));
  }
}

TEST(Spread, IdleTimeMayGoBack) {
  Process p;
  p.idle = 10'000'000;
  for (int i = 0; i < 20; ++i) {
    p.idle -= 100'000;
    EXPECT_FALSE(p.window(50, 95, 0));
  }
}

TEST(Spread, AsLongAsOneProcessorWouldNotDo) {
  Process p;
  ASSERT_EQ(p.until(true, 50, 95, 30), 2);
  EXPECT_EQ(p.until(false, 0, 130, 10), 0);
  // Load that ends and begins within a window, and pauses, end nothing.
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(p.window(0, 80, 60));
    EXPECT_TRUE(p.window(0, 5, 190));
    EXPECT_TRUE(p.window(0, 80, 60));
    EXPECT_TRUE(p.window(0, 130, 10));
  }
  EXPECT_EQ(p.until(false, 0, 100, 10), Spread::kEndsAfter);
}

TEST(Spread, WhatWasSoonOverIsTriedLessAndLess) {
  Process p;
  ASSERT_NE(p.until(true, 50, 95, 30), 0);
  int before = 0;
  for (int i = 0; i < 8; ++i) {
    ASSERT_EQ(p.until(false, 0, 100, 10), Spread::kEndsAfter);
    int waited = p.until(true, 50, 95, 30);
    EXPECT_GE(waited, before);
    EXPECT_LE(waited * Spread::kWindowUs, Spread::kLongestUs + 2 * Spread::kWindowUs);
    before = waited;
  }
  EXPECT_GE(before * Spread::kWindowUs, Spread::kLongestUs);
  // It paid this time: soon again.
  EXPECT_EQ(p.until(false, 0, 130, 10, 100), 0);
  ASSERT_EQ(p.until(false, 0, 100, 10), Spread::kEndsAfter);
  EXPECT_LE(p.until(true, 50, 95, 30) * Spread::kWindowUs, Spread::kSoonUs + 2 * Spread::kWindowUs);
}

TEST(Spread, ForTwoOrThreeCarriers) {
  EXPECT_FALSE(Spread::possible(1));
  EXPECT_TRUE(Spread::possible(2));
  EXPECT_TRUE(Spread::possible(Spread::kFew));
  EXPECT_FALSE(Spread::possible(Spread::kFew + 1));
}

}  // namespace
