// What waits for a device or a lock does so without a carrier: other tasks go on at once.
#include <sys/file.h>

#include "io/ring.h"
#include "platform/clock.h"
#include "sync/sleep.h"
#include "unit/disk_fixture.h"

namespace wisp::test {

// Tasks on every carrier wait for a file lock; one more task, queued behind them, must run before
// SysMonitor would have looked a second time.
TEST(DiskWait, LocksDoNotHoldCarriers) {
  TestFile file(100);
  int holder = open(file.path(), O_RDWR);
  ASSERT_EQ(flock(holder, LOCK_EX), 0);
  int n = carriers() * 4;
  std::atomic<int> asked{0}, got{0}, ran{0};
  Latch done(static_cast<uint32_t>(n));
  for (int i = 0; i < n; ++i)
    spawn([&] {
      int fd = open(file.path(), O_RDWR);
      ++asked;
      EXPECT_EQ(io::disk_wait([=] { return flock(fd, LOCK_EX); }), 0);
      ++got;
      flock(fd, LOCK_UN);
      close(fd);
      yield();
      done.count_down();
    });
  while (asked != n) usleep(100);
  for (int i = 0; i < 100; ++i) on_task([&] { ++ran; });
  EXPECT_EQ(ran, 100);
  EXPECT_EQ(got, 0);
  flock(holder, LOCK_UN);
  done.wait();
  EXPECT_EQ(got, n);
  close(holder);
}

TEST(DiskWait, ManyTasksSyncAtOnce) {
  constexpr int kTasks = 16;
  Latch done(kTasks);
  std::atomic<int> failed{0};
  for (int i = 0; i < kTasks; ++i)
    spawn([&] {
      TestFile file(4096);
      char block[4096] = {};
      for (int k = 0; k < 4; ++k) {
        if (io::disk_write(file.fd(), block, sizeof block, k * 4096) != 4096) ++failed;
        if (io::disk_wait([&] { return fdatasync(file.fd()); }) != 0) ++failed;
      }
      done.count_down();
    });
  done.wait();
  EXPECT_EQ(failed, 0);
}

TEST(DiskWait, SynchronousWritesAndDirectReads) {
  TestFile file(65536);
  int synced = open(file.path(), O_RDWR | O_DSYNC);
  io::disk_opened(synced, O_RDWR | O_DSYNC);
  int direct = open(file.path(), O_RDONLY | O_DIRECT);
  if (direct >= 0) io::disk_opened(direct, O_RDONLY | O_DIRECT);
  auto announced = [] { return scheduler_totals().handoffs + io::ring_counts().requests; };
  uint64_t before = announced();
  on_task([&] {
    uint64_t words[512];
    for (uint64_t i = 0; i < 512; ++i) words[i] = 512 + i;
    iovec part{words, 4096};
    EXPECT_EQ(io::disk_write(synced, words, 4096, 4096), 4096);
    EXPECT_EQ(io::disk_write(synced, &part, 1, 4096), 4096);
    if (direct < 0) return;
    alignas(4096) static char buffer[8192];
    EXPECT_EQ(io::disk_read(direct, buffer, 8192, 4096), 8192);
    EXPECT_TRUE(holds(buffer, 8192, 4096));
  });
  EXPECT_GE(announced() - before, direct < 0 ? 2u : 3u);
  close(synced);
  close(direct);
}

// The carrier that a task leaves for the kernel keeps its timers: they are due in time although the
// only worker that watches the clock sleeps for a later one.
TEST(DiskWait, TimersOfCarriersGivenAway) {
  TestFile file(100);
  int holder = open(file.path(), O_RDWR);
  ASSERT_EQ(flock(holder, LOCK_EX), 0);
  int n = carriers();
  Latch done(static_cast<uint32_t>(2 * n + 1));
  std::atomic<uint32_t> over{0};
  const uint64_t late = monotonic_ns() + 60'000'000'000;
  spawn([&] {
    while (over == 0 && monotonic_ns() < late) {
      RuntimeEntry entry;
      park(&over, late, [&] { return over == 0; });
    }
    done.count_down();
  });
  usleep(50000);  // everybody is asleep, one until then
  std::atomic<int> slept{0};
  for (int i = 0; i < n; ++i) {
    spawn([&] {
      task_sleep_until(monotonic_ns() + 100000000);
      ++slept;
      done.count_down();
    });
    spawn([&] {
      int fd = open(file.path(), O_RDWR);
      uint64_t until = monotonic_ns() + 20000000;
      while (monotonic_ns() < until) yield();
      io::disk_wait([=] { return flock(fd, LOCK_EX); });
      close(fd);
      done.count_down();
    });
  }
  while (slept != n && monotonic_ns() < late - 20'000'000'000) usleep(10000);
  EXPECT_EQ(slept, n);
  over = 1;
  {
    RuntimeEntry entry;
    ParkingLot::unpark(&over, 1);
  }
  flock(holder, LOCK_UN);
  done.wait();
  close(holder);
}

}  // namespace wisp::test
