// Hand-over between two tasks on one carrier (unpark, park, switch), with nobody looking and with
// the trace on: what an observer costs, in one process, by turns
// (--benchmark_repetitions=9 --benchmark_enable_random_interleaving=true).
#include <benchmark/benchmark.h>

#include "observe/trace.h"
#include "scheduler/internal.h"
#include "unit/scheduler_fixture.h"

namespace wisp::test {
namespace {

constexpr uint32_t kRounds = 20'000;

// Two tasks that wake each other `kRounds` times; false: one of them missed a turn.
bool ping_pong() {
  std::atomic<uint32_t> ball{0};
  Latch done(2);
  for (uint32_t side = 0; side < 2; ++side) {
    spawn([&, side] {
      for (uint32_t n = 0; n < kRounds; ++n) {
        RuntimeEntry entry;
        while (ball.load(std::memory_order_relaxed) % 2 != side)
          park(&ball, kForever, [&] { return ball.load() % 2 != side; });
        ball.store(ball.load(std::memory_order_relaxed) + 1);
        ParkingLot::unpark(&ball, 1);
      }
      done.count_down();
    });
  }
  done.wait();
  return ball.load() == 2 * kRounds;
}

void hand_over(benchmark::State& state) {
  start_scheduler();
  auto bytes = static_cast<uint64_t>(state.range(0));
  if (bytes != 0 && !stats::trace_on(bytes)) {
    state.SkipWithError("no memory for the trace");
    return;
  }
  for (auto _ : state) {
    if (!ping_pong()) {
      state.SkipWithError("a turn was missed");
      break;
    }
  }
  stats::trace_off();
  // Seconds per hand-over, printed with an SI prefix.
  state.counters["hand_over"] = benchmark::Counter(
      2.0 * kRounds, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(hand_over)->ArgName("trace_bytes")->Arg(0)->Arg(256 << 10)->Arg(4 << 20)->UseRealTime();

}  // namespace
}  // namespace wisp::test

int main(int argc, char** argv) {
  setenv("WISP_TEST_CARRIERS", "1", 0);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  fflush(stdout);
  _exit(0);  // workers and SysMonitor run for ever
}
