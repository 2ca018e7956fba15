// Waits in locks that stay libc's (process-shared, robust): its waiters sleep in the kernel. A task
// that slept there with its carrier would keep it from the very task it waits for, so it leaves the
// carrier; and because that costs more than a free lock, the callers try first.
#pragma once
#include "scheduler/scheduler.h"

namespace wisp {

// For tasks and kernel threads; errno is as the call leaves it. Inside the runtime (an allocator's
// lock) a carrier cannot be left.
template <typename F>
inline auto wait_in_kernel(F&& call) {
  if (thread_self().depth.load(std::memory_order_relaxed) != 0) return call();
  BlockingRegion region;
  return call();
}

}  // namespace wisp
