// Signals end or do not end a wait, as POSIX says for each call. On a task the signal layer calls
// ParkingLot::interrupt; on a kernel thread a real handler interrupts the kernel's wait.
#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "sync/barrier.h"
#include "sync/condition.h"
#include "sync/futex.h"
#include "sync/rwlock.h"
#include "sync/semaphore.h"
#include "sync/sleep.h"
#include "unit/sync_support.h"

namespace wisp::test {

// Interrupts until the wait is over: what is interrupted may not even have begun to wait on a busy
// machine. After a good number of times calls `release`, which lets a wait return that goes on.
static void interrupt_until(const std::atomic<bool>& over, const std::function<void()>& interrupt,
                            const std::function<void()>& release) {
  constexpr int kTimes = 20;
  bool released = false;
  for (int n = 0; !over; ++n) {
    if (n == kTimes) {
      release();
      released = true;
    }
    usleep(1000);
    if (!over) interrupt();
  }
  if (!released) release();
}

enum class Signal { None, Handled };  // with a handler without SA_RESTART

// Runs `wait` on a task, then on a kernel thread, and interrupts it until it returns. The task's
// signal stays pending: the layer that would deliver it is not here.
static void interrupt_while(const std::function<void()>& wait, const std::function<void()>& release,
                            Signal signal = Signal::None) {
  start_scheduler();
  struct sigaction action = {};
  action.sa_handler = [](int) {};
  sigaction(SIGUSR2, &action, nullptr);
  {
    auto over = std::make_shared<std::atomic<bool>>(false);
    auto done = std::make_shared<Latch>(1);
    WispTask* task = spawn([&wait, over, done] {
      wait();
      thread_self().pending_signals = 0;
      *over = true;
      done->count_down();
    });
    auto interrupt = [task, signal] {
      RuntimeEntry entry;
      if (signal == Signal::Handled) task->self->pending_signals |= 1ull << (SIGUSR2 - 1);
      ParkingLot::interrupt(task);
    };
    interrupt_until(*over, interrupt, release);
    done->wait();
  }
  std::atomic<bool> over{false};
  std::thread thread([&] {
    wait();
    over = true;
  });
  interrupt_until(
      over, [&] { pthread_kill(thread.native_handle(), SIGUSR2); }, release);
  thread.join();
}

TEST(SyncInterrupt, SemaphoreSaysSo) {
  sem_t s;
  sem_init(&s, 0, 0);
  interrupt_while([&] { EXPECT_EQ(EINTR, semaphore_wait(&s, kForever)); }, [] {}, Signal::Handled);
  EXPECT_EQ(0u, sem_word(&s).load());
}

TEST(SyncInterrupt, FutexSaysSo) {
  uint32_t word = 1;
  interrupt_while([&] { EXPECT_EQ(-EINTR, futex(&word, FUTEX_WAIT_PRIVATE, 1, 0, nullptr, 0)); },
                  [] {}, Signal::Handled);
}

TEST(SyncInterrupt, SleepTellsTheRest) {
  interrupt_while(
      [] {
        if (current_task() == nullptr) return;
        timespec t{1000, 0}, left{0, 0};
        EXPECT_EQ(EINTR, task_nanosleep(&t, &left));
        EXPECT_GE(left.tv_sec, 900);
        EXPECT_LT(left.tv_sec, 1000);
      },
      [] {}, Signal::Handled);
}

TEST(SyncInterrupt, ConditionWakesForNothingAndHoldsTheMutex) {
  pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t c = PTHREAD_COND_INITIALIZER;
  interrupt_while(
      [&] {
        mutex_lock(&m);
        EXPECT_EQ(0, condition_wait(&c, &m, kForever));
        EXPECT_EQ(EBUSY, mutex_trylock(&m));
        mutex_unlock(&m);
      },
      [] {});
}

TEST(SyncInterrupt, MutexGoesOnWaiting) {
  pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
  mutex_lock(&m);
  interrupt_while([&] { EXPECT_EQ(0, mutex_lock(&m)); }, [&] { mutex_unlock(&m); });
  EXPECT_EQ(EBUSY, mutex_trylock(&m));
}

TEST(SyncInterrupt, RwlockGoesOnWaiting) {
  pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
  for (bool writer : {false, true}) {
    EXPECT_EQ(0, rwlock_wrlock(&l, kForever));
    interrupt_while(
        [&] {
          uint64_t deadline = monotonic_ns() + 30000000;
          EXPECT_EQ(ETIMEDOUT, writer ? rwlock_wrlock(&l, deadline) : rwlock_rdlock(&l, deadline));
        },
        [] {});
    EXPECT_EQ(0, rwlock_unlock(&l));
    EXPECT_EQ(0u, word_at<uint64_t>(&l, 0).load());
  }
}

TEST(SyncInterrupt, BarrierGoesOnWaiting) {
  pthread_barrier_t b;
  pthread_barrier_init(&b, nullptr, 2);
  interrupt_while([&] { barrier_wait(&b); }, [&] { barrier_wait(&b); });
  EXPECT_EQ(0, barrier_destroy(&b));
}

}  // namespace wisp::test
