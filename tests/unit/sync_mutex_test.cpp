// Mutexes: exclusion under load, POSIX's answers (libc's own are the reference: the program is not
// preloaded, so pthread_mutex_* here are libc's), and mutexes that libc locked.
#include "sync/mutex.h"
#include "unit/sync_support.h"

namespace wisp::test {

struct Kind {
  const char* name;
  int type;
};
constexpr Kind kKinds[] = {{"normal", PTHREAD_MUTEX_NORMAL},
                           {"default", PTHREAD_MUTEX_DEFAULT},
                           {"recursive", PTHREAD_MUTEX_RECURSIVE},
                           {"errorcheck", PTHREAD_MUTEX_ERRORCHECK},
                           {"adaptive", PTHREAD_MUTEX_ADAPTIVE_NP},
                           {"inherits", kMutexInherits | PTHREAD_MUTEX_NORMAL},
                           {"inherits, recursive", kMutexInherits | PTHREAD_MUTEX_RECURSIVE},
                           {"inherits, errorcheck", kMutexInherits | PTHREAD_MUTEX_ERRORCHECK}};

static pthread_mutex_t make(int type) {
  pthread_mutexattr_t attr;
  pthread_mutexattr_init(&attr);
  pthread_mutexattr_settype(&attr, type & kMutexTypeMask);
  if ((type & kMutexInherits) != 0) pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
  pthread_mutex_t m;
  pthread_mutex_init(&m, &attr);
  pthread_mutexattr_destroy(&attr);
  return m;
}

static void exclude(int tasks, int threads, int type) {
  pthread_mutex_t m = make(type);
  long counter = 0;
  const int rounds = 3000 * kScale;
  run_crew(tasks, threads, [&](int i) {
    for (int n = 0; n < rounds; ++n) {
      if (n % 7 == 0 && i % 2 == 0) {
        int e = mutex_trylock(&m);
        if (e == EBUSY) e = mutex_lock(&m);
        ASSERT_EQ(0, e);
      } else if (n % 11 == 0) {
        timespec t = from_now(CLOCK_MONOTONIC, 60000);
        ASSERT_EQ(0, mutex_timedlock(&m, CLOCK_MONOTONIC, &t));
      } else {
        ASSERT_EQ(0, mutex_lock(&m));
      }
      ++counter;
      if (n % 64 == 0 && current_task() != nullptr) {  // holders that are not running
        RuntimeEntry entry;
        yield_current(entry.task());
      }
      ASSERT_EQ(0, mutex_unlock(&m));
    }
  });
  EXPECT_EQ(static_cast<long>(tasks + threads) * rounds, counter);
  EXPECT_EQ(0u, mutex_word(&m).load());
  EXPECT_EQ(0, mutex_destroy(&m));
}

TEST(SyncMutex, ExcludesKernelThreads) { exclude(0, 3, PTHREAD_MUTEX_NORMAL); }
TEST(SyncMutex, ExcludesTasks) { exclude(8, 0, PTHREAD_MUTEX_NORMAL); }
TEST(SyncMutex, ExcludesBoth) {
  for (const Kind& k : kKinds) {
    SCOPED_TRACE(k.name);
    exclude(5, 2, k.type);
  }
}

// What another thread (of the same kind as the caller) is told.
static int as_other(const std::function<int()>& f) {
  int answer = -1;
  if (current_task() == nullptr) {
    std::thread([&] { answer = f(); }).join();
  } else {
    Latch done(1);
    spawn([&] {
      answer = f();
      done.count_down();
    });
    done.wait();
  }
  return answer;
}

struct Api {
  int (*lock)(pthread_mutex_t*);
  int (*trylock)(pthread_mutex_t*);
  int (*unlock)(pthread_mutex_t*);
  int (*timedlock)(pthread_mutex_t*, clockid_t, const timespec*);
  int (*destroy)(pthread_mutex_t*);
};
static int libc_timedlock(pthread_mutex_t* m, clockid_t clock, const timespec* t) {
  return pthread_mutex_clocklock(m, clock, t);
}
static const Api kLibc{pthread_mutex_lock, pthread_mutex_trylock, pthread_mutex_unlock,
                       libc_timedlock, pthread_mutex_destroy};
static const Api kOurs{[](pthread_mutex_t* m) { return mutex_lock(m); },
                       [](pthread_mutex_t* m) { return mutex_trylock(m); },
                       [](pthread_mutex_t* m) { return mutex_unlock(m); }, mutex_timedlock,
                       mutex_destroy};

// Every answer of a walk through the corners that do not deadlock.
static std::vector<int> walk(const Api& api, int type) {
  std::vector<int> answers;
  auto note = [&](int a) { answers.push_back(a); };
  pthread_mutex_t m = make(type);
  type &= kMutexTypeMask;
  bool owner_known = type == PTHREAD_MUTEX_RECURSIVE || type == PTHREAD_MUTEX_ERRORCHECK;
  timespec soon = from_now(CLOCK_MONOTONIC, 20), bad{0, 1000000000}, past{-5, 0},
           future{1ll << 60, 0};
  if (owner_known) note(api.unlock(&m));           // EPERM
  note(api.timedlock(&m, CLOCK_MONOTONIC, &bad));  // free: had at once
  note(api.trylock(&m));
  if (owner_known) note(api.lock(&m));
  if (owner_known) note(api.timedlock(&m, CLOCK_REALTIME, &bad));
  note(as_other([&] { return api.trylock(&m); }));
  note(as_other([&] { return api.timedlock(&m, CLOCK_MONOTONIC, &soon); }));
  note(as_other([&] { return api.timedlock(&m, CLOCK_REALTIME, &past); }));
  note(as_other([&] { return api.timedlock(&m, CLOCK_MONOTONIC, &bad); }));
  note(as_other([&] { return api.timedlock(&m, CLOCK_PROCESS_CPUTIME_ID, &soon); }));
  if (owner_known) note(as_other([&] { return api.unlock(&m); }));
  note(api.destroy(&m));  // EBUSY
  if (type == PTHREAD_MUTEX_RECURSIVE) {
    note(api.unlock(&m));
    note(api.unlock(&m));
    note(api.unlock(&m));
    note(as_other([&] { return api.trylock(&m); }));
  }
  note(api.unlock(&m));
  if (type != PTHREAD_MUTEX_RECURSIVE) {
    note(api.timedlock(&m, CLOCK_MONOTONIC, &future));
    note(api.unlock(&m));
    note(api.destroy(&m));
  }
  return answers;
}

TEST(SyncMutex, AnswersAsLibcDoes) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer reports the misuse of libc's mutexes that is compared here";
#endif
  real::ensure();
  for (const Kind& k : kKinds) {
    // The kernel's answers to a time before 1970, and to an owner's trylock, differ.
    if ((k.type & kMutexInherits) != 0) continue;
    SCOPED_TRACE(k.name);
    std::vector<int> expected = walk(kLibc, k.type);
    on_both_kinds([&] { EXPECT_EQ(expected, walk(kOurs, k.type)); });
  }
}

