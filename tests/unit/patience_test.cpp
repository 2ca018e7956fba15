// When SysMonitor loses patience with a kernel thread: by simulated clocks.
#include "scheduler/patience.h"

#include <gtest/gtest.h>

namespace {

using wisp::Patience;

constexpr uint64_t kTick = 1000000, kStart = 5 * kTick;

// A carrier whose task keeps it since kStart, SysMonitor that looks as often as it is told to and
// at least each tick, and a kernel thread that runs in the given way. When is the carrier taken?
template <class Cpu>
uint64_t taken_after(Cpu cpu) {
  Patience p;
  p.moved(kStart, cpu(0));
  for (uint64_t after = kTick; after < 100 * kTick;) {
    uint64_t look = 0;
    if (p.ends(kStart + after, cpu(after), kTick, &look)) return after;
    EXPECT_GT(look, kStart + after);
    after = std::min(after + kTick, look - kStart);
  }
  return ~0ull;
}

TEST(Patience, WhoComputesLosesTheCarrierAfterATick) {
  EXPECT_EQ(kTick, taken_after([](uint64_t t) { return 77 + t; }));
  // The clocks are not read at the same moment.
  EXPECT_EQ(kTick, taken_after([](uint64_t t) { return 77 + t * 9 / 10; }));
}

TEST(Patience, WhoWaitsForTheProcessorKeepsItUntilATickIsUsed) {
  // Every other half millisecond, as beside one more thread on the processor.
  uint64_t t = taken_after(
      [](uint64_t t) { return 77 + t / kTick * (kTick / 2) + std::min(t % kTick, kTick / 2); });
  EXPECT_GE(t, kTick + kTick / 4);
  EXPECT_LE(t, 2 * kTick);
  // Off it for most of the time that is allowed, then on it.
  constexpr uint64_t kOff = Patience::kStandsStill * kTick - kTick / 2;
  t = taken_after([](uint64_t t) { return 77 + (t > kOff ? t - kOff : 0); });
  EXPECT_GE(t, kOff + kTick / 2);
  EXPECT_LE(t, kOff + kTick + kTick / 8);
}

TEST(Patience, WhoUsesNoProcessorIsTakenForBlocked) {
  EXPECT_EQ(Patience::kStandsStill * kTick, taken_after([](uint64_t) { return 77u; }));
  // It ran at first: that is progress, once.
  uint64_t t = taken_after([](uint64_t t) { return 77 + std::min(t, kTick / 2); });
  EXPECT_EQ((1 + Patience::kStandsStill) * kTick, t);
}

TEST(Patience, ATrickleDoesNotLastForEver) {
  EXPECT_EQ(Patience::kAtMost * kTick, taken_after([](uint64_t t) { return 77 + t / 20; }));
}

TEST(Patience, WithoutAMeasureTheWallCounts) {
  EXPECT_EQ(kTick, taken_after([](uint64_t) { return Patience::kUnknown; }));
  // Another kernel thread than at first.
  EXPECT_EQ(kTick, taken_after([](uint64_t t) { return t == 0 ? kTick : 5; }));
}

}  // namespace
