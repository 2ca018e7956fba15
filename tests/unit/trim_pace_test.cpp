// The rules of trim_pace.h, without a scheduler.
#include "scheduler/trim_pace.h"

#include <gtest/gtest.h>

namespace wisp::test {
namespace {

constexpr uint64_t kMs = 1'000'000, kPeriod = 1000 * kMs;

TEST(TrimNote, TellsRunsApart) {
  TrimNote note(TrimNote::kNone);
  EXPECT_FALSE(note.is_of(0));
  EXPECT_FALSE(note.is_of(1));
  EXPECT_FALSE(note.given_before());
  note = note.at(7);
  EXPECT_TRUE(note.is_of(7));
  EXPECT_FALSE(note.is_of(6));
  EXPECT_FALSE(note.is_of(8));
  EXPECT_FALSE(note.given());
}

TEST(TrimNote, RemembersThatTheTaskHasGiven) {
  TrimNote note = TrimNote(TrimNote::kNone).at(7).gives();
  EXPECT_TRUE(note.is_of(7));
  EXPECT_TRUE(note.given());
  EXPECT_FALSE(note.given_before());
  for (uint64_t runs = 8; runs < 11; ++runs) {  // it runs, and gives no more
    note = note.at(runs);
    EXPECT_TRUE(note.is_of(runs));
    EXPECT_FALSE(note.given());
    EXPECT_TRUE(note.given_before());
  }
  EXPECT_TRUE(note.gives().given_before());
}

TEST(TrimPace, PausesAHundredTimesWhatAPassCosts) {
  TrimPace pace;
  pace.begin();
  EXPECT_EQ(pace.pause_ns(1 * kMs, kPeriod), kPeriod);
  EXPECT_EQ(pace.pause_ns(40 * kMs, kPeriod), 4 * kPeriod);
  EXPECT_EQ(pace.pause_ns(kPeriod, kPeriod / 10), 10 * kPeriod);
}

TEST(TrimPace, WhatIsGivenForTheFirstTimeDoesNotCount) {
  TrimPace pace;
  pace.begin();
  pace.trimmed(20 * kMs, 16, 16);
  pace.trimmed(20 * kMs, 4, 16);
  EXPECT_EQ(pace.pause_ns(65 * kMs, kPeriod), 4 * kPeriod);
  pace.trimmed(kPeriod, 1, 1);  // more than the pass took, by two clocks
  EXPECT_EQ(pace.pause_ns(65 * kMs, kPeriod), kPeriod);
  pace.begin();
  pace.trimmed(20 * kMs, 0, 16);
  EXPECT_EQ(pace.pause_ns(20 * kMs, kPeriod), 2 * kPeriod);
}

}  // namespace
}  // namespace wisp::test
