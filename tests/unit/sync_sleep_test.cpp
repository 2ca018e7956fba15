// Task sleeps: length, order, errors.
#include <errno.h>

#include "sync/sleep.h"
#include "unit/sync_support.h"

namespace wisp::test {

TEST(SyncSleep, SleepsLongEnough) {
  on_task([] {
    timespec t{0, 20000000};
    uint64_t start = monotonic_ns();
    EXPECT_EQ(0, task_nanosleep(&t, nullptr));
    EXPECT_GE(monotonic_ns() - start, 20000000u);
    for (clockid_t clock : {CLOCK_MONOTONIC, CLOCK_REALTIME}) {
      start = monotonic_ns();
      timespec then = from_now(clock, 20);
      EXPECT_EQ(0, task_clock_nanosleep(clock, TIMER_ABSTIME, &then, nullptr));
      EXPECT_GE(monotonic_ns() - start, 19900000u);
    }
  });
}

TEST(SyncSleep, AnswersAsLibcDoes) {
  on_task([] {
    timespec zero{0, 0}, bad{0, 1000000000}, negative{-1, 0}, past{1, 0};
    for (timespec* t : {&zero, &bad, &negative}) {
      EXPECT_EQ(clock_nanosleep(CLOCK_MONOTONIC, 0, t, nullptr), task_nanosleep(t, nullptr));
      EXPECT_EQ(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, t, nullptr),
                task_clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, t, nullptr));
    }
    EXPECT_EQ(0, task_clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &past, nullptr));
    EXPECT_EQ(EFAULT, task_nanosleep(nullptr, nullptr));
  });
}

TEST(SyncSleep, ManySleepTogether) {
  uint64_t start = monotonic_ns();
  run_crew(200, 0, [](int i) {
    timespec t{0, 200000000 + i * 50000};
    for (int n = 0; n < 3; ++n) task_nanosleep(&t, nullptr);
  });
  uint64_t took = monotonic_ns() - start;
  EXPECT_GE(took, 600000000u);
  EXPECT_LT(took, 60000000000u);  // one after the other they would take two minutes
}

}  // namespace wisp::test
