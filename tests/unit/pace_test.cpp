// How brief a carrier's slices are: scheduler/pace.h.
#include "scheduler/pace.h"

#include <gtest/gtest.h>

namespace wisp {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

TEST(Pace, UntilSomethingIsKnownATaskTakesForEver) {
  Pace pace;
  EXPECT_GT(pace.expected(1), kSecond);
  pace.look(15 * 100, 15);
  EXPECT_GT(pace.expected(1), kSecond) << "too few slices to tell";
}

TEST(Pace, TheFirstSampleIsTaken) {
  Pace pace;
  pace.look(1600, 16);
  EXPECT_EQ(pace.expected(1), 100u);
  EXPECT_EQ(pace.expected(7), 700u);
  EXPECT_EQ(pace.expected(0), 0u);
}

TEST(Pace, LaterOnesAreAveraged) {
  Pace pace;
  uint64_t run = 0, switches = 0;
  auto slices = [&](int samples, uint64_t each) {
    for (int i = 0; i < samples; ++i) pace.look(run += 20 * each, switches += 20);
  };
  slices(1, 100);
  slices(1, 500);
  EXPECT_EQ(pace.expected(1), 200u);
  slices(50, 4000);
  EXPECT_NEAR(static_cast<double>(pace.expected(1)), 4000, 40);
  slices(50, 10);
  EXPECT_NEAR(static_cast<double>(pace.expected(1)), 10, 4);
}

// What few slices took counts with the next ones.
TEST(Pace, NothingIsLeftOut) {
  Pace pace;
  pace.look(1000, 10);
  pace.look(2000, 20);
  EXPECT_EQ(pace.expected(1), 100u);
}

}  // namespace
}  // namespace wisp
