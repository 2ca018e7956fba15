// The interposed functions by their C names and with errno, in a process that runs on them.
#include <errno.h>
#include <limits.h>
#include <sys/syscall.h>

#include <condition_variable>
#include <mutex>

#include "interpose/entry.h"
#include "sync/condition.h"
#include "sync/semaphore.h"
#include "unit/sync_support.h"

namespace wisp {
std::atomic<bool> g_interposing{false};
}

namespace wisp::test {

class SyncInterpose : public testing::Test {
 protected:
  void SetUp() override {
    const char* why = nullptr;
    ASSERT_TRUE(condition_layout_probe(&why)) << why;
    real::ensure();
    start_scheduler();
    g_interposing = true;
  }
};

TEST_F(SyncInterpose, StandardLibraryLocks) {
  std::mutex m;
  std::condition_variable c;
  int turn = 0;
  run_crew(2, 2, [&](int me) {
    for (int n = 0; n < 2000; ++n) {
      std::unique_lock lock(m);
      while (turn != me) {
        if (n % 3 == 0)
          c.wait_for(lock, std::chrono::milliseconds(50));
        else
          c.wait(lock);
      }
      turn = (turn + 1) % 4;
      c.notify_all();
    }
  });
}

TEST_F(SyncInterpose, ErrnoIsSetOnFailureOnly) {
  on_both_kinds([] {
    errno = 77;
    sem_t s;
    sem_init(&s, 0, 1);
    EXPECT_EQ(0, sem_wait(&s));
    EXPECT_EQ(0, sem_post(&s));
    EXPECT_EQ(0, sem_trywait(&s));
    EXPECT_EQ(0, usleep(1000));
    EXPECT_EQ(0, sched_yield());
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    pthread_mutex_lock(&m);
    timespec t = from_now(CLOCK_REALTIME, 5);
    EXPECT_EQ(ETIMEDOUT, pthread_cond_timedwait(&c, &m, &t));
    EXPECT_EQ(EBUSY, pthread_mutex_trylock(&m));
    EXPECT_EQ(77, errno);
    EXPECT_EQ(-1, sem_trywait(&s));
    EXPECT_EQ(EAGAIN, errno);
    EXPECT_EQ(-1, sem_timedwait(&s, &t));
    EXPECT_EQ(ETIMEDOUT, errno);
    timespec bad{0, -1};
    EXPECT_EQ(-1, nanosleep(&bad, nullptr));
    EXPECT_EQ(EINVAL, errno);
    uint32_t word = 3;
    EXPECT_EQ(-1, syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 4, nullptr, nullptr, 0));
    EXPECT_EQ(EAGAIN, errno);
    EXPECT_EQ(-1, syscall(SYS_close, -1));
    EXPECT_EQ(EBADF, errno);
  });
}

TEST_F(SyncInterpose, TaskHasItsOwnTid) {
  EXPECT_EQ(kernel::gettid(), syscall(SYS_gettid));
  long first = 0, second = 0;
  on_task([&] { first = syscall(SYS_gettid); });
  on_task([&] { second = syscall(SYS_gettid); });
  EXPECT_NE(first, kernel::gettid());
  EXPECT_NE(0, first);
  EXPECT_NE(0, second);
}

TEST_F(SyncInterpose, NonPrivateFutexIsTheKernels) {
  uint32_t word = 1;
  run_crew(1, 1, [&](int me) {
    if (me == 0) {
      EXPECT_EQ(0, syscall(SYS_futex, &word, FUTEX_WAIT, 1, nullptr, nullptr, 0));
    } else {
      while (kernel::call(SYS_futex, reinterpret_cast<long>(&word), FUTEX_WAKE, 1) == 0)
        usleep(1000);
    }
  });
}

TEST_F(SyncInterpose, SleepsOfATask) {
  on_task([] {
    uint64_t start = monotonic_ns();
    EXPECT_EQ(0u, sleep(1));
    EXPECT_GE(monotonic_ns() - start, 1000000000u);
    timespec t{0, 10000000}, bad{0, -1};
    EXPECT_EQ(0, syscall(SYS_nanosleep, &t, nullptr));
    EXPECT_EQ(0, clock_nanosleep(CLOCK_BOOTTIME, 0, &t, nullptr));  // the kernel's
    EXPECT_EQ(EINVAL, clock_nanosleep(CLOCK_MONOTONIC, 0, &bad, nullptr));
    EXPECT_GE(monotonic_ns() - start, 1020000000u);
  });
}

}  // namespace wisp::test
