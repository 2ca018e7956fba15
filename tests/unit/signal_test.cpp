// Deferral inside the runtime, signals to tasks, the task's own mask.
#include <gtest/gtest.h>
#include <signal.h>

#include <memory>

#include "platform/real.h"
#include "scheduler/carrier.h"
#include "signal/actions.h"
#include "signal/task_signals.h"
#include "unit/scheduler_fixture.h"

namespace wisp::test {
namespace {

std::atomic<int> g_seen{0};
std::atomic<int> g_depth_seen{0};
std::atomic<WispTask*> g_task_seen{nullptr};

void handler(int, siginfo_t*, void*) {
  g_depth_seen = static_cast<int>(thread_self().depth.load());
  g_task_seen = current_task();
  ++g_seen;
}

void set_handler(int sig, Handler h, int flags = SA_SIGINFO) {
  struct sigaction act {};
  act.sa_sigaction = h;
  act.sa_flags = flags;
  ASSERT_EQ(action_set(sig, &act, nullptr), 0);
}

class Signals : public ::testing::Test {
 protected:
  void SetUp() override {
    real::ensure();
    start_scheduler();
    static bool once = (signals_start(), true);
    (void)once;
    g_seen = 0;
    set_handler(SIGUSR1, handler);
  }
  void run(const std::function<void()>& f) {
    auto done = std::make_shared<Latch>(1);
    spawn([&f, done] {
      f();
      done->count_down();
    });
    done->wait();
  }
};

sigset_t only(int sig) {
  sigset_t s;
  sigemptyset(&s);
  sigaddset(&s, sig);
  return s;
}

TEST_F(Signals, QueryAnswersWithTheProgramsHandler) {
  struct sigaction now;
  ASSERT_EQ(action_set(SIGUSR1, nullptr, &now), 0);
  EXPECT_EQ(now.sa_sigaction, handler);
  struct sigaction kernels;
  ASSERT_EQ(real::sigaction(SIGUSR1, nullptr, &kernels), 0);
  EXPECT_NE(kernels.sa_sigaction, handler);
  EXPECT_EQ(disposition_of(SIGUSR1), Disposition::Handle);
}

TEST_F(Signals, OneShotHandlerIsGoneAfterwards) {
  set_handler(SIGUSR2, handler, SA_SIGINFO | static_cast<int>(SA_RESETHAND));
  struct sigaction now;
  ASSERT_EQ(action_set(SIGUSR2, nullptr, &now), 0);
  EXPECT_NE(now.sa_flags & static_cast<int>(SA_RESETHAND), 0);
  real::raise(SIGUSR2);
  EXPECT_EQ(g_seen, 1);
  ASSERT_EQ(action_set(SIGUSR2, nullptr, &now), 0);
  EXPECT_EQ(now.sa_handler, SIG_DFL);
}

TEST_F(Signals, ThousandsOfChangesNeedNoMoreSpace) {
  for (int i = 0; i < 5000; ++i)
    set_handler(
        SIGUSR2, i % 2 ? handler : [](int, siginfo_t*, void*) {});
  real::raise(SIGUSR2);
  EXPECT_EQ(g_seen, 1);
}

TEST_F(Signals, KernelThreadDefersInsideTheRuntime) {
  {
    RuntimeEntry outer;
    {
      RuntimeEntry inner;
      real::raise(SIGUSR1);
    }
    EXPECT_EQ(g_seen, 0);
  }
  EXPECT_EQ(g_seen, 1);
  EXPECT_EQ(g_depth_seen, 0);
  sigset_t mask;
  real::pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  EXPECT_FALSE(sigismember(&mask, SIGUSR1));
}

TEST_F(Signals, TaskDefersInsideTheRuntime) {
  run([] {
    {
      RuntimeEntry entry;
      real::raise(SIGUSR1);
      EXPECT_EQ(g_seen, 0);
    }
    EXPECT_EQ(g_seen, 1);
    EXPECT_EQ(g_task_seen, current_task());
    EXPECT_EQ(kernel::signal_mask(), current_task()->signal_mask);
  });
}

// What comes between two stacks belongs to the kernel thread: whoever goes on there handles it.
TEST_F(Signals, DeferredOnTheWayOutIsHandledByWhoeverIsNext) {
  run([] {
    {
      RuntimeEntry entry;
      real::raise(SIGUSR1);
      yield_current(entry.task());
    }
    for (uint64_t end = monotonic_ns() + 30'000'000'000; g_seen == 0 && monotonic_ns() < end;) {
      RuntimeEntry entry;
      yield_current(entry.task());
    }
    EXPECT_EQ(g_seen, 1);
  });
}

TEST_F(Signals, ParkedTaskRunsItsHandler) {
  std::atomic<uint32_t> word{0};
  std::atomic<WispTask*> who{nullptr};
  std::atomic<bool> interrupted{false};
  auto done = std::make_shared<Latch>(1);
  spawn([&, done] {
    who = current_task();
    while (word == 0) {
      RuntimeEntry entry;
      if (park(&word, kForever, [&] { return word == 0; }) == WakeReason::Interrupted)
        interrupted = true;
    }
    done->count_down();
  });
  while (who == nullptr || who.load()->state != TaskState::Parked) kernel::sched_yield();
  EXPECT_EQ(signal_task(who, SIGUSR1), 0);
  while (g_seen == 0) kernel::sched_yield();
  EXPECT_EQ(g_task_seen, who);
  word = 1;
  {
    RuntimeEntry entry;
    ParkingLot::unpark(&word, 1);
  }
  done->wait();
  EXPECT_TRUE(interrupted);
}

TEST_F(Signals, SpinningTaskIsInterrupted) {
  std::atomic<WispTask*> who{nullptr};
  auto done = std::make_shared<Latch>(1);
  spawn([&, done] {
    who = current_task();
    while (g_seen == 0) cpu_pause();
    done->count_down();
  });
  while (who == nullptr) kernel::sched_yield();
  EXPECT_EQ(signal_task(who, SIGUSR1), 0);
  done->wait();
  EXPECT_EQ(g_task_seen, who);
}

TEST_F(Signals, ToOneselfIsImmediate) {
  run([] {
    for (int i = 1; i <= 50; ++i) {
      EXPECT_EQ(signal_task(current_task(), SIGUSR1), 0);
      EXPECT_EQ(g_seen, i);
    }
    EXPECT_EQ(signal_task(current_task(), 0), 0);
    EXPECT_EQ(signal_task(current_task(), 65), EINVAL);
    EXPECT_EQ(signal_task(current_task(), 32), EINVAL);
  });
}

TEST_F(Signals, BlockedStaysPendingUntilUnblocked) {
  run([] {
    WispTask* me = current_task();
    sigset_t set = only(SIGUSR1), old;
    EXPECT_EQ(task_mask_change(me, SIG_BLOCK, &set, nullptr), 0);
    EXPECT_EQ(signal_task(me, SIGUSR1), 0);
    EXPECT_EQ(g_seen, 0);
    EXPECT_EQ(held_signals(me), bit_of(SIGUSR1));
    EXPECT_EQ(task_mask_change(me, SIG_UNBLOCK, &set, &old), 0);
    EXPECT_TRUE(sigismember(&old, SIGUSR1));
    EXPECT_EQ(g_seen, 1);
    EXPECT_EQ(held_signals(me), 0u);
    EXPECT_EQ(task_mask_change(me, 99, &set, nullptr), EINVAL);
  });
}

TEST_F(Signals, TheMaskGoesWithTheTask) {
  auto done = std::make_shared<Latch>(8);
  for (int i = 0; i < 8; ++i)
    spawn([i, done] {
      WispTask* me = current_task();
      sigset_t set = only(SIGUSR2);
      if (i % 2) task_mask_change(me, SIG_BLOCK, &set, nullptr);
      for (int k = 0; k < 500; ++k) {
        EXPECT_EQ((kernel::signal_mask() & bit_of(SIGUSR2)) != 0, i % 2 != 0);
        RuntimeEntry entry;
        yield_current(me);
      }
      done->count_down();
    });
  done->wait();
}

std::atomic<int> g_in_handler{0};
void parks(int, siginfo_t*, void*) {
  WispTask* me = current_task();
  EXPECT_EQ(me->signal_depth, 1u);
  ++g_in_handler;
  for (int i = 0; i < 5; ++i) {
    EXPECT_NE(kernel::signal_mask() & bit_of(SIGHUP), 0u);
    RuntimeEntry entry;
    yield_current(me);
  }
  ++g_seen;
}

TEST_F(Signals, ParkingInAHandlerLeaksNothing) {
  struct sigaction act {};
  act.sa_sigaction = parks;
  act.sa_flags = SA_SIGINFO;
  sigfillset(&act.sa_mask);
  ASSERT_EQ(action_set(SIGUSR2, &act, nullptr), 0);
  auto done = std::make_shared<Latch>(6);
  for (int i = 0; i < 6; ++i)
    spawn([i, done] {
      WispTask* me = current_task();
      for (int k = 0; k < 200; ++k) {
        if (i < 3) {
          int before = g_seen;
          EXPECT_EQ(signal_task(me, SIGUSR2), 0);
          EXPECT_GT(g_seen, before);
        }
        EXPECT_EQ(kernel::signal_mask() & (bit_of(SIGHUP) | bit_of(SIGUSR2)), 0u);
        EXPECT_EQ(me->signal_depth, 0u);
        RuntimeEntry entry;
        yield_current(me);
      }
      done->count_down();
    });
  done->wait();
  EXPECT_EQ(g_in_handler, 600);
}

}  // namespace
}  // namespace wisp::test
