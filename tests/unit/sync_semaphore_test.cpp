// Semaphores: no unit is lost or made up, answers as libc's, and one that is freed by its waiter.
#include <limits.h>

#include "sync/semaphore.h"
#include "unit/sync_support.h"

namespace wisp::test {

static sem_t make(unsigned value) {
  sem_t s;
  sem_init(&s, 0, value);
  return s;
}

TEST(SyncSemaphore, KnowsTheLayout) {
  const char* why = nullptr;
  ASSERT_TRUE(semaphore_layout_probe(&why)) << why;
  sem_t s = make(3);
  EXPECT_EQ(3u, sem_value(sem_word(&s).load()));
  EXPECT_EQ(0, semaphore_post(&s));
  int value = 0;
  EXPECT_EQ(0, sem_getvalue(&s, &value));  // libc reads the same place
  EXPECT_EQ(4, value);
}

static void conserve(int tasks, int threads) {
  sem_t s = make(3);
  std::atomic<int> inside{0}, most{0};
  run_crew(tasks, threads, [&](int) {
    for (int n = 0; n < 1000 * kScale; ++n) {
      if (n % 9 == 0) {
        timespec t = from_now(CLOCK_MONOTONIC, 1);
        if (semaphore_clockwait(&s, CLOCK_MONOTONIC, &t) != 0) continue;
      } else {
        ASSERT_EQ(0, semaphore_wait(&s, kForever));
      }
      int now = ++inside;
      for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
      }
      if (n % 16 == 0 && current_task() != nullptr) {
        RuntimeEntry entry;
        yield_current(entry.task());
      }
      --inside;
      ASSERT_EQ(0, semaphore_post(&s));
    }
  });
  EXPECT_LE(most, 3);
  EXPECT_EQ(3u, sem_word(&s).load());  // all units back, nobody counted as waiting
}
TEST(SyncSemaphore, ConservesUnitsOfTasks) { conserve(8, 0); }
TEST(SyncSemaphore, ConservesUnitsOfThreads) { conserve(0, 4); }
TEST(SyncSemaphore, ConservesUnitsOfBoth) { conserve(6, 3); }

TEST(SyncSemaphore, PingPong) {
  for (int tasks = 0; tasks <= 2; ++tasks) {
    sem_t ball[2] = {make(1), make(0)};
    run_crew(tasks, 2 - tasks, [&](int me) {
      for (int n = 0; n < 1000 * kScale; ++n) {
        ASSERT_EQ(0, semaphore_wait(&ball[me], kForever));
        ASSERT_EQ(0, semaphore_post(&ball[1 - me]));
      }
    });
  }
}

TEST(SyncSemaphore, AnswersAsLibcDoes) {
  timespec bad{0, 1000000000}, past{0, 0};
  auto error = [](int result) { return result == 0 ? 0 : errno; };
  sem_t a = make(1), b = make(1);
  on_both_kinds([&] {
    EXPECT_EQ(error(sem_timedwait(&a, &bad)), semaphore_clockwait(&b, CLOCK_REALTIME, &bad));
    EXPECT_EQ(error(sem_timedwait(&a, &past)), semaphore_clockwait(&b, CLOCK_REALTIME, &past));
    EXPECT_EQ(error(sem_timedwait(&a, &past)), semaphore_clockwait(&b, CLOCK_REALTIME, &past));
    EXPECT_EQ(error(sem_trywait(&a)), semaphore_trywait(&b));
    EXPECT_EQ(error(sem_clockwait(&a, CLOCK_PROCESS_CPUTIME_ID, &past)),
              semaphore_clockwait(&b, CLOCK_PROCESS_CPUTIME_ID, &past));
    EXPECT_EQ(error(sem_post(&a)), semaphore_post(&b));
  });
  sem_t full = make(SEM_VALUE_MAX);
  EXPECT_EQ(EOVERFLOW, semaphore_post(&full));
}

TEST(SyncSemaphore, TimesOut) {
  on_both_kinds([] {
    sem_t s = make(0);
    for (clockid_t clock : {CLOCK_MONOTONIC, CLOCK_REALTIME}) {
      uint64_t start = monotonic_ns();
      timespec t = from_now(clock, 30);
      EXPECT_EQ(ETIMEDOUT, semaphore_clockwait(&s, clock, &t));
      EXPECT_GE(monotonic_ns() - start, 29000000u);
    }
    EXPECT_EQ(0u, sem_word(&s).load());
  });
}

TEST(SyncSemaphore, MayBeFreedByTheWaiter) {
  for (int tasks = 0; tasks <= 2; ++tasks) {
    std::atomic<sem_t*> handed{nullptr};
    run_crew(tasks, 2 - tasks, [&](int me) {
      for (int n = 0; n < 300 * kScale; ++n) {
        if (me == 0) {
          sem_t* s = new sem_t(make(0));
          handed = s;
          ASSERT_EQ(0, semaphore_wait(s, kForever));
          delete s;
        } else {
          sem_t* s;
          while ((s = handed.exchange(nullptr)) == nullptr) {
            RuntimeEntry entry;
            if (entry.task() != nullptr)
              yield_current(entry.task());
            else
              kernel::sched_yield();
          }
          ASSERT_EQ(0, semaphore_post(s));
        }
      }
    });
  }
}

}  // namespace wisp::test
