// The weight of kernel threads lent to tasks that compute (scheduler/lent.h), as the kernel has it.
// With WISP_TEST_UNPRIVILEGED=1 as a process that may not raise a weight again.
#include "scheduler/lent.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <functional>
#include <vector>

#include "gtest/gtest.h"
#include "scheduler/internal.h"
#include "sync/parking_lot.h"
#include "sync/sleep.h"
#include "unit/scheduler_fixture.h"

namespace wisp::test {
namespace {

constexpr int kQueuing = 40;

// Before any other thread is there: they inherit it.
[[maybe_unused]] const bool g_dropped = [] {
  if (getenv("WISP_TEST_UNPRIVILEGED") == nullptr) return false;
  rlimit none{0, 0};
  setrlimit(RLIMIT_NICE, &none);
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[2];
  if (kernel::call(SYS_capget, reinterpret_cast<long>(&head), reinterpret_cast<long>(sets)) != 0)
    abort();
  for (auto& s : sets) s.inheritable = 0;
  sets[0].effective &= ~(1u << CAP_SYS_NICE);
  sets[0].permitted &= ~(1u << CAP_SYS_NICE);
  if (kernel::call(SYS_capset, reinterpret_cast<long>(&head), reinterpret_cast<long>(sets)) != 0)
    abort();
  return true;
}();

int nice_of(int tid) {
  return 20 - static_cast<int>(kernel::call(SYS_getpriority, PRIO_PROCESS, tid));
}

// A task that computes beside tasks that queue: 0 stop, 1 compute, 2 compute with full weight, 3
// wait.
struct Computing {
  std::atomic<int> wanted{1}, does{0}, tid{0}, left{kQueuing + 1};
  std::atomic<uint64_t> rounds{0};

  // `first`: what the computing task does before.
  explicit Computing(std::function<void()> first = [] {}) {
    for (int i = 0; i < kQueuing; ++i)
      spawn([this] {
        while (wanted != 0) task_yield();
        --left;
      });
    spawn([this, first] {
      first();
      while (int how = wanted) {
        if (how == 2) {
          FullWeight full(current_task());
          tid = kernel::gettid();
          does = 2;
          while (wanted == 2) ++rounds;
        } else if (how == 3) {
          does = 3;
          RuntimeEntry entry;
          park(&wanted, kForever, [this] { return wanted == 3; });
        } else {
          tid = kernel::gettid();
          does = 1;
          while (wanted == 1) ++rounds;
        }
      }
      task_sleep_until(monotonic_ns() + 10'000'000);
      --left;
    });
  }
  void want(int what) {
    wanted = what;
    if (what != 0 && !until([&] { return does == what; })) abort();
  }
  // From its wait.
  void wake() {
    wanted = 0;
    RuntimeEntry entry;
    ParkingLot::unpark(&wanted, 1);
  }
  ~Computing() {
    want(0);
    if (!until([&] { return left == 0; })) abort();
  }
};

// Of every kernel thread that runs tasks.
bool all_have_the_weight_of_the_process() {
  int base = nice_of(kernel::getpid());
  for (Worker* w = g_scheduler.all_workers.load(); w != nullptr; w = w->all_next) {
    int tid = w->tid.load();
    if (tid != 0 && w->lent_to.load() == nullptr && nice_of(tid) != base) return false;
  }
  return true;
}

TEST(Lent, LighterWhileTasksQueueAndItselfAgainAfterwards) {
  start_scheduler();
  int base = nice_of(kernel::getpid());
  for (int round = 0; round < 3; ++round) {
    {
      Computing computing;
      EXPECT_TRUE(until([&] { return nice_of(computing.tid) >= base + 5; }))
          << "its kernel thread keeps the weight of a carrier";
    }
    EXPECT_TRUE(until(all_have_the_weight_of_the_process));
  }
}

// The kernel thread that a task leaves is a worker like the others, or it ends, whether or not
// there still is a queue.
TEST(Lent, WhatATaskLeavesIsAsHeavyAsBefore) {
  start_scheduler();
  int base = nice_of(kernel::getpid());
  for (int round = 0; round < 3; ++round) {
    Computing computing;
    ASSERT_TRUE(until([&] { return nice_of(computing.tid) >= base + 5; }));
    int left = computing.tid;
    computing.want(3);
    auto ended = [&] { return kernel::call(SYS_tgkill, kernel::getpid(), left, 0) != 0; };
    EXPECT_TRUE(until([&] { return ended() || nice_of(left) == base; })) << nice_of(left);
    computing.wake();
  }
}

// Where it cannot get its weight back it ends, but not before a process that was made on it: to the
// kernel that one's parent is the thread.
TEST(Lent, WhatATaskLeavesOutlivesItsChildren) {
  start_scheduler();
  int base = nice_of(kernel::getpid());
  int gate[2];
  ASSERT_EQ(pipe(gate), 0);
  std::atomic<int> pid{0};
  Computing computing([&] {
    long made = kernel::call(SYS_clone, SIGCHLD);
    if (made == 0) {
      char c;
      kernel::call(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
      kernel::call(SYS_close, gate[1]);
      long r = kernel::call(SYS_read, gate[0], reinterpret_cast<long>(&c), 1);
      kernel::call(SYS_exit_group, r == 0 ? 6 : 7);
    }
    pid = static_cast<int>(made);
  });
  ASSERT_TRUE(until([&] { return nice_of(computing.tid) >= base + 5; }));
  int left = computing.tid;
  computing.want(3);
  usleep(100'000);  // what is going to end has ended
  close(gate[1]);
  int status = -1;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 6) << status;
  auto ended = [&] { return kernel::call(SYS_tgkill, kernel::getpid(), left, 0) != 0; };
  EXPECT_TRUE(until([&] { return ended() || nice_of(left) == base; })) << nice_of(left);
  computing.wake();
  close(gate[0]);
}

// With nobody to queue beside it, it is as heavy as it was, while it computes; where it may be.
TEST(Lent, HeavyAgainWhenNobodyQueues) {
  start_scheduler();
  int base = nice_of(kernel::getpid());
  std::atomic<int> tid{0}, left{kQueuing + 1};
  std::atomic<bool> queuing{true}, computing{true};
  for (int i = 0; i < kQueuing; ++i)
    spawn([&] {
      while (queuing) task_yield();
      --left;
    });
  spawn([&] {
    tid = kernel::gettid();
    while (computing) compiler_barrier();
    --left;
  });
  EXPECT_TRUE(until([&] { return tid != 0 && nice_of(tid) >= base + 5; }));
  queuing = false;
  if (!g_dropped) {
    EXPECT_TRUE(until([&] { return nice_of(tid) == base; })) << nice_of(tid);
  }
  computing = false;
  if (!until([&] { return left == 0; })) abort();
}

TEST(Lent, FullWeightForWhatIsInherited) {
  start_scheduler();
  int base = nice_of(kernel::getpid());
  Computing computing;
  ASSERT_TRUE(until([&] { return nice_of(computing.tid) >= base + 5; }));
  for (int round = 0; round < 3; ++round) {
    computing.want(2);
    for (int i = 0; i < 100; ++i, usleep(1000)) ASSERT_EQ(nice_of(computing.tid), base);
    computing.want(1);
    // Lent already it is lighter at once, else after its next tick.
    ASSERT_TRUE(until([&] { return nice_of(computing.tid) >= base + 5; }));
  }
}

}  // namespace
}  // namespace wisp::test
