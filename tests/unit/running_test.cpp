// How busy the machine is: platform/running.h.
#include "platform/running.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
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
