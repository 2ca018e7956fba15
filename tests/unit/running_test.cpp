// How busy the machine is: platform/running.h.
#include "platform/running.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace wisp {
namespace {

TEST(RunningThreads, TheFourthField) {
  EXPECT_EQ(parse_running("0.20 0.18 0.12 1/80 11206\n"), 1);
  EXPECT_EQ(parse_running("100.20 98.18 90.12 123/8000 1120612\n"), 123);
  for (const char* other : {"", "0.20", "0.20 0.18 0.12 ", "0.20 0.18 0.12 x/80 1",
                            "0.20 0.18 0.12 17", "0.20 0.18 0.12 99999999999999999999/80 1"})
    EXPECT_EQ(parse_running(other), -1) << other;
}

TEST(MachineIdle, TheSecondField) {
  EXPECT_EQ(parse_idle("12.34 56.78\n"), 56'780'000u);
  EXPECT_EQ(parse_idle("1234567.00 19753086.01\n"), 19'753'086'010'000u);
  for (const char* other : {"", "12.34", "12.34 ", "12.34 56", "12.34 56.7", "12.34 x.78",
                            "12.34 5.6.8", "12.34 99999999999999999999.00"})
    EXPECT_EQ(parse_idle(other), 0u) << other;
}

TEST(MachineIdle, GoesOnAtMostAsFastAsAllProcessors) {
  running_threads_open();
  uint64_t before = machine_idle_us();
  ASSERT_NE(before, 0u);
  auto start = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  uint64_t after = machine_idle_us();
  std::chrono::microseconds passed = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - start);
  // It may go back a little. 10 ms for each processor are its step.
  uint64_t most = static_cast<uint64_t>(online_processors() * (passed.count() + 20'000));
  EXPECT_LE(after, before + most);
}

TEST(RunningThreads, CountsThoseThatRunAndThoseThatWaitForIt) {
  constexpr int kThreads = 7;
  running_threads_open();
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
