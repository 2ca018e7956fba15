// Cost of the coroutine layer's operations, with Boost.Context's bare jump plus one write of the fs
// base as the yardstick for the switch. One iteration of a switch benchmark is ONE switch.
//   build/bin/wisp_switch_bench --benchmark_repetitions=9 --benchmark_report_aggregates_only=true
#include <benchmark/benchmark.h>

#include <boost/context/detail/fcontext.hpp>
#include <cstring>
#include <memory>
#include <vector>

#include "coroutine/context.h"
#include "coroutine/stack.h"
#include "coroutine/thread_block.h"

using namespace wisp;
namespace boost_context = boost::context::detail;

namespace {

constexpr size_t kStackSize = 256 * 1024;

void write_fs(uintptr_t tp) {
#if defined(__x86_64__)
  asm volatile("wrfsbase %0" ::"r"(tp) : "memory");
#elif defined(__aarch64__)
  asm volatile("msr tpidr_el0, %0" ::"r"(tp) : "memory");
#endif
}

constexpr int kHome = 2;
constexpr long kBatch = 1000;

// Two coroutines that switch to and fro kBatch times, then home. Both run the same code, as tasks
// do: they all leave and come back in the scheduler's switch_out.
template <auto Switch>
struct Pair {
  struct Side {
    Pair* pair;
    int me;
  };
  Context contexts[3] = {};
  Side sides[2] = {{this, 0}, {this, 1}};
  Stack stacks[2] = {};
  uintptr_t tp = thread_pointer();
  long left = 0;

  Pair() {
    for (int i = 0; i < 2; i++) {
      if (!stack_allocate(&stacks[i], kStackSize, 4096)) abort();
      context_init(&contexts[i], stack_start(stacks[i]), entry, &sides[i]);
    }
  }
  ~Pair() {
    for (Stack& stack : stacks) stack_release(&stack);
  }
  static void entry(void*, void* user) {
    auto* side = static_cast<Side*>(user);
    Pair& pair = *side->pair;
    for (;;) {
      int to = --pair.left > 0 ? 1 - side->me : kHome;
      Switch(&pair.contexts[side->me], &pair.contexts[to], pair.tp, nullptr);
    }
  }
};

template <auto Switch>
void ping_pong(benchmark::State& state) {
  Pair<Switch> pair;
  while (state.KeepRunningBatch(kBatch)) {
    pair.left = kBatch - 1;
    Switch(&pair.contexts[kHome], &pair.contexts[0], pair.tp, nullptr);
    if (pair.left != 0) state.SkipWithError("a switch went elsewhere");
  }
}
void wisp_switch_with_fs(benchmark::State& state) { ping_pong<wisp_switch>(state); }
void wisp_switch_dispatched(benchmark::State& state) { ping_pong<switch_context>(state); }
void wisp_switch_without_fs(benchmark::State& state) { ping_pong<wisp_switch_same_fs>(state); }
#if defined(__x86_64__)
void wisp_switch_by_syscall(benchmark::State& state) { ping_pong<wisp_switch_syscall>(state); }
#endif

template <bool kWriteFs>
struct BoostPair {
  boost_context::fcontext_t contexts[3] = {};
  Stack stacks[2] = {};
  uintptr_t tp = thread_pointer();
  long left = 0;
  int from = kHome;

  BoostPair() {
    for (int i = 0; i < 2; i++) {
      if (!stack_allocate(&stacks[i], kStackSize, 4096)) abort();
      contexts[i] = boost_context::make_fcontext(stack_start(stacks[i]), kStackSize / 2,
                                                 i == 0 ? entry<0> : entry<1>);
    }
  }
  ~BoostPair() {
    for (Stack& stack : stacks) stack_release(&stack);
  }
  // A jump tells whoever comes back which context it has left.
  void jump(int me, int to) {
    from = me;
    if (kWriteFs) write_fs(tp);
    boost_context::fcontext_t left_context = boost_context::jump_fcontext(contexts[to], this).fctx;
    contexts[from] = left_context;
  }
  static void loop(BoostPair& pair, int me) {
    for (;;) pair.jump(me, --pair.left > 0 ? 1 - me : kHome);
  }
  template <int kMe>
  static void entry(boost_context::transfer_t first) {
    auto& pair = *static_cast<BoostPair*>(first.data);
    pair.contexts[pair.from] = first.fctx;
    loop(pair, kMe);
  }
};

template <bool kWriteFs>
void boost_ping_pong(benchmark::State& state) {
  BoostPair<kWriteFs> pair;
  while (state.KeepRunningBatch(kBatch)) {
    pair.left = kBatch - 1;
    pair.jump(kHome, 0);
    if (pair.left != 0) state.SkipWithError("a jump went elsewhere");
  }
}
void boost_jump_with_fs(benchmark::State& state) { boost_ping_pong<true>(state); }
void boost_jump_without_fs(benchmark::State& state) { boost_ping_pong<false>(state); }

BENCHMARK(boost_jump_with_fs);
BENCHMARK(wisp_switch_with_fs);
BENCHMARK(wisp_switch_dispatched);
BENCHMARK(boost_jump_without_fs);
BENCHMARK(wisp_switch_without_fs);
#if defined(__x86_64__)
BENCHMARK(wisp_switch_by_syscall);
#endif

// A ring of coroutines, each with a frame of some cache lines: what colouring is for.
struct Ring {
  struct Member {
    Context context;
    Stack stack;
    Ring* ring;
    size_t index;
  };
  Context home{};
  std::vector<Member> members;
  bool stop = false;

