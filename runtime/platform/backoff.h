// Waiting for another thread's few instructions, where parking is not possible. Spins, then gives
// the processor away, then sleeps. The sleep is what makes it end: sched_yield(2) only lets run
// what the kernel considers due. A holder of lower priority never runs beside a yielding real-time
// waiter, and once a waiter of ours that only yielded was on the processor for two minutes while
// kernel threads starved (Linux 6.18; docs/real-software.md).
#pragma once
#include "platform/compiler.h"
#include "platform/kernel.h"

namespace wisp {

class Backoff {
 public:
  void wait() {
    uint32_t round = ++rounds_;
    if (WISP_LIKELY(round % kSpins != 0))
      cpu_pause();
    else if (round / kSpins <= kYields)
      kernel::sched_yield();
    else
      sleep(round / kSpins - kYields);
  }

 private:
  static constexpr uint32_t kSpins = 128;  // some 5 us
  static constexpr uint32_t kYields = 16;
  static WISP_NOINLINE void sleep(uint32_t n) {
    timespec t{0, n < 20 ? 50'000 * static_cast<long>(n) : 1'000'000};
    kernel::call(SYS_nanosleep, reinterpret_cast<long>(&t));
  }
  uint32_t rounds_ = 0;
};

}  // namespace wisp
