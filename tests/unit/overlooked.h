// For tests in which SysMonitor sleeps for ever, and nobody but it or another carrier would see
// what is left behind. No passes over stacks in such a program, which would wake it within a
// millisecond.
#pragma once
#include <functional>

#include "scheduler/internal.h"
#include "unit/scheduler_fixture.h"

namespace wisp::test {

constexpr uint64_t kPatience = 20'000'000'000;
[[maybe_unused]] inline const uint32_t g_no_trimming = g_trim_ms = 0;

// For ever, or for longer than any test.
inline bool sysmon_sleeps() {
  return g_sysmon_lazy.load() != 0 && sysmon_wakes_at() > monotonic_ns() + 2 * kPatience;
}

// A task that never gives way; false when it gave up.
inline bool compute_until(const std::function<bool()>& holds) {
  for (uint64_t end = monotonic_ns() + kPatience; monotonic_ns() < end;)
    if (holds()) return true;
  return false;
}

}  // namespace wisp::test
