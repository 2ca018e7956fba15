// Tasks that have a signal stack, and so stay on their kernel thread (scheduler/own_thread.h),
// among others that do not.
#include "scheduler/own_thread.h"

#include <signal.h>

#include <memory>

#include "sync/futex.h"
#include "sync/sleep.h"
#include "unit/sync_support.h"

namespace wisp::test {

namespace {

class SignalStack {
 public:
  SignalStack() : memory_(new char[kSize]) {
    own_threads_watch();
    stack_t stack{};
    stack.ss_sp = memory_.get();
    stack.ss_size = kSize;
    EXPECT_EQ(kernel::call(SYS_sigaltstack, reinterpret_cast<long>(&stack)), 0);
  }
  ~SignalStack() {
    EXPECT_TRUE(is_here());
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    EXPECT_EQ(kernel::call(SYS_sigaltstack, reinterpret_cast<long>(&none)), 0);
  }
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;
  bool is_here() const {
    stack_t now{};
    return kernel::call(SYS_sigaltstack, 0, reinterpret_cast<long>(&now)) == 0 &&
           now.ss_sp == memory_.get();
  }

 private:
  static constexpr size_t kSize = 64 * 1024;
  std::unique_ptr<char[]> memory_;
};

long wait_while(std::atomic<uint32_t>& word, uint32_t value, const timespec* timeout = nullptr) {
  return futex(reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT | FUTEX_PRIVATE_FLAG, value,
               reinterpret_cast<uintptr_t>(timeout), nullptr, 0);
}
long wake(std::atomic<uint32_t>& word, uint32_t n) {
  return futex(reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE | FUTEX_PRIVATE_FLAG, n, 0, nullptr,
               0);
}

// The turn goes round, each time from one that is asleep, or about to be, to the next.
void go_round(std::atomic<uint32_t>& turn, uint32_t me, uint32_t all, uint32_t rounds) {
  for (uint32_t i = 0; i < rounds; ++i) {
    for (uint32_t now; (now = turn.load()) % all != me;) wait_while(turn, now);
    turn.fetch_add(1);
    wake(turn, ~0u >> 1);
  }
}

}  // namespace

TEST(OwnThread, TheTurnGoesRound) {
  constexpr int kTasks = 6, kThreads = 1;
  std::atomic<uint32_t> turn{0};
  run_crew(kTasks, kThreads, [&](int me) {
    auto number = static_cast<uint32_t>(me);
    if (me % 2 == 0 && me < kTasks) {
      SignalStack own;
      int tid = kernel::gettid();
      go_round(turn, number, kTasks + kThreads, 200 * kScale);
      EXPECT_EQ(kernel::gettid(), tid);
      EXPECT_TRUE(own.is_here());
    } else {
      go_round(turn, number, kTasks + kThreads, 200 * kScale);
    }
  });
}

// While it waits its carrier is another's, also where there is but one.
TEST(OwnThread, ItsCarrierGoesToOthers) {
  std::atomic<uint32_t> told{0};
  run_crew(2, 0, [&](int me) {
    if (me == 0) {
      SignalStack own;
      while (told.load() == 0) wait_while(told, 0);
    } else {
      for (int i = 0; i < 100; ++i) task_yield();
      told.store(1);
      wake(told, 1);
    }
  });
}

// Its time and the wake-up at the same moment: exactly one of them ends the wait, and the next wait
// knows nothing of it.
TEST(OwnThread, TimeAndWakeUpMeet) {
  std::atomic<uint32_t> word{0}, over{0};
  std::atomic<int> woken{0}, late{0};
  run_crew(1, 1, [&](int me) {
    if (me != 0) {
      int made = 0;
      while (over.load() == 0) {
        made += static_cast<int>(wake(word, 1));
        for (int i = 0; i < 40; ++i) cpu_pause();
      }
      EXPECT_EQ(made, woken.load());
      return;
    }
    SignalStack own;
    for (int i = 0; i < 300 * kScale; ++i) {
      timespec soon{0, 1000 + i % 7 * 10000};
      long r = wait_while(word, 0, &soon);
      ASSERT_TRUE(r == 0 || r == -ETIMEDOUT) << r;
      ++(r == 0 ? woken : late);
      EXPECT_EQ(current_task()->state.load(), TaskState::Running);
    }
    timespec ms{0, 1'000'000};
    EXPECT_EQ(task_nanosleep(&ms, nullptr), 0);
    over.store(1);
  });
  EXPECT_GT(woken.load() + late.load(), 0);
}

TEST(OwnThread, NothingStaysBehind) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer gives each kernel thread a signal stack of its own";
#endif
  for (int round = 0; round < 20; ++round) {
    run_crew(4, 0, [&](int me) {
      EXPECT_FALSE(has_signal_stack_now());
      if (me % 2 != 0) return;
      own_threads_watch();
      // Left as it is: the end of the task takes it away.
      static char stack_of[4][64 * 1024];
      stack_t stack{};
      stack.ss_sp = stack_of[me];
      stack.ss_size = sizeof stack_of[me];
      EXPECT_EQ(kernel::call(SYS_sigaltstack, reinterpret_cast<long>(&stack)), 0);
      task_yield();
      timespec ms{0, 1'000'000};
      EXPECT_EQ(task_nanosleep(&ms, nullptr), 0);
      EXPECT_TRUE(has_signal_stack_now());
    });
  }
}

// Without its signal stack it is a task like others again.
TEST(OwnThread, ItComesBack) {
  on_task([] {
    timespec ms{0, 1'000'000};
    {
      SignalStack own;
      EXPECT_EQ(task_nanosleep(&ms, nullptr), 0);
      EXPECT_EQ(current_task()->carrier, nullptr);
      EXPECT_TRUE(current_task()->own_thread.load());
    }
    EXPECT_EQ(task_nanosleep(&ms, nullptr), 0);
    EXPECT_NE(current_task()->carrier, nullptr);
    EXPECT_FALSE(current_task()->own_thread.load());
  });
}

// In a callback of dl_iterate_phdr, say, and without any signal stack.
TEST(OwnThread, WhoStaysHereWaitsHere) {
  std::atomic<uint32_t> turn{0};
  run_crew(4, 0, [&](int me) {
    auto number = static_cast<uint32_t>(me);
    WispTask* self = current_task();
    int tid = 0;
    {
      StaysHere here(me % 2 == 0 ? self : nullptr);
      if (me % 2 == 0) tid = kernel::gettid();
      go_round(turn, number, 4, 100 * kScale);
      task_yield();
      EXPECT_TRUE(tid == 0 || kernel::gettid() == tid);
    }
    timespec ms{0, 1'000'000};
    EXPECT_EQ(task_nanosleep(&ms, nullptr), 0);
    EXPECT_FALSE(self->own_thread.load());
  });
}

}  // namespace wisp::test