TEST(SyncMutex, TimesOutWhileHeld) {
  pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
  ASSERT_EQ(0, mutex_lock(&m));
  on_both_kinds([&] {
    for (clockid_t clock : {CLOCK_MONOTONIC, CLOCK_REALTIME}) {
      uint64_t start = monotonic_ns();
      timespec t = from_now(clock, 30);
      EXPECT_EQ(ETIMEDOUT, mutex_timedlock(&m, clock, &t));
      EXPECT_GE(monotonic_ns() - start, 29000000u);
    }
  });
  EXPECT_EQ(0, mutex_unlock(&m));
  EXPECT_EQ(0u, mutex_word(&m).load());  // the last unlock found nobody and left no trace
}

TEST(SyncMutex, LockedByLibcUnlockedByUsAndBack) {
  real::ensure();
  for (const Kind& k : kKinds) {
    if ((k.type & kMutexInherits) != 0) continue;  // libc keeps the owner in the word
    SCOPED_TRACE(k.name);
    pthread_mutex_t m = make(k.type);
    std::thread([&] {
      EXPECT_EQ(0, pthread_mutex_lock(&m));
      EXPECT_EQ(0, mutex_unlock(&m));
      EXPECT_EQ(0, mutex_lock(&m));
      EXPECT_EQ(0, pthread_mutex_unlock(&m));
      EXPECT_EQ(0, mutex_trylock(&m));
      EXPECT_EQ(0, mutex_unlock(&m));
    }).join();
  }
}

TEST(SyncMutex, RobustSharedAndWithACeilingAreLibcs) {
  real::ensure();
  auto kind_of = [](auto&& configure) {
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    configure(&attr);
    pthread_mutex_t m;
    EXPECT_EQ(0, pthread_mutex_init(&m, &attr));
    return mutex_is_ours(&m);
  };
  EXPECT_FALSE(kind_of([](auto* a) { pthread_mutexattr_setrobust(a, PTHREAD_MUTEX_ROBUST); }));
  EXPECT_FALSE(kind_of([](auto* a) { pthread_mutexattr_setpshared(a, PTHREAD_PROCESS_SHARED); }));
  EXPECT_FALSE(kind_of([](auto* a) {
    pthread_mutexattr_setprotocol(a, PTHREAD_PRIO_INHERIT);
    pthread_mutexattr_setpshared(a, PTHREAD_PROCESS_SHARED);
  }));
  EXPECT_FALSE(kind_of([](auto* a) { pthread_mutexattr_setprotocol(a, PTHREAD_PRIO_PROTECT); }));
  EXPECT_TRUE(kind_of([](auto*) {}));
  EXPECT_TRUE(kind_of([](auto* a) { pthread_mutexattr_setprotocol(a, PTHREAD_PRIO_INHERIT); }));

  pthread_mutexattr_t attr;
  pthread_mutexattr_init(&attr);
  pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_t m;
  pthread_mutex_init(&m, &attr);
  std::thread([&] { EXPECT_EQ(0, mutex_lock(&m)); }).join();  // its owner dies
  EXPECT_EQ(EOWNERDEAD, mutex_lock(&m));
  EXPECT_EQ(0, mutex_unlock(&m));
}

// A mutex may be freed by the next holder as soon as it has it: unlock must not touch it after.
TEST(SyncMutex, MayBeFreedByTheNextHolder) {
  for (int round = 0; round < 200 * kScale; ++round) {
    auto* m = new pthread_mutex_t(PTHREAD_MUTEX_INITIALIZER);
    std::atomic<int> left{2};
    run_crew(1, round % 8 == 0 ? 1 : 0, [&](int i) {
      if (round % 8 != 0) left = 1;
      ASSERT_EQ(0, mutex_lock(m));
      bool last = --left == 0;
      ASSERT_EQ(0, mutex_unlock(m));
      if (last) {
        EXPECT_EQ(0, mutex_destroy(m));
        delete m;
      }
      (void)i;
    });
  }
}

}  // namespace wisp::test
