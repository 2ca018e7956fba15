// Crews of tasks and kernel threads that do the same thing at the same time.
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <vector>

#include "platform/real.h"
#include "unit/scheduler_fixture.h"

namespace wisp::test {

constexpr int kScale = WISP_SWITCH_FS ? 10 : 1;  // sanitizers are slow

inline timespec from_now(clockid_t clock, long ms) {
  timespec t;
  clock_gettime(clock, &t);
  t.tv_sec += ms / 1000;
  t.tv_nsec += (ms % 1000) * 1000000;
  if (t.tv_nsec >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
  if (t.tv_nsec < 0) t.tv_sec--, t.tv_nsec += 1000000000;
  return t;
}

// Runs f(0) .. f(tasks + threads - 1), the first `tasks` of them as tasks; returns when all are
// done.
inline void run_crew(int tasks, int threads, const std::function<void(int)>& f) {
  real::ensure();
  start_scheduler();
  // Shared by pointer: the last task to count down still reads its latch.
  auto done = std::make_shared<Latch>(static_cast<uint32_t>(tasks));
  for (int i = 0; i < tasks; ++i)
    spawn([&f, i, done] {
      f(i);
      done->count_down();
    });
  std::vector<std::thread> natives;
  for (int i = 0; i < threads; ++i) natives.emplace_back([&f, i, tasks] { f(tasks + i); });
  for (std::thread& t : natives) t.join();
  done->wait();
}

inline void on_task(const std::function<void()>& f) {
  run_crew(1, 0, [&](int) { f(); });
}
inline void on_both_kinds(const std::function<void()>& f) {
  run_crew(0, 1, [&](int) { f(); });
  on_task(f);
}

}  // namespace wisp::test
