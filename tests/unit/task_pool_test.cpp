// Dead tasks are kept for the next ones, with what malloc has cached for them.
#include <gtest/gtest.h>
#include <malloc.h>

#include "unit/scheduler_fixture.h"

namespace wisp::test {
namespace {

// All are there at once, each with something in malloc's cache of its thread.
void wave(uint32_t tasks) {
  std::atomic<uint32_t> there{0}, go{0};
  Latch done(tasks);
  for (uint32_t i = 0; i < tasks; ++i)
    spawn([&] {
      for (size_t size = 16; size <= 1024; size += 16) {
        void* volatile p = malloc(size);
        free(p);
      }
      ++there;
      {
        RuntimeEntry entry;
        park(&go, kForever, [&] { return go.load() == 0; });
      }
      done.count_down();
    });
  while (there != tasks) usleep(1000);
  {
    RuntimeEntry entry;
    go = 1;
    ParkingLot::unpark(&go, ~0u);
  }
  done.wait();
}

// What malloc caches for a thread block cannot be had back once the block is freed: with room for
// 256 dead tasks, each wave of 1,000 threads of a server lost 2.5 MB.
TEST(TaskPool, WavesOfTasksDoNotGrow) {
  if (!WISP_SWITCH_FS) GTEST_SKIP() << "tasks have no malloc cache of their own here";
  constexpr uint32_t kTasks = 1000;
  for (int i = 0; i < 3; ++i) wave(kTasks);
  usleep(50'000);  // the last ones leave
  size_t before = mallinfo2().uordblks;
  for (int i = 0; i < 8; ++i) wave(kTasks);
  usleep(50'000);
  size_t after = mallinfo2().uordblks;
  // 8 waves lost 744 caches of some tens of KiB each.
  EXPECT_LT(after, before + (8 << 20)) << "from " << before;
}

}  // namespace
}  // namespace wisp::test
