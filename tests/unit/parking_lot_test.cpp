// The parking lot's corner cases: order, cancel, requeue, interrupt.
#include "sync/parking_lot.h"

#include <gtest/gtest.h>

#include "unit/scheduler_fixture.h"

namespace wisp::test {

static void sleep_ms(int ms) { usleep(static_cast<useconds_t>(ms) * 1000); }

TEST(ParkingLot, MismatchDoesNotWait) {
  RuntimeEntry entry;
  uint32_t key = 0;
  EXPECT_EQ(WakeReason::Mismatch, park(&key, kForever, [] { return false; }));
}

TEST(ParkingLot, KernelThreadTimesOut) {
  RuntimeEntry entry;
  uint32_t key = 0;
  EXPECT_EQ(WakeReason::TimedOut, park(&key, monotonic_ns() + 1000000, [] { return true; }));
}

TEST(ParkingLot, OldestFirst) {
  std::atomic<uint32_t> key{0};
  std::atomic<int> order{0};
  int place[3] = {};
  Latch done(3);
  for (int i = 0; i < 3; ++i) {
    std::atomic<bool> queued{false};
    spawn([&, i] {
      {
        RuntimeEntry entry;
        park(&key, kForever, [&] { return queued = true; });
      }
      place[i] = ++order;
      done.count_down();
    });
    while (!queued) sleep_ms(1);
  }
  for (int i = 1; i <= 3; ++i) {
    RuntimeEntry entry;
    EXPECT_EQ(1u, ParkingLot::unpark(&key, 1));
    while (order.load() < i) kernel::sched_yield();
  }
  done.wait();
  EXPECT_EQ(1, place[0]);
  EXPECT_EQ(2, place[1]);
  EXPECT_EQ(3, place[2]);
}

TEST(ParkingLot, RequeueMovesTheRest) {
  std::atomic<uint32_t> from{0}, to{0};
  std::atomic<int> woken{0};
  std::atomic<int> queued{0};  // counted under the bucket's lock
  Latch done(4);
  for (int i = 0; i < 4; ++i)
    spawn([&] {
      {
        RuntimeEntry entry;
        park(&from, kForever, [&] { return ++queued != 0; });
      }
      woken++;
      done.count_down();
    });
  while (queued != 4) sleep_ms(1);
  uint32_t moved = 0;
  {
    RuntimeEntry entry;
    EXPECT_EQ(1u, ParkingLot::requeue(&from, &to, 1, 100, &moved));
    EXPECT_EQ(3u, moved);
    EXPECT_EQ(0u, ParkingLot::unpark(&from, 100));
  }
  while (woken == 0) sleep_ms(1);
  sleep_ms(5);
  EXPECT_EQ(1, woken);
  {
    RuntimeEntry entry;
    EXPECT_EQ(3u, ParkingLot::unpark(&to, 100));
  }
  done.wait();
}

TEST(ParkingLot, InterruptEndsAWait) {
  uint32_t key = 0;
  std::atomic<WakeReason> reason{WakeReason::Unparked};
  Latch done(1);
  std::atomic<bool> queued{false};
  WispTask* t = spawn([&] {
    {
      RuntimeEntry entry;
      reason = park(&key, kForever, [&] { return queued = true; });
    }
    done.count_down();
  });
  while (!queued) sleep_ms(1);
  {
    RuntimeEntry entry;
    ParkingLot::interrupt(t);
  }
  done.wait();
  EXPECT_EQ(WakeReason::Interrupted, reason.load());
}

}  // namespace wisp::test
