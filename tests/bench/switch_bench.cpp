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

// A partner that switches straight back, for as long as anybody comes.
template <auto Switch>
struct PingPong {
  Context home{}, partner{};
  uintptr_t tp = thread_pointer();
  Stack stack{};

  PingPong() {
    if (!stack_allocate(&stack, kStackSize, 4096)) abort();
    context_init(&partner, stack_start(stack), entry, this);
  }
  ~PingPong() { stack_release(&stack); }

  static void entry(void* argument, void* user) {
    auto* self = static_cast<PingPong*>(user);
    for (;;) argument = Switch(&self->partner, &self->home, self->tp, argument);
  }
};

template <auto Switch>
void ping_pong(benchmark::State& state) {
  PingPong<Switch> pair;
  uintptr_t partner_tp = pair.tp;
  while (state.KeepRunningBatch(2)) {
    benchmark::DoNotOptimize(Switch(&pair.home, &pair.partner, partner_tp, &pair));
  }
}
void wisp_switch_with_fs(benchmark::State& state) { ping_pong<wisp_switch>(state); }
void wisp_switch_dispatched(benchmark::State& state) { ping_pong<switch_context>(state); }
void wisp_switch_without_fs(benchmark::State& state) { ping_pong<wisp_switch_same_fs>(state); }
#if defined(__x86_64__)
void wisp_switch_by_syscall(benchmark::State& state) { ping_pong<wisp_switch_syscall>(state); }
#endif

void boost_partner(boost_context::transfer_t from) {
  for (;;) {
    write_fs(*static_cast<uintptr_t*>(from.data));
    from = boost_context::jump_fcontext(from.fctx, from.data);
  }
}
void boost_partner_without_fs(boost_context::transfer_t from) {
  for (;;) from = boost_context::jump_fcontext(from.fctx, from.data);
}

template <bool kWriteFs>
void boost_ping_pong(benchmark::State& state) {
  Stack stack;
  if (!stack_allocate(&stack, kStackSize, 4096)) abort();
  uintptr_t tp = thread_pointer();
  boost_context::fcontext_t partner = boost_context::make_fcontext(
      stack_start(stack), kStackSize / 2, kWriteFs ? boost_partner : boost_partner_without_fs);
  while (state.KeepRunningBatch(2)) {
    if (kWriteFs) write_fs(tp);
    partner = boost_context::jump_fcontext(partner, &tp).fctx;
  }
  stack_release(&stack);
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
