// Whether the machine has an idle processor: scheduler/idle_share.h and platform/running.h.
#include "scheduler/idle_share.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "platform/running.h"

namespace wisp {
namespace {

int g_running, g_asked;
int running() {
  ++g_asked;
  return g_running;
}

class IdleShareTest : public testing::Test {
 protected:
  void SetUp() override { g_asked = 0; }
  // So many wake-ups, each late enough to be asked about. What the last one says.
  bool seen(int times, int running_now) {
    g_running = running_now;
    bool mostly = false;
    for (int i = 0; i < times; ++i) mostly = share_.mostly(now_ += us_to_ticks(IdleShare::kEveryUs));
    return mostly;
  }
  uint64_t now_ = us_to_ticks(1'000'000);
  IdleShare share_{&running, [] { return 4; }};
};

TEST_F(IdleShareTest, OneMomentDoesNotDecide) {
  EXPECT_TRUE(seen(1, 4));
  EXPECT_FALSE(seen(20, 4));
  EXPECT_FALSE(seen(1, 3));
  EXPECT_TRUE(seen(20, 3));
}

TEST_F(IdleShareTest, MostOfTheTimeIsEnough) {
  bool more_busy = true, more_idle = false;
  for (int i = 0; i < 20; ++i) seen(3, 9), more_busy = seen(1, 1);
  EXPECT_FALSE(more_busy);
  for (int i = 0; i < 20; ++i) seen(3, 1), more_idle = seen(1, 9);
  EXPECT_TRUE(more_idle);
}

TEST_F(IdleShareTest, WhatIsNotKnownCountsAsIdle) {
  EXPECT_FALSE(seen(20, 4));
  EXPECT_TRUE(seen(20, -1));
}

TEST_F(IdleShareTest, AsksOnceAMillisecond) {
  uint64_t start = now_;
  for (; now_ < start + us_to_ticks(10 * IdleShare::kEveryUs); now_ += us_to_ticks(10))
    share_.mostly(now_);
  EXPECT_EQ(g_asked, 10);
}

TEST(RunningThreads, TheFourthField) {
  EXPECT_EQ(parse_running("0.20 0.18 0.12 1/80 11206\n"), 1);
  EXPECT_EQ(parse_running("100.20 98.18 90.12 123/8000 1120612\n"), 123);
  for (const char* other : {"", "0.20", "0.20 0.18 0.12 ", "0.20 0.18 0.12 x/80 1", "0.20 0.18 0.12 17",
                            "0.20 0.18 0.12 99999999999999999999/80 1"})
    EXPECT_EQ(parse_running(other), -1) << other;
}

TEST(RunningThreads, CountsThoseThatRunAndThoseThatWaitForIt) {
  constexpr int kThreads = 7;
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      while (!over) {
      }
    });
  // All run from some moment on, and the caller does.
  int most = 0;
  for (int i = 0; i < 10'000 && most <= kThreads; ++i) {
    most = std::max(most, running_threads());
    std::this_thread::yield();
  }
  EXPECT_GT(most, kThreads);
  over = true;
  for (std::thread& t : threads) t.join();
}

}  // namespace
}  // namespace wisp
