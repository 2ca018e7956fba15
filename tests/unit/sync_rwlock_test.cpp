// Read-write locks: exclusion, preference, errors, timeouts; once and spin locks beside them.
#include "sync/once.h"
#include "sync/rwlock.h"
#include "sync/sleep.h"
#include "unit/sync_support.h"

namespace wisp::test {

static pthread_rwlock_t make(int kind) {
  pthread_rwlockattr_t attr;
  pthread_rwlockattr_init(&attr);
  pthread_rwlockattr_setkind_np(&attr, kind);
  pthread_rwlock_t l;
  pthread_rwlock_init(&l, &attr);
  return l;
}
static uint64_t word(pthread_rwlock_t* l) { return word_at<uint64_t>(l, 0).load(); }
static void give_way() {
  RuntimeEntry entry;
  if (entry.task() != nullptr)
    yield_current(entry.task());
  else
    kernel::sched_yield();
}

static void exclude(int tasks, int threads, int kind) {
  pthread_rwlock_t l = make(kind);
  long a = 0, b = 0;
  std::atomic<long> writes{0};
  run_crew(tasks, threads, [&](int me) {
    for (int n = 0; n < 1000 * kScale; ++n) {
      timespec t = from_now(CLOCK_MONOTONIC, n % 3);
      if ((n + me) % 5 == 0) {
        int e =
            n % 2 == 0 ? rwlock_wrlock(&l, kForever) : rwlock_clockwrlock(&l, CLOCK_MONOTONIC, &t);
        if (e != 0) {
          ASSERT_EQ(ETIMEDOUT, e);
          continue;
        }
        ++a;
        if (n % 32 == 0) give_way();
        ++b;
        ++writes;
      } else {
        int e =
            n % 7 != 0 ? rwlock_rdlock(&l, kForever) : rwlock_clockrdlock(&l, CLOCK_MONOTONIC, &t);
        if (e != 0) {
          ASSERT_EQ(ETIMEDOUT, e);
          continue;
        }
        ASSERT_EQ(a, b);
        if (n % 32 == 0) give_way();
      }
      ASSERT_EQ(0, rwlock_unlock(&l));
    }
  });
  EXPECT_EQ(writes, a);
  EXPECT_EQ(0u, word(&l));
}
TEST(SyncRwlock, Excludes) {
  for (int kind : {PTHREAD_RWLOCK_PREFER_READER_NP, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP}) {
    SCOPED_TRACE(kind);
    exclude(0, 3, kind);
    exclude(8, 0, kind);
    exclude(5, 2, kind);
  }
}

static int elsewhere(const std::function<int()>& f) {
  int answer = -1;
  std::thread([&] { answer = f(); }).join();
  return answer;
}

TEST(SyncRwlock, AnswersAsLibcDoes) {
  real::ensure();
  timespec past{0, 0}, bad{0, -1};
  for (int kind : {PTHREAD_RWLOCK_PREFER_READER_NP, PTHREAD_RWLOCK_PREFER_WRITER_NP,
                   PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP}) {
    pthread_rwlock_t a = make(kind), b = make(kind);
    on_both_kinds([&] {
      EXPECT_EQ(pthread_rwlock_wrlock(&a), rwlock_wrlock(&b, kForever));
      EXPECT_EQ(pthread_rwlock_wrlock(&a), rwlock_wrlock(&b, kForever));  // EDEADLK
      EXPECT_EQ(pthread_rwlock_rdlock(&a), rwlock_rdlock(&b, kForever));  // EDEADLK
      EXPECT_EQ(pthread_rwlock_tryrdlock(&a), rwlock_tryrdlock(&b));
      EXPECT_EQ(pthread_rwlock_trywrlock(&a), rwlock_trywrlock(&b));
      EXPECT_EQ(elsewhere([&] { return pthread_rwlock_timedrdlock(&a, &past); }),
                elsewhere([&] { return rwlock_clockrdlock(&b, CLOCK_REALTIME, &past); }));
      EXPECT_EQ(elsewhere([&] { return pthread_rwlock_timedwrlock(&a, &bad); }),
                elsewhere([&] { return rwlock_clockwrlock(&b, CLOCK_REALTIME, &bad); }));
      EXPECT_EQ(pthread_rwlock_unlock(&a), rwlock_unlock(&b));
      EXPECT_EQ(pthread_rwlock_rdlock(&a), rwlock_rdlock(&b, kForever));
      EXPECT_EQ(pthread_rwlock_rdlock(&a), rwlock_rdlock(&b, kForever));
      EXPECT_EQ(pthread_rwlock_trywrlock(&a), rwlock_trywrlock(&b));
      EXPECT_EQ(pthread_rwlock_unlock(&a), rwlock_unlock(&b));
      EXPECT_EQ(elsewhere([&] { return pthread_rwlock_trywrlock(&a); }),
                elsewhere([&] { return rwlock_trywrlock(&b); }));
      EXPECT_EQ(pthread_rwlock_unlock(&a), rwlock_unlock(&b));
      EXPECT_EQ(pthread_rwlock_clockwrlock(&a, CLOCK_BOOTTIME, &past),
                rwlock_clockwrlock(&b, CLOCK_BOOTTIME, &past));
    });
  }
}

TEST(SyncRwlock, WaitingWriterStopsReadersOnlyWhenPreferred) {
  for (bool preferred : {false, true}) {
    pthread_rwlock_t l = make(preferred ? PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP
                                        : PTHREAD_RWLOCK_PREFER_READER_NP);
    ASSERT_EQ(0, rwlock_rdlock(&l, kForever));
    std::thread writer([&] {
      EXPECT_EQ(0, rwlock_wrlock(&l, kForever));
      EXPECT_EQ(0, rwlock_unlock(&l));
    });
    while (word(&l) < (uint64_t{1} << 44)) kernel::sched_yield();
    on_both_kinds([&] {
      int e = rwlock_tryrdlock(&l);
      EXPECT_EQ(preferred ? EBUSY : 0, e);
      if (e == 0) {
        EXPECT_EQ(0, rwlock_unlock(&l));
      }
    });
    ASSERT_EQ(0, rwlock_unlock(&l));
    writer.join();
    EXPECT_EQ(0u, word(&l));
  }
}

// A writer that gives up lets in the readers it held back.
TEST(SyncRwlock, TimedOutWriterFreesReaders) {
  pthread_rwlock_t l = make(PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
  ASSERT_EQ(0, rwlock_rdlock(&l, kForever));
  std::atomic<bool> seen{false};  // on a busy machine a writer may have come and gone unseen
  run_crew(2, 0, [&](int me) {
    if (me == 0) {
      do {
        EXPECT_EQ(ETIMEDOUT, rwlock_wrlock(&l, monotonic_ns() + 50000000));
      } while (!seen);
    } else {
      while (word(&l) < (uint64_t{1} << 44)) give_way();
      seen = true;
      EXPECT_EQ(0, rwlock_rdlock(&l, monotonic_ns() + 60000000000));
      EXPECT_EQ(0, rwlock_unlock(&l));
    }
  });
  ASSERT_EQ(0, rwlock_unlock(&l));
  EXPECT_EQ(0u, word(&l));
}

// By libc's own functions, which nobody interposes here.
TEST(SyncRwlock, GoesOnWhereLibcEnded) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP()
      << "ThreadSanitizer follows libc's locks, and sees half of what happens to them here";
#endif
  real::ensure();
  const char* why = nullptr;
  EXPECT_TRUE(rwlock_layout_probe(&why)) << why;
  for (int kind : {PTHREAD_RWLOCK_PREFER_READER_NP, PTHREAD_RWLOCK_PREFER_WRITER_NP,
                   PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP}) {
    pthread_rwlock_t l = make(kind);
    for (int round = 0; round < 2; ++round) {
      ASSERT_EQ(0, pthread_rwlock_wrlock(&l));
      EXPECT_EQ(EBUSY, rwlock_tryrdlock(&l));
      EXPECT_EQ(EDEADLK, rwlock_wrlock(&l, kForever));
      EXPECT_EQ(0, rwlock_unlock(&l));
      EXPECT_EQ(0, rwlock_trywrlock(&l));
      EXPECT_EQ(0, rwlock_unlock(&l));
      ASSERT_EQ(0, pthread_rwlock_rdlock(&l));
      EXPECT_EQ(0, rwlock_tryrdlock(&l));
      EXPECT_EQ(EBUSY, rwlock_trywrlock(&l));
      EXPECT_EQ(0, rwlock_unlock(&l));
      EXPECT_EQ(EBUSY, rwlock_trywrlock(&l));
      EXPECT_EQ(0, rwlock_unlock(&l));
      ASSERT_EQ(0, rwlock_tryrdlock(&l));  // and back, as in a forked child
      EXPECT_EQ(EBUSY, pthread_rwlock_trywrlock(&l));
      EXPECT_EQ(0, pthread_rwlock_unlock(&l));
    }
  }
}

static std::atomic<int> g_runs;
TEST(SyncOnce, RunsOnceAndAllWait) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer replaces pthread_once, and its control word with it";
#endif
  for (int round = 0; round < 20; ++round) {
    pthread_once_t control = PTHREAD_ONCE_INIT;
    g_runs = 0;
    run_crew(6, 2, [&](int) {
      if (!once_done(&control))
        once_slow(&control, [] {
          for (int i = 0; i < 50; ++i) give_way();
          ++g_runs;
        });
      EXPECT_EQ(1, g_runs);
    });
    EXPECT_TRUE(once_done(&control));
  }
}

