// Cost of the scheduler's queues as they fill: a carrier's timers with up to 1,000,000 pending, and
// its run queue, alone and with a thief. Every benchmark checks what came out and reports an error,
// not a figure, when it is wrong.
#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "scheduler/run_queue.h"
#include "scheduler/timer_heap.h"

using wisp::RunQueue;
using wisp::TimerHeap;
using wisp::TimerNode;

namespace {

constexpr uint64_t kSpan = 60'000'000'000;  // deadlines within a minute, in ns

// `pending` timers at random deadlines, and some spare nodes.
struct Pending {
  std::mt19937_64 random{42};
  std::vector<TimerNode> nodes;
  TimerHeap heap;

  explicit Pending(size_t pending, size_t spare) : nodes(pending + spare) {
    for (size_t i = 0; i < pending; i++) insert(&nodes[i]);
  }
  // A pairing heap just filled is one flat list, and the first removals pay for putting it in
  // order.
  void settle() {
    for (int i = 0; i < 5000; i++) insert(heap.pop_if_due(UINT64_MAX));
  }
  void insert(TimerNode* node) {
    node->deadline = random() % kSpan;
    heap.insert(node);
  }
  // Empties the heap; false when the order is wrong or a timer is lost.
  bool drains_in_order(size_t expected) {
    uint64_t last = 0;
    size_t count = 0;
    while (TimerNode* node = heap.pop_if_due(UINT64_MAX)) {
      if (node->deadline < last) return false;
      last = node->deadline;
      count++;
    }
    return count == expected && heap.empty();
  }
};

// The usual life of a timed wait: entered, and removed because the wake-up came first.
void timer_enter_and_cancel(benchmark::State& state) {
  auto pending = static_cast<size_t>(state.range(0));
  constexpr size_t kSpare = 64;
  Pending timers(pending, kSpare);
  size_t next = 0;
  for (auto _ : state) {
    TimerNode* node = &timers.nodes[pending + next];
    if (node->queued) timers.heap.remove(node);
    timers.insert(node);
    next = (next + 1) % kSpare;
  }
  size_t queued = 0;
  for (TimerNode& node : timers.nodes) queued += node.queued ? 1 : 0;
  if (!timers.drains_in_order(queued)) state.SkipWithError("timers lost or out of order");
}

// The earliest one expires and is entered again, as a periodic sleep.
void timer_expire_and_enter(benchmark::State& state) {
  auto pending = static_cast<size_t>(state.range(0));
  Pending timers(pending, 0);
  timers.settle();
  uint64_t last = 0;
  for (auto _ : state) {
    TimerNode* node = timers.heap.pop_if_due(UINT64_MAX);
    if (node == nullptr || node->deadline < last) {
      state.SkipWithError("a timer lost or out of order");
      return;
    }
    last = node->deadline;
    node->deadline = last + 1 + timers.random() % kSpan;
    timers.heap.insert(node);
  }
  if (!timers.drains_in_order(pending)) state.SkipWithError("timers lost or out of order");
}

// The worst single operation: the first expiry after so many were entered and none removed.
void timer_first_expiry(benchmark::State& state) {
  auto pending = static_cast<size_t>(state.range(0));
  // Outside the loop: to free a million timers takes milliseconds, which are not to be counted.
  Pending timers(pending, 0);
  for (auto _ : state) {
    TimerNode* node = timers.heap.pop_if_due(UINT64_MAX);
    benchmark::DoNotOptimize(node);
    state.PauseTiming();
    if (node == nullptr || !timers.drains_in_order(pending - 1))
      state.SkipWithError("timers lost or out of order");
    state.ResumeTiming();
  }
}

void timer_sizes(benchmark::internal::Benchmark* benchmark) {
  for (int64_t pending : {1'000, 100'000, 1'000'000}) benchmark->Arg(pending);
}
// A fixed number: the framework would fill and empty the heap again for each guess at one.
BENCHMARK(timer_enter_and_cancel)->Arg(0)->Apply(timer_sizes)->Iterations(2'000'000);
BENCHMARK(timer_expire_and_enter)->Apply(timer_sizes)->Iterations(50'000);
BENCHMARK(timer_first_expiry)->Apply(timer_sizes)->Iterations(1);

constexpr uint32_t kRing = 256;

// One iteration is a push and a pop, with `queued` items before it.
void run_queue_push_and_pop(benchmark::State& state) {
  auto queued = static_cast<uint32_t>(state.range(0));
  std::vector<int> items(kRing);
  RunQueue<int, kRing> queue;
  for (uint32_t i = 0; i < queued; i++) queue.push(&items[i]);
  uint32_t in = queued, out = 0;
  for (auto _ : state) {
    bool pushed = queue.push(&items[in++ % kRing]);
    if (!pushed || queue.pop() != &items[out++ % kRing]) {
      state.SkipWithError("an item lost or out of order");
      return;
    }
  }
  if (queue.size() != queued) state.SkipWithError("items lost");
}
BENCHMARK(run_queue_push_and_pop)->Arg(0)->Arg(255);

// A thief takes half of a full ring, the owner fills it again: per item.
void run_queue_steal_half(benchmark::State& state) {
  std::vector<int> items(kRing);
  RunQueue<int, kRing> queue;
  for (int& item : items) queue.push(&item);
  int* taken[kRing];
  while (state.KeepRunningBatch(kRing / 2)) {
    uint32_t count = queue.steal(taken, kRing);
    bool complete = count == kRing / 2;
    for (uint32_t i = 0; complete && i < count; i++) complete = queue.push(taken[i]);
    if (!complete) {
      state.SkipWithError("items lost");
      return;
    }
  }
}
BENCHMARK(run_queue_steal_half);

}  // namespace

BENCHMARK_MAIN();
