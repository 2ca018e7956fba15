// futex(2) on the parking lot: answers compared with the kernel's, and the wake-ups themselves.
#include <errno.h>

#include "sync/futex.h"
#include "unit/sync_support.h"

namespace wisp::test {

static long ours(uint32_t* a, int op, uint32_t val, const void* t = nullptr, uint32_t* b = nullptr,
                 uint32_t val3 = 0) {
  return futex(a, op | FUTEX_PRIVATE_FLAG, val, reinterpret_cast<uintptr_t>(t), b, val3);
}
static long kernels(uint32_t* a, int op, uint32_t val, const void* t = nullptr,
                    uint32_t* b = nullptr, uint32_t val3 = 0) {
  return kernel::call(SYS_futex, reinterpret_cast<long>(a), op | FUTEX_PRIVATE_FLAG, val,
                      reinterpret_cast<long>(t), reinterpret_cast<long>(b), val3);
}
static const void* number(uintptr_t n) { return reinterpret_cast<const void*>(n); }

TEST(SyncFutex, AnswersAsTheKernelDoes) {
  on_both_kinds([] {
    uint32_t a = 5, b = 7;
    timespec bad{0, 1000000000}, negative{-1, 0}, zero{0, 0}, past{1, 0}, ms{0, 1000000};
    struct Case {
      int op;
      uint32_t val;
      const void* t;
      uint32_t val3;
    } cases[] = {
        {FUTEX_WAIT, 4, nullptr, 0},
        {FUTEX_WAIT, 4, &zero, 0},
        {FUTEX_WAIT, 5, &zero, 0},
        {FUTEX_WAIT, 5, &ms, 0},
        {FUTEX_WAIT, 5, &bad, 0},
        {FUTEX_WAIT, 4, &negative, 0},
        {FUTEX_WAIT_BITSET, 5, &past, 1},
        {FUTEX_WAIT_BITSET, 5, &past, 0},
        {FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 5, &past, ~0u},
        {FUTEX_WAKE, 1, nullptr, 0},
        {FUTEX_WAKE, 0, nullptr, 0},
        {FUTEX_WAKE | FUTEX_CLOCK_REALTIME, 1, nullptr, 0},
        {FUTEX_WAKE_BITSET, 1, nullptr, 0},
        {FUTEX_WAKE_BITSET, 1, nullptr, 1},
        {FUTEX_REQUEUE, 1, number(1), 0},
        {FUTEX_REQUEUE, ~0u, number(1), 0},
        {FUTEX_CMP_REQUEUE, 1, number(1), 5},
        {FUTEX_CMP_REQUEUE, 1, number(1), 6},
    };
    for (const Case& c : cases) {
      // No SCOPED_TRACE on a task: it is kept per kernel thread, and the task may come back on
      // another.
      EXPECT_EQ(kernels(&a, c.op, c.val, c.t, &b, c.val3), ours(&a, c.op, c.val, c.t, &b, c.val3))
          << "op " << c.op << " val " << c.val;
    }
    // Linux before 5.13 waits, for a relative time by a clock that may be set.
    EXPECT_EQ(-ENOSYS, ours(&a, FUTEX_WAIT | FUTEX_CLOCK_REALTIME, 5, &ms));
    auto* odd = reinterpret_cast<uint32_t*>(reinterpret_cast<char*>(&a) + 1);
    EXPECT_EQ(kernels(odd, FUTEX_WAKE, 1), ours(odd, FUTEX_WAKE, 1));
  });
}

TEST(SyncFutex, WakeOpChangesTheWordAsTheKernelDoes) {
  for (int op : {FUTEX_OP_SET, FUTEX_OP_ADD, FUTEX_OP_OR, FUTEX_OP_ANDN, FUTEX_OP_XOR,
                 FUTEX_OP_SET | FUTEX_OP_OPARG_SHIFT, 7})
    for (int arg : {0, 1, 5, 2047, -1, -2048})
      for (int cmp : {FUTEX_OP_CMP_EQ, FUTEX_OP_CMP_NE, FUTEX_OP_CMP_LT, FUTEX_OP_CMP_LE,
                      FUTEX_OP_CMP_GT, FUTEX_OP_CMP_GE}) {
        if ((op & FUTEX_OP_OPARG_SHIFT) != 0 && (arg < 0 || arg > 31)) continue;
        uint32_t a = 0, b1 = 0x1234, b2 = 0x1234;
        uint32_t code = static_cast<uint32_t>(FUTEX_OP(op, arg & 0xfff, cmp, 5));
        long expected = kernels(&a, FUTEX_WAKE_OP, 1, number(1), &b1, code);
        EXPECT_EQ(expected, ours(&a, FUTEX_WAKE_OP, 1, number(1), &b2, code)) << op;
        EXPECT_EQ(b1, b2) << op << " " << arg;
      }
}

static void wait_until_queued(int n, const void* key) {
  for (int found = -1; found != n; kernel::sched_yield()) {
    RuntimeEntry entry;
    Bucket& bucket = ParkingLot::bucket_of(key);
    SpinGuard guard(bucket.lock);
    found = 0;
    for (Waiter* w = bucket.head; w != nullptr; w = w->next) found += w->key.load() == key;
  }
}

TEST(SyncFutex, WakesBothKindsAndCounts) {
  uint32_t word = 1;
  std::atomic<int> woken{0};
  run_crew(3, 3, [&](int me) {
    if (me < 5) {
      EXPECT_EQ(0, ours(&word, FUTEX_WAIT, 1));
      ++woken;
      return;
    }
    wait_until_queued(5, &word);
    EXPECT_EQ(2, ours(&word, FUTEX_WAKE, 2));
    while (woken < 2) kernel::sched_yield();
    usleep(10000);
    EXPECT_EQ(2, woken);
    EXPECT_EQ(3, ours(&word, FUTEX_WAKE, INT32_MAX));
  });
  EXPECT_EQ(5, woken);
}

TEST(SyncFutex, BitsetsChoose) {
  uint32_t word = 1;
  std::atomic<int> woken[2] = {};
  run_crew(4, 1, [&](int me) {
    if (me < 4) {
      EXPECT_EQ(0, ours(&word, FUTEX_WAIT_BITSET, 1, nullptr, nullptr, 1u << (me % 2)));
      ++woken[me % 2];
      return;
    }
    wait_until_queued(4, &word);
    EXPECT_EQ(2, ours(&word, FUTEX_WAKE_BITSET, 10, nullptr, nullptr, 2));
    while (woken[1] < 2) kernel::sched_yield();
    EXPECT_EQ(0, woken[0]);
    EXPECT_EQ(2, ours(&word, FUTEX_WAKE_BITSET, 10, nullptr, nullptr, ~0u));
  });
}

TEST(SyncFutex, RequeueMoves) {
  uint32_t from = 1, to = 2;
  std::atomic<int> woken{0};
  run_crew(2, 3, [&](int me) {
    if (me < 4) {
      EXPECT_EQ(0, ours(&from, FUTEX_WAIT, 1));
      ++woken;
      return;
    }
    wait_until_queued(4, &from);
    EXPECT_EQ(-EAGAIN, ours(&from, FUTEX_CMP_REQUEUE, 1, number(9), &to, 7));
    EXPECT_EQ(3, ours(&from, FUTEX_CMP_REQUEUE, 1, number(2), &to, 1));
    // To itself: the kernel counts them and leaves them there.
    EXPECT_EQ(2, ours(&to, FUTEX_REQUEUE, 0, number(9), &to));
    // Whoever is moved counts without the comparison, too (futex_requeue in
    // kernel/futex/requeue.c).
    EXPECT_EQ(2, ours(&to, FUTEX_REQUEUE, 0, number(9), &from));
    EXPECT_EQ(2, ours(&from, FUTEX_REQUEUE, 0, number(2), &to));
    EXPECT_EQ(1, ours(&from, FUTEX_WAKE, 10));
    EXPECT_EQ(2, ours(&to, FUTEX_WAKE, 10));
  });
  EXPECT_EQ(4, woken);
}

// The end of a waiter's time while it is being moved: it must not be taken for woken already.
TEST(SyncFutex, TimeRunsOutDuringARequeue) {
  uint32_t from = 1, to = 2;
  std::atomic<int> left{4};
  std::atomic<bool> stuck{false};
  run_crew(5, 1, [&](int me) {
    timespec brief{0, 100'000};
    if (me < 4) {
      for (int i = 0; i < 300 * kScale; ++i) {
        long r = ours(&from, FUTEX_WAIT, 1, &brief);
        if (r != -ETIMEDOUT && r != 0) ADD_FAILURE() << r;
      }
      --left;
      return;
    }
    uint64_t end = monotonic_ns() + 60'000'000'000;
    while (left != 0 && !stuck) {
      uint32_t* a = me == 4 ? &from : &to;
      ours(a, FUTEX_REQUEUE, 0, number(4), me == 4 ? &to : &from);
      if (monotonic_ns() < end) continue;
      stuck = true;
      // So that the test ends.
      for (int i = 0; i < 1000 && left != 0; ++i, usleep(1000)) {
        ours(&from, FUTEX_WAKE, 10);
        ours(&to, FUTEX_WAKE, 10);
      }
    }
  });
  EXPECT_FALSE(stuck) << "a waiter without a timer";
}

TEST(SyncFutex, PingPong) {
  for (int tasks = 0; tasks <= 2; ++tasks) {
    uint32_t ball = 0;
    std::atomic_ref<uint32_t> turn(ball);
    run_crew(tasks, 2 - tasks, [&](int me) {
      for (int n = 0; n < 1000 * kScale; ++n) {
        while (turn.load() % 2 != static_cast<uint32_t>(me)) {
          uint32_t seen = turn.load();
          if (seen % 2 != static_cast<uint32_t>(me)) ours(&ball, FUTEX_WAIT, seen);
        }
        turn.fetch_add(1);
        ours(&ball, FUTEX_WAKE, 1);
      }
    });
  }
}

TEST(SyncFutex, LeavesTheKernelItsOwn) {
  EXPECT_TRUE(futex_is_ours(FUTEX_WAIT_PRIVATE));
  EXPECT_FALSE(futex_is_ours(FUTEX_WAIT));
  EXPECT_FALSE(futex_is_ours(FUTEX_LOCK_PI_PRIVATE));
  EXPECT_TRUE(futex_is_ours(FUTEX_WAIT_BITSET_PRIVATE | FUTEX_CLOCK_REALTIME));
}

}  // namespace wisp::test