// They look now and then, as its end may have been an exception. Each look is a switch.
TEST(SyncOnce, WhoWaitsForLongSeldomLooks) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer replaces pthread_once, and its control word with it";
#endif
  constexpr int kTasks = 50;
  static pthread_once_t control = PTHREAD_ONCE_INIT;
  static uint64_t switches;
  run_crew(kTasks, 0, [&](int) {
    once_slow(&control, [] {
      uint64_t before = scheduler_totals().switches;
      timespec t{0, 500'000'000};
      task_nanosleep(&t, nullptr);
      switches = scheduler_totals().switches - before;
    });
  });
  EXPECT_LT(switches, 100u * kTasks);  // each millisecond they would be 500
}

TEST(SyncSpinLock, ExcludesThoughTheHolderIsNotRunning) {
  pthread_spinlock_t l;
  pthread_spin_init(&l, PTHREAD_PROCESS_PRIVATE);
  long counter = 0;
  run_crew(4, 1, [&](int) {
    for (int n = 0; n < 300 * kScale; ++n) {
      spin_lock(&l);
      ++counter;
      if (n % 16 == 0) give_way();
      pthread_spin_unlock(&l);
    }
  });
  EXPECT_EQ(5l * 300 * kScale, counter);
}

}  // namespace wisp::test
