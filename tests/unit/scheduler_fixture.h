// Runs C++ lambdas as tasks, without preload: what the interposed pthread_create does for Java.
#pragma once
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>

#include "platform/clock.h"
#include "platform/kernel.h"
#include "scheduler/scheduler.h"
#include "sync/join.h"
#include "sync/parking_lot.h"

namespace wisp::test {

inline void task_main(WispTask* t) {
#if WISP_SWITCH_FS
  if (t->block_used)
    thread_block_reset(&t->block);
  else
    thread_block_first_run();
#endif
  void* result = t->start_routine(t->start_argument);
#if WISP_SWITCH_FS
  thread_block_exit_hooks(&t->block);
#endif
  exit_current(t, result);
}

// WISP_TEST_CARRIERS in the environment overrides (default 2), so that one binary covers both.
inline int carriers() {
  const char* n = getenv("WISP_TEST_CARRIERS");
  return n != nullptr ? atoi(n) : 2;
}

// For the main thread: waits until `holds`; false when it does not in time, so that a wake-up that
// was lost fails. Looks often at first, as a wake-up takes microseconds.
inline bool until(const std::function<bool()>& holds, uint64_t patience_ns = 60'000'000'000) {
  uint64_t start = monotonic_ns();
  for (uint64_t now = start; !holds(); now = monotonic_ns()) {
    if (now - start > patience_ns) return false;
    usleep(now - start < 10'000'000 ? 50 : 1000);
  }
  return true;
}

// On a task.
inline void yield() {
  RuntimeEntry entry;
  yield_current(entry.task());
}
template <typename Holds>
void yield_until(Holds&& holds) {
  while (!holds()) yield();
}

// Stacks are trimmed all the time. A program of tests in which SysMonitor has to sleep says so
// before the scheduler starts: 0 is never.
inline uint32_t g_trim_ms = 1;
// Parts of the event pump; 0: by the number of carriers.
inline int g_config_parts = 0;

inline void start_scheduler() {
  static bool started = [] {
    const char* why = nullptr;
    kernel::membarrier_register();
    context_setup();
#if WISP_SWITCH_FS
    if (!thread_block_probe(&why)) {
      fprintf(stderr, "%s\n", why);
      abort();
    }
    thread_block_keep_module(reinterpret_cast<const void*>(&task_main));
#endif
    (void)why;
    g_task_main = task_main;
    g_task_exiting = [](WispTask*) { return true; };
    SchedulerConfig config;
    config.carriers = carriers();
    config.stack_size = 128 * 1024;
    config.trim_ms = g_trim_ms;
    config.pump_parts = g_config_parts;
    return scheduler_start(config);
  }();
  if (!started) abort();
}

inline void* call_function(void* argument) {
  auto* f = static_cast<std::function<void()>*>(argument);
  (*f)();
  delete f;
  return nullptr;
}

inline WispTask* spawn(std::function<void()> f) {
  start_scheduler();
  WispTask* t = nullptr;
  int error = task_create(&t, call_function, new std::function<void()>(std::move(f)), 0, 4096);
  if (error != 0) abort();
  join_init(t, true);
  RuntimeEntry entry;
  ready(t);
  return t;
}

// A counter kernel threads and tasks can wait for.
class Latch {
 public:
  explicit Latch(uint32_t n) : left_(n), open_(n == 0) {}
  void count_down() {
    RuntimeEntry entry;
    if (left_.fetch_sub(1) != 1) return;
    ParkingLot::unpark(&left_, ~0u);
    open_ = true;
  }
  // Not over before that unpark is: the next test may have a word at the same place of its stack,
  // and nobody shall be woken there.
  void wait() {
    while (left_.load() != 0) {
      RuntimeEntry entry;
      park(&left_, kForever, [this] { return left_.load() != 0; });
    }
    while (!open_) kernel::sched_yield();
  }

 private:
  std::atomic<uint32_t> left_;
  std::atomic<bool> open_;
};

}  // namespace wisp::test
