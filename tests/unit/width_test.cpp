// How many carriers are wanted: by simulated loads. See scheduler/width.h.
#include "scheduler/width.h"

#include <gtest/gtest.h>

namespace {

using wisp::Width;

// `busy` tells how many carriers are busy on average where so many are wanted; of 16 switches so
// many go to tasks that descriptors have woken. What is wanted in the end, after so many windows.
struct Load {
  Width width;
  Width::Seen seen{Width::kWindowUs, 0, 0, 0, 0};
  uint64_t slice_us = 10;
  uint32_t carriers, wanted;
  explicit Load(uint32_t of) : carriers(of), wanted(of) {}

  template <class Busy>
  uint32_t after(int windows, Busy busy, uint64_t woken = 16) {
    for (int i = 0; i < windows; ++i) {
      wanted = width.look(seen, wanted, carriers);
      seen.now_us += Width::kWindowUs;
      seen.busy_us += static_cast<uint64_t>(busy(wanted) * Width::kWindowUs);
      seen.switches += 1600;
      seen.run_us += 1600 * slice_us;
      seen.woken += 100 * woken;
    }
    return wanted;
  }
};

// Never more than are wanted: so much work there is for them.
auto work_for(double carriers) {
  return [=](uint32_t wanted) { return std::min(carriers, wanted * 1.0); };
}

TEST(Width, AsManyAsHaveWork) {
  EXPECT_EQ(Load(16).after(100, work_for(9.2)), 10u);
  EXPECT_EQ(Load(16).after(100, work_for(10.8)), 12u);
  EXPECT_EQ(Load(16).after(100, work_for(14.6)), 16u);
  EXPECT_EQ(Load(64).after(100, work_for(40)), 43u);
}

TEST(Width, HalfOfThemAlways) {
  EXPECT_EQ(Load(16).after(100, work_for(0.1)), 8u);
  EXPECT_EQ(Load(5).after(100, work_for(0)), 3u);
  EXPECT_EQ(Load(4).after(100, work_for(1)), 2u);
}

TEST(Width, MoreWhenTheyAreBusyAllTheTime) {
  Load load(16);
  EXPECT_EQ(load.after(100, work_for(2)), 8u);
  EXPECT_EQ(load.after(2, work_for(16)), 9u) << "the next window shows it";
  EXPECT_EQ(load.after(16, work_for(16)), 16u);
  EXPECT_EQ(load.after(100, work_for(16)), 16u);
}

TEST(Width, StaysWhereItIsRight) {
  Load load(16);
  uint32_t wanted = load.after(100, work_for(9.4));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(load.after(1, work_for(9.4)), wanted);
}

TEST(Width, WhoComputesHasAllOfThem) {
  Load load(16);
  EXPECT_EQ(load.after(100, work_for(2), 0), 16u);
  EXPECT_EQ(load.after(100, work_for(2), 1), 8u) << "one of sixteen switches";
  EXPECT_EQ(load.after(100, work_for(2), 0), 16u);
}

TEST(Width, WhoTakesLongHasAllOfThem) {
  Load load(16);
  EXPECT_EQ(load.after(100, work_for(2)), 8u);
  load.slice_us = Width::kBriefUs + 1;
  EXPECT_EQ(load.after(100, work_for(2)), 16u);
  load.slice_us = Width::kBriefUs;
  EXPECT_EQ(load.after(100, work_for(2)), 8u);
}

TEST(Width, NothingIsLearntFromWhatDoesNotMove) {
  Load load(16);
  load.after(100, work_for(2));
  load.wanted = 12;
  for (int i = 0; i < 10; ++i) {
    load.seen.now_us += Width::kWindowUs;
    EXPECT_EQ(load.width.look(load.seen, 12, 16), i == 0 ? 11u : 12u) << "the first has the rest";
  }
}

TEST(Width, NotBeforeAWindowIsOver) {
  Load load(16);
  load.after(1, work_for(2));
  load.seen.now_us -= 1;
  EXPECT_EQ(load.width.look(load.seen, 16, 16), 16u);
  load.seen.now_us += 1;
  EXPECT_EQ(load.width.look(load.seen, 16, 16), 14u);
}

// Racing readers may see less than before.
TEST(Width, LessThanBefore) {
  Load load(16);
  load.after(100, work_for(12));
  load.seen.busy_us -= Width::kWindowUs * 13;
  EXPECT_GE(load.width.look(load.seen, 14, 16), 12u);
}

}  // namespace