  static void entry(void*, void* user) {
    auto* self = static_cast<Member*>(user);
    for (;;) {
      volatile char frame[512];
      for (size_t i = 0; i < sizeof frame; i += 64) frame[i] = 1;
      Ring& ring = *self->ring;
      size_t next = self->index + 1;
      Context* to = next == ring.members.size() ? &ring.home : &ring.members[next].context;
      wisp_switch_same_fs(&self->context, to, 0, nullptr);
    }
  }
  Ring(size_t count, bool coloured) : members(count) {
    for (size_t i = 0; i < count; i++) {
      Member& member = members[i];
      if (!stack_allocate(&member.stack, kStackSize, 4096)) abort();
      member.ring = this;
      member.index = i;
      void* top = coloured ? stack_start(member.stack) : member.stack.base + member.stack.size;
      context_init(&member.context, top, entry, &member);
    }
  }
  ~Ring() {
    for (Member& member : members) stack_release(&member.stack);
  }
};

void ring_of_coroutines(benchmark::State& state) {
  Ring ring(static_cast<size_t>(state.range(0)), state.range(1) != 0);
  while (state.KeepRunningBatch(state.range(0) + 1)) {
    wisp_switch_same_fs(&ring.home, &ring.members[0].context, 0, nullptr);
  }
}
BENCHMARK(ring_of_coroutines)
    ->ArgNames({"coroutines", "coloured"})
    ->ArgsProduct({{16, 64, 256, 1024}, {0, 1}});

void stack_from_cache(benchmark::State& state) {
  for (auto _ : state) {
    Stack stack;
    if (!stack_allocate(&stack, 1 << 20, 4096)) abort();
    stack.base[stack.size - 100] = 1;
    stack_release(&stack);
  }
}
BENCHMARK(stack_from_cache);

void stack_from_kernel(benchmark::State& state) {
  stack_cache_configure({0, 0});
  for (auto _ : state) {
    Stack stack;
    if (!stack_allocate(&stack, 1 << 20, 4096)) abort();
    stack.base[stack.size - 100] = 1;
    stack_release(&stack);
  }
  stack_cache_configure({});
}
BENCHMARK(stack_from_kernel);

void block_create_destroy(benchmark::State& state) {
  for (auto _ : state) {
    ThreadBlock block;
    if (!thread_block_create(&block, 12345)) abort();
    thread_block_destroy(&block);
  }
}
BENCHMARK(block_create_destroy);

// What a recycled block costs between two threads: exit hooks of one, reset for the next.
template <bool kReset>
void block_on_task(benchmark::State& state) {
  struct Job {
    Context home{}, task{};
    ThreadBlock block;
    uintptr_t home_tp = thread_pointer();
    static void entry(void*, void* user) {
      auto* job = static_cast<Job*>(user);
      thread_block_first_run();
      for (;;) {
        switch_context(&job->task, &job->home, job->home_tp, nullptr);
        if (kReset) {
          thread_block_exit_hooks(&job->block);
          thread_block_reset(&job->block);
        }
      }
    }
  } job;
  Stack stack;
  if (!stack_allocate(&stack, kStackSize, 4096)) abort();
  if (!thread_block_create(&job.block, 54321)) abort();
  context_init(&job.task, stack_start(stack), Job::entry, &job);
  switch_context(&job.home, &job.task, job.block.tp, nullptr);
  for (auto _ : state) switch_context(&job.home, &job.task, job.block.tp, nullptr);
  thread_block_destroy(&job.block);
  stack_release(&stack);
}
void block_round_trip(benchmark::State& state) { block_on_task<false>(state); }
void block_round_trip_exit_and_reset(benchmark::State& state) { block_on_task<true>(state); }
BENCHMARK(block_round_trip);
BENCHMARK(block_round_trip_exit_and_reset);

}  // namespace

int main(int argc, char** argv) {
  context_setup();
  const char* why = nullptr;
  if (!thread_block_probe(&why)) {
    fprintf(stderr, "thread blocks are not usable: %s\n", why);
    return 1;
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
