// Dead tasks are kept for the next ones, with what malloc has cached for them.
#include "scheduler/task_pool.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <vector>

#include "platform/clock.h"
#include "scheduler/task_tid.h"
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

uint32_t tid_of_a_task() {
  Latch done(1);
  uint32_t tid = 0;
  spawn([&] {
    tid = current_task()->tid;
    done.count_down();
  });
  done.wait();
  return tid;
}

// After twelve million threads. Those that live keep theirs: `main` has the first.
TEST(TaskPool, TidsBeginAnewButForTheLiving) {
  static_assert(static_cast<int>(thread_cpu_clock(kLastTaskTid)) < 0);
  uint32_t reached = tid_of_a_task();
  std::atomic<uint32_t> go{0};
  Latch there(1), done(1);
  uint32_t living = kFirstTaskTid + 3;
  next_task_tid(living);
  spawn([&] {
    EXPECT_EQ(current_task()->tid, living);
    there.count_down();
    RuntimeEntry entry;
    park(&go, kForever, [&] { return go.load() == 0; });
    done.count_down();
  });
  there.wait();
  WispTask* task = task_of_tid(static_cast<int>(living));
  ASSERT_NE(task, nullptr);
  next_task_tid(kLastTaskTid);
  EXPECT_EQ(tid_of_a_task(), kLastTaskTid);
  for (uint32_t i = 0; i < 5; ++i) {
    uint32_t tid = tid_of_a_task();
    EXPECT_GE(tid, kFirstTaskTid);
    EXPECT_LT(tid, kFirstTaskTid + 100);
    EXPECT_NE(tid, living);
  }
  EXPECT_EQ(task_of_tid(static_cast<int>(living)), task);
  // Its place in the table of the living is not another's.
  next_task_tid(living + (1u << 16));
  EXPECT_EQ(tid_of_a_task(), living + (1u << 16) + 1);
  EXPECT_EQ(task_of_tid(static_cast<int>(living)), task);
  {
    RuntimeEntry entry;
    go = 1;
    ParkingLot::unpark(&go, ~0u);
  }
  done.wait();
  next_task_tid(reached + (1u << 17));
}

// More than there are places in the table of the living.
TEST(TaskPool, TidsOfManyAreTheirOwn) {
  uint32_t reached = tid_of_a_task();
  constexpr uint32_t kMany = (1u << 16) + 200, kBegin = kFirstTaskTid + (1u << 23);
  // Never freed, as real ones: the table has them.
  static WispTask* many = new WispTask[kMany];
  next_task_tid(kBegin);
  std::vector<uint32_t> tids;
  for (uint32_t i = 0; i < kMany; ++i) {
    if (i == kMany - 100) next_task_tid(kBegin);  // the numbers have begun anew
    give_tid(&many[i]);
    many[i].state = TaskState::Parked;
    tids.push_back(many[i].tid);
    EXPECT_GE(many[i].tid, kBegin);
  }
  std::sort(tids.begin(), tids.end());
  EXPECT_EQ(std::adjacent_find(tids.begin(), tids.end()), tids.end());
  // The search for a place is short.
  EXPECT_LT(tids.back(), kBegin + (1u << 16) + 200 * 1024);
  for (uint32_t i = 0; i < kMany; ++i) {
    many[i].state = TaskState::Dead;
    end_tid(&many[i]);
  }
  next_task_tid(reached + (1u << 17));
}

// libc knows the holder of a mutex that two processes have in common by his tid.
TEST(TaskPool, ProcessesBeginAtPlacesOfTheirOwn) {
  uint32_t reached = tid_of_a_task(), mine = g_first_tid;
  EXPECT_EQ(task_number(mine), 1u);
  EXPECT_EQ(task_number(mine + 1), 2u);
  int same = 0;
  for (int i = 0; i < 20; ++i) {
    uint32_t before = g_first_tid;
    choose_first_tid();
    EXPECT_GE(g_first_tid, kFirstTaskTid);
    EXPECT_LE(g_first_tid, kLastTaskTid);
    same += before == g_first_tid ? 1 : 0;
    // The first of all comes behind the last of all, but where it is the first itself.
    EXPECT_EQ(task_number(kFirstTaskTid),
              g_first_tid == kFirstTaskTid ? 1 : task_number(kLastTaskTid) + 1);
  }
  EXPECT_LT(same, 3);
  g_first_tid = mine;
  next_task_tid(reached + (1u << 17));
}

}  // namespace
}  // namespace wisp::test
