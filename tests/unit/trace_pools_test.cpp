// The phases of a pool's operations, as read from the slices of a trace: when it is handed the
// work, when all its workers run, when the result is there.
#include <gtest/gtest.h>

#include <string>

#include "trace_file.h"
#include "trace_phases.h"

namespace wisp {
namespace {

// Workers 1 and 2 ("w-1", "w-2"), submitter 9; microseconds.
TEST(TracePools, APoolsOperationsFallIntoPhases) {
  TraceFile file;
  file.carriers = 2;
  file.names = {{1, "w-1"}, {2, "w-2"}, {9, "main"}};
  auto slice = [&](uint32_t carrier, uint32_t task, double from, double to, double ready,
                   uint32_t waker) {
    file.slices.push_back({carrier, task, from, to, from - ready, waker, "task"});
  };
  for (double t = 0; t < 4000; t += 1000) {
    slice(0, 9, t, t + 100, t - 5, 2);          // submits at 100 (and has its last result)
    slice(0, 1, t + 110, t + 400, t + 100, 9);  // first hand-off 10
    slice(1, 2, t + 130, t + 300, t + 115, 1);  // ramp-up 20; 2 is done first: 170 at full strength
    slice(1, 2, t + 430, t + 440, t + 399, 1);  // and takes the last part
  }
  // 2 wakes the submitter: of the operation at t = 0 at 995, and so on.
  for (double t : {0.0, 1000.0, 2000.0}) slice(1, 2, t + 990, t + 996, t + 980, 1);
  std::vector<PoolPhases> pools = pool_phases(file);
  ASSERT_EQ(pools.size(), 1u);
  EXPECT_EQ(pools[0].pool, "w-");
  EXPECT_EQ(pools[0].operations, 3u);  // the last one's result is not there
  EXPECT_DOUBLE_EQ(pools[0].workers, 2);
  // 1 is done for good at 400, 2 at 995 (when the result is there), which is 5 before it is
  // fetched.
  const double expected[kPhases] = {10, 20, 270, 595, 5};
  for (size_t i = 0; i < kPhases; i++) EXPECT_DOUBLE_EQ(pools[0].us[i], expected[i]) << i;
  EXPECT_NE(trace_report(file).find("<td>w-</td><td class=\"n\">3</td>"), std::string::npos);

  // Woken by each other only, or alone of their kind: no operations.
  for (FileSlice& s : file.slices) s.waker = s.waker == 9 ? 2 : s.waker;
  EXPECT_TRUE(pool_phases(file).empty());
  file.names.erase(2);
  EXPECT_TRUE(pool_phases(file).empty());
}

// One task gives work to two pools. An operation lasts until the pool's own result is there, though
// the other pool's comes first, or somebody else wakes the task.
TEST(TracePools, ASubmitterMayWaitForMorePools) {
  TraceFile file;
  file.carriers = 3;
  file.names = {{1, "a-1"}, {2, "a-2"}, {3, "b-1"}, {4, "b-2"}, {9, "main"}};
  auto slice = [&](uint32_t carrier, uint32_t task, double from, double to, double ready,
                   uint32_t waker) {
    file.slices.push_back({carrier, task, from, to, from - ready, waker, "task"});
  };
  slice(0, 9, 0, 100, 0, 1);
  slice(1, 1, 110, 200, 100, 9);
  slice(2, 3, 120, 400, 101, 9);
  slice(1, 9, 210, 220, 200, 1);  // a's result: 200 to 210; for b it gives up
  slice(1, 1, 230, 240, 220, 9);  // a again
  slice(0, 9, 250, 260, 245, 8);  // neither of them
  slice(0, 9, 270, 280, 240, 1);  // a's second result
  slice(0, 9, 420, 430, 400, 3);  // b's
  slice(0, 9, 440, 450, 435, 3);  // no operation of b is open any more
  std::vector<PoolPhases> pools = pool_phases(file);
  ASSERT_EQ(pools.size(), 2u);
  EXPECT_EQ(pools[0].pool, "a-");
  EXPECT_EQ(pools[0].operations, 2u);
  EXPECT_EQ(pools[1].pool, "b-");
  EXPECT_EQ(pools[1].operations, 1u);
  const double expected[kPhases] = {19, 0, 280, 0, 20};
  for (size_t i = 0; i < kPhases; i++) EXPECT_DOUBLE_EQ(pools[1].us[i], expected[i]) << i;
}

// Slices times pools would be forty thousand million steps.
TEST(TracePools, ManyPoolsCostNoMoreThanOne) {
  constexpr uint32_t kPools = 100000;
  TraceFile file;
  file.carriers = 1;
  for (uint32_t i = 0; i < kPools; i++) {
    std::string pool = "p" + std::to_string(i) + "-";
    file.names[2 * i] = pool + "1";
    file.names[2 * i + 1] = pool + "2";
  }
  // One submitter waits for all of them, with stamps alike.
  for (uint32_t i = 0; i < kPools; i++)
    file.slices.push_back({0, 2 * i, 6, 8, 1, 2 * kPools, "task"});
  for (uint32_t i = 0; i < 3 * kPools; i++)
    file.slices.push_back({0, 2 * kPools, 10.0 + i / kPools * 20, 25, 1, 2 * (i % kPools), "task"});
  std::vector<PoolPhases> pools = pool_phases(file);
  ASSERT_EQ(pools.size(), 8u);
  for (const PoolPhases& pool : pools) EXPECT_EQ(pool.operations, 1u);
}

}  // namespace
}  // namespace wisp
