// Conditions: hand-overs between all kinds of threads, timeouts on both clocks, errors, lifetime.
#include <deque>

#include "sync/condition.h"
#include "unit/sync_support.h"

namespace wisp::test {

struct Box {
  pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t c = PTHREAD_COND_INITIALIZER;
};

static pthread_cond_t make(clockid_t clock, int shared = PTHREAD_PROCESS_PRIVATE) {
  const char* why = nullptr;  // glibc 2.43 keeps the clock in another word than 2.36
  EXPECT_TRUE(condition_layout_probe(&why)) << why;
  pthread_condattr_t attr;
  pthread_condattr_init(&attr);
  pthread_condattr_setclock(&attr, clock);
  pthread_condattr_setpshared(&attr, shared);
  pthread_cond_t c;
  pthread_cond_init(&c, &attr);
  return c;
}

TEST(SyncCondition, KnowsTheLayout) {
  pthread_cond_t c = make(CLOCK_MONOTONIC);
  EXPECT_TRUE(condition_is_ours(&c));
  EXPECT_EQ(kConditionMonotonic, condition_flags(&c));
  c = make(CLOCK_REALTIME, PTHREAD_PROCESS_SHARED);
  EXPECT_FALSE(condition_is_ours(&c));
  c = PTHREAD_COND_INITIALIZER;
  EXPECT_EQ(0u, condition_flags(&c));
}

// The signal is given with the mutex held, or just after, in turn.
static void ping_pong(int tasks, int threads) {
  Box box;
  int turn = 0;
  const int rounds = 2000 * kScale;
  run_crew(tasks, threads, [&](int me) {
    for (int n = 0; n < rounds; ++n) {
      mutex_lock(&box.m);
      while (turn != me) ASSERT_EQ(0, condition_wait(&box.c, &box.m, kForever));
      turn = 1 - me;
      if (n % 2 == 0) condition_signal(&box.c);
      mutex_unlock(&box.m);
      if (n % 2 != 0) condition_signal(&box.c);
    }
  });
}
TEST(SyncCondition, PingPongOfTasks) { ping_pong(2, 0); }
TEST(SyncCondition, PingPongOfThreads) { ping_pong(0, 2); }
TEST(SyncCondition, PingPongOfTaskAndThread) { ping_pong(1, 1); }

// As HotSpot's Parker: the waiter tries the lock, the waker signals after unlock, waits are timed.
TEST(SyncCondition, ParkerProtocol) {
  pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t c = make(CLOCK_MONOTONIC);
  int permit = 0;
  const int rounds = 2000 * kScale;
  std::atomic<int> taken{0};
  run_crew(1, 1, [&](int me) {
    for (int n = 0; n < rounds; ++n) {
      if (me == 0) {
        if (mutex_trylock(&m) != 0) mutex_lock(&m);
        while (permit == 0) {
          timespec t = from_now(CLOCK_MONOTONIC, 60000);
          ASSERT_EQ(0, condition_timedwait(&c, &m, &t)) << "a lost wake-up";
        }
        permit = 0;
        ++taken;
        mutex_unlock(&m);
      } else {
        mutex_lock(&m);
        permit = 1;
        mutex_unlock(&m);
        condition_signal(&c);
        while (taken.load() <= n) kernel::sched_yield();
      }
    }
  });
  EXPECT_EQ(rounds, taken);
}

TEST(SyncCondition, BoundedQueueLosesNothing) {
  pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t full = PTHREAD_COND_INITIALIZER, empty = PTHREAD_COND_INITIALIZER;
  std::deque<int> queue;
  long sum = 0;
  const int each = 1000 * kScale;
  run_crew(6, 2, [&](int me) {
    for (int n = 1; n <= each; ++n) {
      mutex_lock(&m);
      if (me % 2 == 0) {
        while (queue.size() >= 4) condition_wait(&full, &m, kForever);
        queue.push_back(n);
        condition_signal(&empty);
      } else {
        while (queue.empty()) {
          timespec t = from_now(CLOCK_REALTIME, 2);
          if (n % 5 == 0)
            condition_clockwait(&empty, &m, CLOCK_REALTIME, &t);
          else
            condition_wait(&empty, &m, kForever);
        }
        sum += queue.front();
        queue.pop_front();
        condition_signal(&full);
      }
      mutex_unlock(&m);
    }
  });
  EXPECT_EQ(4l * each * (each + 1) / 2, sum);
}

TEST(SyncCondition, BroadcastWakesAll) {
  Box box;
  int waiting = 0, generation = 0;
  run_crew(6, 2, [&](int) {
    for (int round = 0; round < 50 * kScale; ++round) {
      mutex_lock(&box.m);
      if (++waiting == 8) {
        waiting = 0;
        ++generation;
        condition_broadcast(&box.c);
      } else {
        for (int mine = generation; mine == generation;) condition_wait(&box.c, &box.m, kForever);
      }
      mutex_unlock(&box.m);
    }
  });
  EXPECT_EQ(50 * kScale, generation);
}

TEST(SyncCondition, TimesOutOnItsOwnClockAndHoldsTheMutex) {
  on_both_kinds([] {
    for (clockid_t clock : {CLOCK_MONOTONIC, CLOCK_REALTIME}) {
      pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
      pthread_cond_t c = make(clock);
      mutex_lock(&m);
      uint64_t start = monotonic_ns();
      timespec t = from_now(clock, 30), past{1, 0}, before_1970{-1, 0}, bad{5, -1};
      EXPECT_EQ(ETIMEDOUT, condition_timedwait(&c, &m, &t));
      EXPECT_GE(monotonic_ns() - start, 29000000u);
      EXPECT_EQ(EBUSY, mutex_trylock(&m));
      EXPECT_EQ(ETIMEDOUT, condition_timedwait(&c, &m, &past));
      EXPECT_EQ(ETIMEDOUT, condition_timedwait(&c, &m, &before_1970));
      EXPECT_EQ(EINVAL, condition_timedwait(&c, &m, &bad));
      EXPECT_EQ(EINVAL, condition_clockwait(&c, &m, CLOCK_THREAD_CPUTIME_ID, &t));
      EXPECT_EQ(EBUSY, mutex_trylock(&m));
      // Nobody waits: the next signal finds out.
      EXPECT_EQ(kConditionHint, condition_hint(&c).load());
      condition_signal(&c);
      EXPECT_EQ(0u, condition_hint(&c).load());
      mutex_unlock(&m);
    }
  });
}

TEST(SyncCondition, MutexesThatKnowTheirOwner) {
  on_both_kinds([] {
    for (int type : {PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_RECURSIVE}) {
      pthread_mutexattr_t attr;
      pthread_mutexattr_init(&attr);
      pthread_mutexattr_settype(&attr, type);
      pthread_mutex_t m;
      pthread_mutex_init(&m, &attr);
      pthread_cond_t c = PTHREAD_COND_INITIALIZER;
      EXPECT_EQ(EPERM, condition_wait(&c, &m, kForever));
      mutex_lock(&m);
      timespec t = from_now(CLOCK_REALTIME, 5);
      EXPECT_EQ(ETIMEDOUT, condition_timedwait(&c, &m, &t));
      EXPECT_EQ(0, mutex_unlock(&m));
      EXPECT_EQ(EPERM, mutex_unlock(&m));
    }
  });
}

TEST(SyncCondition, RobustMutexGoesThroughLibc) {
  pthread_mutexattr_t attr;
  pthread_mutexattr_init(&attr);
  pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_t m;
  pthread_mutex_init(&m, &attr);
  pthread_cond_t c = PTHREAD_COND_INITIALIZER;
  int turn = 0;
  run_crew(0, 2, [&](int me) {
    for (int n = 0; n < 200; ++n) {
      mutex_lock(&m);
      while (turn != me) ASSERT_EQ(0, condition_wait(&c, &m, kForever));
      turn = 1 - me;
      condition_signal(&c);
      mutex_unlock(&m);
    }
  });
}

// The woken may free the condition while the broadcaster is still on its way out.
TEST(SyncCondition, MayBeFreedAfterBroadcast) {
  for (int round = 0; round < 100 * kScale; ++round) {
    Box* box = new Box;
    int state = 0, left = 3;
    run_crew(2, round % 8 == 0 ? 1 : 0, [&](int me) {
      int all = round % 8 == 0 ? 3 : 2;
      mutex_lock(&box->m);
      if (me == 0) {
        while (state != all - 1) condition_wait(&box->c, &box->m, monotonic_ns() + 100000);
        state = 100;
        condition_broadcast(&box->c);
      } else {
        ++state;
        while (state < 100) condition_wait(&box->c, &box->m, kForever);
      }
      bool last = --left == 3 - all;
      mutex_unlock(&box->m);
      if (last) delete box;
    });
  }
}

}  // namespace wisp::test
