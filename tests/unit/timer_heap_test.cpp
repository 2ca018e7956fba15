// TimerHeap against std::multiset: random operations, removal in every position of every small heap
// shape, equal deadlines, and a million timers in the orders that are worst for a pairing heap.
#include "scheduler/timer_heap.h"

#include <gtest/gtest.h>
#include <stdio.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>
#include <set>
#include <vector>

using wisp::TimerHeap;
using wisp::TimerNode;

namespace {

// Walks the whole heap (without recursion: it may be a list) and checks links and order.
size_t check_structure(const TimerHeap& heap) {
  size_t count = 0;
  std::vector<const TimerNode*> todo;
  EXPECT_TRUE(heap.empty() || heap.first()->prev == nullptr);
  for (uint32_t i = 0; i < TimerHeap::kTrees; ++i) {
    const TimerNode* root = heap.tree(i);
    if (root == nullptr) continue;
    EXPECT_TRUE(root->prev == nullptr && root->sibling == nullptr);
    EXPECT_LE(heap.first()->deadline, root->deadline);
    todo.push_back(root);
  }
  while (!todo.empty()) {
    const TimerNode* n = todo.back();
    todo.pop_back();
    ++count;
    EXPECT_TRUE(n->queued);
    const TimerNode* left = n;
    for (const TimerNode* c = n->child; c != nullptr; left = c, c = c->sibling) {
      EXPECT_TRUE(c->prev == left);
      EXPECT_TRUE(c->deadline >= n->deadline);
      todo.push_back(c);
    }
  }
  return count;
}

void random_operations(uint32_t seed, uint64_t deadline_range) {
  std::mt19937 rng(seed);
  TimerHeap heap;
  std::vector<TimerNode> nodes(400);
  std::vector<TimerNode*> in, out;
  for (TimerNode& n : nodes) out.push_back(&n);
  std::multiset<uint64_t> reference;
  auto take = [&](std::vector<TimerNode*>& v) {
    size_t i = rng() % v.size();
    TimerNode* n = v[i];
    v[i] = v.back();
    v.pop_back();
    return n;
  };
  for (int step = 0; step < 4000; ++step) {
    // Phases that mostly fill and phases that mostly empty.
    bool filling = step / 500 % 2 == 0;
    uint32_t dice = rng() % 10;
    if (!out.empty() && dice < (filling ? 6u : 2u)) {
      TimerNode* n = take(out);
      n->deadline = rng() % deadline_range + 1;
      heap.insert(n);
      reference.insert(n->deadline);
      in.push_back(n);
    } else if (!in.empty() && dice < 8) {
      TimerNode* n = take(in);
      heap.remove(n);
      ASSERT_TRUE(!n->queued && n->prev == nullptr && n->child == nullptr && n->sibling == nullptr);
      reference.erase(reference.find(n->deadline));
      out.push_back(n);
    } else {
      uint64_t now = rng() % (deadline_range + 2);
      TimerNode* n = heap.pop_if_due(now);
      bool due = !reference.empty() && *reference.begin() <= now;
      ASSERT_TRUE((n != nullptr) == due);
      if (due) {
        ASSERT_TRUE(!n->queued && n->deadline == *reference.begin());
        reference.erase(reference.begin());
        in.erase(std::find(in.begin(), in.end(), n));
        out.push_back(n);
      }
    }
    ASSERT_TRUE(heap.empty() == reference.empty());
    if (!reference.empty()) {
      ASSERT_TRUE(heap.first()->deadline == *reference.begin());
    }
    if (step % 16 == 0) {
      ASSERT_TRUE(check_structure(heap) == reference.size());
    }
  }
}

// Every insertion order of n nodes x some pops to reshape the heap x removal of every node.
void remove_every_position() {
  for (int n = 1; n <= 6; ++n) {
    std::vector<uint64_t> order;
    for (int i = 1; i <= n; ++i) order.push_back(i / 2 + 1);  // has equal deadlines
    do {
      for (int pops = 0; pops < n; ++pops) {
        for (int victim = 0; victim < n; ++victim) {
          TimerHeap heap;
          std::vector<TimerNode> nodes(n);
          for (int i = 0; i < n; ++i) {
            nodes[i].deadline = order[i];
            heap.insert(&nodes[i]);
          }
          size_t left = n;
          for (int i = 0; i < pops; ++i, --left) heap.pop_if_due(~0ull);
          if (!nodes[victim].queued) continue;
          heap.remove(&nodes[victim]);
          ASSERT_TRUE(check_structure(heap) == --left);
          uint64_t last = 0;
          while (TimerNode* t = heap.pop_if_due(~0ull)) {
            ASSERT_TRUE(t != &nodes[victim] && t->deadline >= last);
            last = t->deadline;
            --left;
          }
          ASSERT_TRUE(left == 0 && heap.empty());
        }
      }
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

void equal_deadlines_come_roughly_in_order() {
  TimerHeap heap;
  std::vector<TimerNode> nodes(1000);
  for (TimerNode& n : nodes) {
    n.deadline = 7;
    heap.insert(&n);
  }
  for (TimerNode& n : nodes) ASSERT_TRUE(heap.pop_if_due(7) == &n);
}

// The longest list of siblings is what the longest single operation walks.
size_t most_children(const TimerHeap& heap) {
  size_t most = 0;
  std::vector<const TimerNode*> todo;
  for (uint32_t i = 0; i < TimerHeap::kTrees; ++i)
    if (heap.tree(i) != nullptr) todo.push_back(heap.tree(i));
  while (!todo.empty()) {
    const TimerNode* n = todo.back();
    todo.pop_back();
    size_t children = 0;
    for (const TimerNode* c = n->child; c != nullptr; c = c->sibling, ++children) todo.push_back(c);
    most = std::max(most, children);
  }
  return most;
}

enum class Order { Rising, Falling, Random, Same };

void a_million(Order order, const char* name) {
  constexpr size_t kCount = 1000000;
  using Clock = std::chrono::steady_clock;
  auto ms = [](Clock::time_point a, Clock::time_point b) {
    return std::chrono::duration<double, std::milli>(b - a).count();
  };
  std::mt19937_64 rng(1);
  auto nodes = std::make_unique<TimerNode[]>(kCount);
  TimerHeap heap;
  auto t0 = Clock::now();
  for (size_t i = 0; i < kCount; ++i) {
    nodes[i].deadline = order == Order::Rising    ? i + 1
                        : order == Order::Falling ? kCount - i
                        : order == Order::Random  ? rng() % kCount + 1
                                                  : 5;
    heap.insert(&nodes[i]);
  }
  EXPECT_LE(most_children(heap), TimerHeap::kFlat + 20);
  auto t1 = Clock::now();
  // Every third is cancelled, as timed waits usually are; the rest fire.
  size_t left = kCount;
  for (size_t i = 0; i < kCount; i += 3, --left) heap.remove(&nodes[i]);
  auto t2 = Clock::now();
  EXPECT_LE(most_children(heap), 2 * TimerHeap::kFlat);
  uint64_t last = 0;
  double slowest = 0;
  for (; left > 0; --left) {
    auto p = Clock::now();
    TimerNode* n = heap.pop_if_due(~0ull);
    slowest = std::max(slowest, ms(p, Clock::now()));
    ASSERT_TRUE(n != nullptr && n->deadline >= last);
    last = n->deadline;
  }
  ASSERT_TRUE(heap.empty());
  printf(
      "1,000,000 timers, %-7s: insert %.0f ms, remove 1/3 %.0f ms, fire 2/3 %.0f ms (slowest "
      "%.2f)\n",
      name, ms(t0, t1), ms(t1, t2), ms(t2, Clock::now()), slowest);
}

}  // namespace

TEST(TimerHeap, RandomOperations) {
  for (uint32_t seed = 1; seed <= 40; ++seed) {
    ASSERT_NO_FATAL_FAILURE(random_operations(seed, seed % 2 ? 1000000 : 20)) << "seed " << seed;
  }
}
TEST(TimerHeap, RemoveEveryPosition) { remove_every_position(); }
TEST(TimerHeap, EqualDeadlinesComeRoughlyInOrder) { equal_deadlines_come_roughly_in_order(); }
TEST(TimerHeap, MillionRising) { a_million(Order::Rising, "rising"); }
TEST(TimerHeap, MillionFalling) { a_million(Order::Falling, "falling"); }
TEST(TimerHeap, MillionRandom) { a_million(Order::Random, "random"); }
TEST(TimerHeap, MillionSame) { a_million(Order::Same, "same"); }
