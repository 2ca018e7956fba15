// Stacks: guard, cache, limits, and that nothing of the last user's protections is left.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <set>
#include <vector>

#include "coroutine_test_support.h"

using namespace wisp;

namespace {

constexpr size_t kPage = 4096;

class StackTest : public ::testing::Test {
 protected:
  void SetUp() override { empty_cache(); }
  void TearDown() override { empty_cache(); }
  static void empty_cache() {
    stack_cache_configure({0, 0});
    stack_cache_trim();
    stack_cache_configure({});
  }
};

TEST_F(StackTest, IsUsableFromEndToEnd) {
  Stack stack;
  ASSERT_TRUE(stack_allocate(&stack, 100'000, 1));
  EXPECT_EQ(stack.size % kPage, 0u);
  EXPECT_GE(stack.size, 100'000u);
  EXPECT_EQ(stack.guard, kPage);
  std::memset(stack.base, 1, stack.size);
  stack_release(&stack);
  EXPECT_EQ(stack.base, nullptr);
}

TEST_F(StackTest, RefusesWithErrno) {
  Stack stack;
  errno = 0;
  EXPECT_FALSE(stack_allocate(&stack, 0, 0));
  EXPECT_EQ(errno, EINVAL);
  EXPECT_FALSE(stack_allocate(&stack, ~size_t{0}, kPage));
  EXPECT_EQ(errno, EINVAL);
  errno = 0;
  EXPECT_FALSE(stack_allocate(&stack, size_t{1} << 48, 0));
  EXPECT_EQ(errno, ENOMEM);
}

using StackDeathTest = StackTest;

TEST_F(StackDeathTest, GuardFaults) {
  Stack stack;
  ASSERT_TRUE(stack_allocate(&stack, 64 * 1024, kPage));
  EXPECT_DEATH({ *static_cast<volatile char*>(stack.base - 1) = 1; }, "");
  stack_release(&stack);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winfinite-recursion"
[[maybe_unused]] __attribute__((noinline)) int recurse(int depth) {
  volatile char frame[512];
  frame[0] = static_cast<char>(depth);
  return recurse(depth + 1) + frame[0];
}
#pragma GCC diagnostic pop

TEST_F(StackDeathTest, OverflowOfACoroutineFaults) {
  EXPECT_DEATH(
      {
        test::Coroutine coroutine([](test::Coroutine&) { recurse(0); });
        coroutine.run();
      },
      "");
}

TEST_F(StackTest, ReleasedStackIsReused) {
  Stack stack;
  ASSERT_TRUE(stack_allocate(&stack, 256 * 1024, kPage));
  char* base = stack.base;
  stack_release(&stack);
  EXPECT_EQ(stack_cache_statistics().stacks, 1u);
  Stack other, same, unguarded;
  ASSERT_TRUE(stack_allocate(&other, 512 * 1024, kPage));
  EXPECT_NE(other.base, base);
  ASSERT_TRUE(stack_allocate(&same, 256 * 1024, kPage));
  EXPECT_EQ(same.base, base);
  ASSERT_TRUE(stack_allocate(&unguarded, 256 * 1024, 0));
  EXPECT_EQ(unguarded.guard, 0u);
  for (Stack* each : {&other, &same, &unguarded}) stack_release(each);
  EXPECT_EQ(stack_cache_statistics().stacks, 3u);
}

TEST_F(StackTest, ProtectionsDoNotLeakIntoTheNextUser) {
  Stack stack;
  ASSERT_TRUE(stack_allocate(&stack, 256 * 1024, 0));
  char* base = stack.base;
  ASSERT_EQ(mprotect(base, 4 * kPage, PROT_NONE), 0);
  ASSERT_EQ(mprotect(base + 8 * kPage, kPage, PROT_READ), 0);
  stack_release(&stack);
  ASSERT_TRUE(stack_allocate(&stack, 256 * 1024, 0));
  EXPECT_EQ(stack.base, base);
  std::memset(stack.base, 1, stack.size);
  stack_release(&stack);
}

size_t resident(const Stack& stack) {
  std::vector<unsigned char> present(stack.size / kPage);
  EXPECT_EQ(mincore(stack.base, stack.size, present.data()), 0);
  size_t pages = 0;
  for (unsigned char each : present) pages += each & 1;
  return pages * kPage;
}

TEST_F(StackTest, DeeplyUsedStackGivesItsMemoryBack) {
  Stack stack;
  ASSERT_TRUE(stack_allocate(&stack, 1 << 20, kPage));
  std::memset(stack.base, 1, stack.size);
  Stack copy = stack;
  if (resident(copy) != copy.size) GTEST_SKIP() << "mincore does not tell here";
  stack_release(&stack);
  EXPECT_LE(resident(copy), 32u * 1024);
  EXPECT_LE(stack_cache_statistics().resident_bytes, 32u * 1024);
}

TEST_F(StackTest, FewPagesFarBelowAreKept) {
  Stack stack;
  ASSERT_TRUE(stack_allocate(&stack, 1 << 20, kPage));
  std::memset(stack.base + stack.size - kPage, 1, kPage);
  stack.base[stack.size - 20 * kPage] = 1;
  Stack copy = stack;
  if (resident(copy) != 2 * kPage) GTEST_SKIP() << "mincore does not tell here";
  stack_release(&stack);
  EXPECT_EQ(resident(copy), 2 * kPage);
}

TEST_F(StackTest, TrimKeepsWhatIsAboveTheStackPointer) {
  Stack stack;
  ASSERT_TRUE(stack_allocate(&stack, 1 << 20, kPage));
  std::memset(stack.base, 1, stack.size);
  ASSERT_EQ(mprotect(stack.base, 4 * kPage, PROT_NONE), 0);  // as HotSpot's guard zones
  unsigned char present;
  if (mincore(stack.base, kPage, &present) != 0)
    GTEST_SKIP() << "mincore does not tell of protected pages here (qemu-user)";
  Stack copy = stack;
  char* sp = stack.base + stack.size - 2 * kPage - 300;
  EXPECT_EQ(stack_trim_below(stack, stack.base - 1), 0u);
  EXPECT_EQ(stack_trim_below(stack, stack.base + stack.size + 1), 0u);
  EXPECT_EQ(*sp, 1);
  EXPECT_EQ(stack_trim_below(stack, stack.base + 5 * kPage), 5 * kPage);
  EXPECT_EQ(*sp, 1);
  size_t freed = stack_trim_below(stack, sp);
  EXPECT_EQ(freed, stack.size - 8 * kPage);
  if (resident(copy) > 3 * kPage) GTEST_SKIP() << "mincore does not tell here";
  for (char* p = sp; p < stack.base + stack.size; p++) ASSERT_EQ(*p, 1);
  EXPECT_EQ(stack_trim_below(stack, sp), 0u);
  EXPECT_NE(mprotect(stack.base, 4 * kPage, PROT_READ | PROT_WRITE), -1);
  EXPECT_EQ(stack.base[8 * kPage], 0);
  stack_release(&stack);
}

TEST_F(StackTest, CacheIsBounded) {
  stack_cache_configure({4, size_t{1} << 30});
  std::vector<Stack> stacks(10);
  for (Stack& stack : stacks) ASSERT_TRUE(stack_allocate(&stack, 64 * 1024, kPage));
  for (Stack& stack : stacks) stack_release(&stack);
  EXPECT_EQ(stack_cache_statistics().stacks, 4u);
  stack_cache_configure({100, 40 * 1024});
  stack_cache_trim();
  EXPECT_LE(stack_cache_statistics().resident_bytes, 40u * 1024);
}

TEST_F(StackTest, AnotherSizeMakesRoom) {
  stack_cache_configure({4, size_t{1} << 30});
  std::vector<Stack> stacks(4);
  for (Stack& stack : stacks) ASSERT_TRUE(stack_allocate(&stack, 64 * 1024, kPage));
  Stack wide;
  ASSERT_TRUE(stack_allocate(&wide, 128 * 1024, kPage));
  for (Stack& stack : stacks) stack_release(&stack);
  stack_release(&wide);
  EXPECT_EQ(stack_cache_statistics().stacks, 4u);
  uint64_t hits = stack_cache_statistics().hits;
  ASSERT_TRUE(stack_allocate(&wide, 128 * 1024, kPage));
  EXPECT_EQ(stack_cache_statistics().hits, hits + 1);
  stack_release(&wide);
}

TEST_F(StackTest, ManySizesDoNotBreakTheCache) {
  for (size_t pages = 1; pages <= 40; pages++) {
    Stack stack;
    ASSERT_TRUE(stack_allocate(&stack, pages * kPage, kPage));
    std::memset(stack.base, 1, stack.size);
    stack_release(&stack);
  }
  EXPECT_LE(stack_cache_statistics().stacks, 8u);
}

TEST_F(StackTest, StartsAreSpreadOverTheCacheSets) {
  std::vector<Stack> stacks(256);
  std::set<uintptr_t> sets;
  for (Stack& stack : stacks) {
    ASSERT_TRUE(stack_allocate(&stack, 1 << 20, kPage));
    auto start = reinterpret_cast<uintptr_t>(stack_start(stack));
    auto top = reinterpret_cast<uintptr_t>(stack.base) + stack.size;
    EXPECT_EQ(start % 64, 0u);
    EXPECT_LE(start, top);
    EXPECT_GT(start, top - 512);
    sets.insert(start % 4096 / 64);
  }
  EXPECT_EQ(sets.size(), 8u);
  for (Stack& stack : stacks) stack_release(&stack);
}

}  // namespace
