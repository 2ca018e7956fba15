// The last look into the event pump before a wait there. See scheduler/last_look.h.
#include "scheduler/last_look.h"

#include <gtest/gtest.h>

namespace {

using wisp::LastLook;

// How many of so many waits begin with a look, which finds nothing.
int looks(LastLook* look, int waits) {
  int n = 0;
  for (int i = 0; i < waits; ++i) {
    if (look->pays()) {
      ++n;
      look->found(false);
    }
    look->waited(LastLook::kNoSleepUs);
  }
  return n;
}

TEST(LastLook, InVainItIsLeftOut) {
  LastLook look;
  EXPECT_EQ(looks(&look, LastLook::kInVain), LastLook::kInVain);
  EXPECT_EQ(looks(&look, LastLook::kLeftOut), 0);
  EXPECT_EQ(looks(&look, 10 * (LastLook::kLeftOut + 1)), 10) << "and tried now and then";
}

TEST(LastLook, WhatItFindsKeepsIt) {
  LastLook look;
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(looks(&look, LastLook::kInVain - 1), LastLook::kInVain - 1);
    EXPECT_TRUE(look.pays());
    look.found(true);
  }
}

TEST(LastLook, AWaitThatDoesNotSleepBringsItBack) {
  LastLook look;
  looks(&look, LastLook::kInVain);
  EXPECT_FALSE(look.pays());
  look.waited(LastLook::kNoSleepUs - 1);
  EXPECT_TRUE(look.pays());
}

}  // namespace
