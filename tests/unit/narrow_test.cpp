// Whether one of two or three carriers is kept back: by simulated loads. See scheduler/narrow.h.
#include "scheduler/narrow.h"

#include <gtest/gtest.h>

namespace {

using wisp::Narrow;

// A load, by what one millisecond of it shows, in the wide and in the narrow state.
struct Load {
  uint64_t switches = 60, slice_us = 10, dry_wide = 20, dry_narrow = 2, queued_us = 20;
  uint64_t woken = 60;
  uint64_t kept_of_16 = 0;  // of so many looks so many see a task that keeps its carrier
  uint32_t carriers = 2;
  Narrow narrow{};
  Narrow::Seen seen{1, 0, 0, 0, 0};
  uint64_t looks = 0;
  int changes = 0;

  // Whether one is kept back after so many ms.
  bool after(int ms) {
    for (int i = 0; i < ms; ++i) {
      bool back = narrow.keeps_back();
      seen.now_us += 1000;
      seen.switches += switches;
      seen.run_us += switches * slice_us;
      seen.woken += woken;
      seen.dry += back ? dry_narrow : dry_wide;
      narrow.note(seen.now_us, queued_us, looks++ % 16 < kept_of_16);
      if (narrow.due(seen.now_us)) changes += narrow.look(seen, carriers) != back;
    }
    return narrow.keeps_back();
  }
};

TEST(Narrow, FewCarriersOnly) {
  EXPECT_FALSE(Narrow::possible(1));
  EXPECT_TRUE(Narrow::possible(2));
  EXPECT_TRUE(Narrow::possible(3));
  EXPECT_FALSE(Narrow::possible(4));
}

TEST(Narrow, WhereCarriersRunDryOneIsKeptBack) {
  Load load;
  EXPECT_FALSE(load.after(90)) << "a window has to pass";
  EXPECT_TRUE(load.after(200));
  EXPECT_TRUE(load.after(10'000));
  EXPECT_EQ(load.changes, 1);
}

TEST(Narrow, NotWhereTheyHardlyDo) {
  Load load{.dry_wide = 7};
  EXPECT_FALSE(load.after(1000));
  load.dry_wide = 8;
  EXPECT_TRUE(load.after(200));
}

TEST(Narrow, WhoQueuesForLongIsHelped) {
  Load load;
  EXPECT_TRUE(load.after(300));
  load.queued_us = Narrow::kLongUs;
  EXPECT_TRUE(load.after(300));
  load.queued_us = Narrow::kLongUs + 1;
  EXPECT_FALSE(load.after(60)) << "the window is over soon";
}

TEST(Narrow, WhoComputesHasAllOfThem) {
  Load load{.woken = 3};
  EXPECT_FALSE(load.after(1000)) << "less than one of sixteen switches";
  load.woken = 4;
  EXPECT_TRUE(load.after(200));
  load.kept_of_16 = 4;
  EXPECT_TRUE(load.after(300)) << "a processor is lost now and then";
  load.kept_of_16 = 6;
  EXPECT_FALSE(load.after(120));
  EXPECT_FALSE(load.after(20'000)) << "and as long as it does so";
}

TEST(Narrow, WhoTakesLongHasAllOfThem) {
  Load load{
      .switches = 5, .slice_us = Narrow::kBriefUs + 1, .dry_wide = 5, .dry_narrow = 0, .woken = 5};
  EXPECT_FALSE(load.after(1000));
  load.slice_us = Narrow::kBriefUs;
  EXPECT_TRUE(load.after(200));
}

TEST(Narrow, WhatRunsHasRoomOnTheOthers) {
  Load load{.slice_us = 17};  // 1.02 ms in each
  EXPECT_FALSE(load.after(1000));
  load.carriers = 3;
  EXPECT_TRUE(load.after(200));
}

TEST(Narrow, LittleToDoTellsNothing) {
  Load load{.switches = 1, .dry_wide = 1, .dry_narrow = 0, .woken = 1};
  EXPECT_FALSE(load.after(1000));
  load.switches = load.woken = 2;
  EXPECT_TRUE(load.after(200));
  load.switches = 1, load.woken = 0;
  EXPECT_TRUE(load.after(1000)) << "it stays as it was";
  load.kept_of_16 = 16;
  EXPECT_FALSE(load.after(200)) << "but for who computes";
}

// Each task waits alone, for one connection: one carrier sleeps as often as two do.
TEST(Narrow, OfNoUseItIsTriedLessAndLess) {
  Load load{.dry_narrow = 20};
  load.after(1000);
  EXPECT_GE(load.changes, 4);
  int first = load.changes;
  load.after(40'000);
  int then = load.changes;
  load.after(40'000);
  EXPECT_LE(load.changes - then, 10) << "each ten seconds";
  EXPECT_GE(load.changes - then, 6);
  EXPECT_LE(then - first, 24);
  load.dry_narrow = 2;
  EXPECT_TRUE(load.after(11'000)) << "never given up";
}

TEST(Narrow, TheFirstWindowAfterIsNotJudged) {
  Load load;
  while (!load.after(1)) {
  }
  load.dry_narrow = 20;  // what descriptors wake has not moved yet
  EXPECT_TRUE(load.after(50));
  load.dry_narrow = 2;
  EXPECT_TRUE(load.after(500));
}

}  // namespace
