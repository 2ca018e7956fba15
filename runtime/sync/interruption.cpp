// See interruption.h.
#include "sync/interruption.h"

#include <signal.h>

#include "platform/real.h"
#include "scheduler/task.h"

namespace wisp {

AfterSignal after_signal(const WispTask* task) {
  if (task == nullptr) return AfterSignal::Ends;
  constexpr uint64_t kNoSignals = kDeferredMark | kLoaderMark;
  uint64_t due = task->self->pending_signals.load(std::memory_order_relaxed) & ~task->signal_mask &
                 ~kNoSignals;
  AfterSignal result = AfterSignal::GoesOn;
  for (; due != 0; due &= due - 1) {
    // The kernel's word: our wrapping of handlers leaves this flag and these two values as they
    // are.
    struct sigaction action;
    if (real::sigaction(__builtin_ctzll(due) + 1, nullptr, &action) != 0) continue;
    if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) continue;
    if ((action.sa_flags & SA_RESTART) == 0) return AfterSignal::Ends;
    result = AfterSignal::Restarts;
  }
  return result;
}

}  // namespace wisp
