// As overlooked_test.cpp: tasks that are ready, and of which nobody was told who would run them
// before the task beside them gives way.
#include <gtest/gtest.h>

#include "unit/overlooked.h"

namespace wisp::test {
namespace {

// As many as there are carriers, woken in one go from outside while the carriers that have just run
// dry still search, and are trusted to: none may be content with the first one that it finds. Each
// computes until all of them do.
TEST(OverlookedTasks, WokenWhileCarriersGoIdle) {
  start_scheduler();
  const int n = carriers();
  constexpr uint64_t kLastsNs = 2'000'000'000, kLongestSearchNs = 60'000;
  std::atomic<uint32_t> round{0};
  std::atomic<uint64_t> together{0};
  std::atomic<int> gave_up{0}, left{n};
  for (int i = 0; i < n; ++i)
    spawn([&] {
      for (uint32_t done = 0;; ++done) {
        {
          RuntimeEntry entry;
          while (round == done) park(&round, kForever, [&] { return round == done; });
        }
        if (round == ~0u) break;
        ++together;
        if (!compute_until([&] { return together >= n * (done + 1ull); })) ++gave_up;
      }
      --left;
    });
  auto wake_all = [&](uint32_t next) {
    RuntimeEntry entry;
    round = next;
    ParkingLot::unpark(&round, ~0u);
  };
  uint64_t over = monotonic_ns() + kLastsNs;
  for (uint32_t i = 1; gave_up == 0 && monotonic_ns() < over; ++i) {
    wake_all(i);
    while (together < uint64_t{i} * n && gave_up == 0) cpu_pause();
    uint64_t pause = i * 7919ull % kLongestSearchNs;
    for (uint64_t now = monotonic_ns(), end = now + pause; now < end;) now = monotonic_ns();
  }
  wake_all(~0u);
  until([&] { return left == 0; });
  EXPECT_EQ(gave_up, 0) << "one of them computed, the other one waited for it";
  if (left != 0) abort();
}

}  // namespace
}  // namespace wisp::test
