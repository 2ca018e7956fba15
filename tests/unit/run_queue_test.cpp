// RunQueue with real threads: what the model checker (tests/model) proves for a few operations is
// here repeated millions of times, on real memory and under TSan. Also its single-threaded
// contract.
#include "scheduler/run_queue.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>
#include <vector>

using wisp::RunQueue;

namespace {

struct Item {
  uint32_t payload = 0;  // plain: written before push, read by who gets it (TSan watches)
};

void one_thread() {
  RunQueue<Item, 8> q;
  std::vector<Item> items(8);
  Item* out[8];
  ASSERT_TRUE(q.empty() && q.pop() == nullptr && q.steal(out, 8) == 0);
  for (int round = 0; round < 100; ++round) {
    for (Item& i : items) ASSERT_TRUE(q.push(&i));
    Item extra;
    ASSERT_TRUE(!q.push(&extra) && q.size() == 8);
    ASSERT_TRUE(q.pop() == &items[0]);  // first in, first out
    ASSERT_TRUE(q.steal(out, 8) == 4 &&
                out[0] == &items[1]);  // half of 7, rounded up, oldest first
    ASSERT_TRUE(out[3] == &items[4]);
    ASSERT_TRUE(q.steal(out, 1) == 1 && out[0] == &items[5]);
    ASSERT_TRUE(q.pop() == &items[6]);
    ASSERT_TRUE(q.steal(out, 8) == 1 && out[0] == &items[7]);  // a lone item can be stolen
    ASSERT_TRUE(q.empty());
  }
}

template <uint32_t Capacity>
void owner_and_thieves(int thieves, uint32_t count) {
  RunQueue<Item, Capacity> q;
  std::vector<Item> items(count);
  std::vector<std::atomic<uint8_t>> taken(count);
  std::atomic<uint32_t> total{0};
  auto take = [&](Item* item) {
    auto index = static_cast<size_t>(item - items.data());
    ASSERT_TRUE(index < count && item->payload == index + 1);
    ASSERT_TRUE(taken[index].fetch_add(1, std::memory_order_relaxed) == 0);
    total.fetch_add(1, std::memory_order_relaxed);
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < thieves; ++i)
    threads.emplace_back([&, i] {
      Item* out[Capacity];
      std::mt19937 rng(static_cast<uint32_t>(i));
      while (total.load(std::memory_order_relaxed) < count) {
        uint32_t n = q.steal(out, 1 + rng() % Capacity);
        for (uint32_t k = 0; k < n; ++k) take(out[k]);
        if (n == 0) std::this_thread::yield();
      }
    });
  std::mt19937 rng(99);
  for (uint32_t next = 0; next < count || total.load(std::memory_order_relaxed) < count;) {
    for (uint32_t n = rng() % (Capacity + 2); n > 0 && next < count; --n) {
      items[next].payload = next + 1;
      if (!q.push(&items[next])) break;
      ++next;
    }
    for (uint32_t n = rng() % (Capacity / 2 + 1) + 1; n > 0; --n) {
      Item* item = q.pop();
      if (item == nullptr) break;
      take(item);
    }
    // On few cores: give the thieves a chance to come in between.
    if (rng() % 64 == 0) std::this_thread::yield();
  }
  for (std::thread& t : threads) t.join();
  ASSERT_TRUE(q.empty());
}

}  // namespace

TEST(RunQueue, OneThread) { one_thread(); }
TEST(RunQueue, OneThiefTinyRing) { owner_and_thieves<2>(1, 200000); }
TEST(RunQueue, ThreeThieves) { owner_and_thieves<4>(3, 200000); }
TEST(RunQueue, TwoThievesRealSize) { owner_and_thieves<256>(2, 500000); }
