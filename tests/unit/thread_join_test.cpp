// Join, detach and the end of tasks, from both kinds of threads and in all orders.
#include <gtest/gtest.h>

#include "platform/clock.h"
#include "sync/join.h"
#include "unit/sync_support.h"

namespace wisp::test {
namespace {

// A joinable task, as the interposed pthread_create makes it.
WispTask* spawn_joinable(std::function<void*()> f) {
  struct Call {
    static void* run(void* argument) {
      auto* function = static_cast<std::function<void*()>*>(argument);
      void* result = (*function)();
      delete function;
      return result;
    }
  };
  WispTask* t = nullptr;
  auto* argument = new std::function<void*()>(std::move(f));
  if (task_create(&t, &Call::run, argument, 0, 4096) != 0) abort();
  join_init(t, false);
  RuntimeEntry entry;
  ready(t);
  return t;
}

void* as_pointer(intptr_t n) { return reinterpret_cast<void*>(n); }

class Join : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {  // once: tasks of an earlier test may still be on their way out
    start_scheduler();
    g_task_exiting = &join_exiting;
  }
};

TEST_F(Join, GivesTheResult) {
  on_both_kinds([] {
    for (intptr_t i = 0; i < 50; ++i) {
      void* result = nullptr;
      WispTask* t = spawn_joinable([i] { return as_pointer(i); });
      ASSERT_EQ(join_task(t, &result, kForever), 0);
      EXPECT_EQ(result, as_pointer(i));
    }
  });
}

TEST_F(Join, TimesOutAndThenSucceeds) {
  on_both_kinds([] {
    std::atomic<bool> go{false};
    WispTask* t = spawn_joinable([&] {
      while (!go) {
        RuntimeEntry entry;
        yield_current(entry.task());
      }
      return as_pointer(9);
    });
    void* result = nullptr;
    EXPECT_EQ(join_try(t, &result), EBUSY);
    EXPECT_EQ(join_task(t, &result, monotonic_ns() + 5000000), ETIMEDOUT);
    go = true;
    EXPECT_EQ(join_task(t, &result, kForever), 0);
    EXPECT_EQ(result, as_pointer(9));
  });
}

TEST_F(Join, OneselfIsADeadlock) {
  WispTask* t =
      spawn_joinable([] { return as_pointer(join_task(current_task(), nullptr, kForever)); });
  void* result = nullptr;
  ASSERT_EQ(join_task(t, &result, kForever), 0);
  EXPECT_EQ(result, as_pointer(EDEADLK));
}

TEST_F(Join, DetachedBeforeTheEndAndAfter) {
  // Nobody waits for the end of the first one, which may come after that of the test.
  static std::atomic<bool> go;
  go = false;
  WispTask* t = spawn_joinable([] {
    while (!go) {
      RuntimeEntry entry;
      yield_current(entry.task());
    }
    return nullptr;
  });
  EXPECT_EQ(join_detach(t), 0);
  EXPECT_EQ(join_detach(t), EINVAL);
  EXPECT_EQ(join_task(t, nullptr, kForever), EINVAL);
  go = true;

  t = spawn_joinable([] { return nullptr; });
  while (t->join_state.load() != kExited) kernel::sched_yield();
  EXPECT_EQ(join_detach(t), 0);
}

TEST_F(Join, ManyAtOnce) {
  run_crew(4, 2, [](int who) {
    for (intptr_t i = 0; i < 100 * kScale; ++i) {
      WispTask* t = spawn_joinable([=] { return as_pointer(i * 10 + who); });
      void* result = nullptr;
      if (i % 7 == 3) {
        EXPECT_EQ(join_detach(t), 0);
        continue;
      }
      EXPECT_EQ(join_task(t, &result, kForever), 0);
      EXPECT_EQ(result, as_pointer(i * 10 + who));
    }
  });
}

}  // namespace
}  // namespace wisp::test
