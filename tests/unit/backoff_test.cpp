// Waiting for a thread that does not run must not keep the processor busy: see platform/backoff.h.
#include <gtest/gtest.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "platform/spin_lock.h"

namespace wisp {
namespace {

double seconds(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

TEST(Backoff, AWaiterSleepsWhenTheHolderDoesNotComeBack) {
  SpinLock lock;
  std::atomic<bool> waits{false};
  double used = 0, waited = 0;
  lock.lock();
  std::thread waiter([&] {
    double cpu = seconds(CLOCK_THREAD_CPUTIME_ID), wall = seconds(CLOCK_MONOTONIC);
    waits = true;
    lock.lock();
    used = seconds(CLOCK_THREAD_CPUTIME_ID) - cpu;
    waited = seconds(CLOCK_MONOTONIC) - wall;
    lock.unlock();
  });
  while (!waits) usleep(1000);
  usleep(1000000);
  lock.unlock();
  waiter.join();
  EXPECT_GE(waited, 1.0);
  // A waiter that spins uses all of it, or half where others want the processor, too.
  EXPECT_LT(used, waited / 5);
}

TEST(Backoff, ManyThreadsCountRight) {
  SpinLock lock;
  long count = 0;
  std::thread threads[4];
  for (auto& t : threads)
    t = std::thread([&] {
      for (int i = 0; i < 50000; ++i) {
        lock.lock();
        ++count;
        lock.unlock();
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(count, 200000);
}

}  // namespace
}  // namespace wisp
