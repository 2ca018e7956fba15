// What becomes of a call whose wait a signal has ended, or which a handler has met between its
// steps (signal(7), "Interruption of system calls").
#pragma once
#include <errno.h>

#include "scheduler/scheduler.h"

namespace wisp {

enum class AfterSignal : uint8_t {
  GoesOn,    // no handler has to run: ignored signals, marks of the runtime's own
  Restarts,  // handlers run, all of them with SA_RESTART: a call without a time limit goes on
  Ends,      // EINTR
};

// For a wait that gave WakeReason::Interrupted; to be asked before the RuntimeEntry is left, which
// runs the handlers. Null, a plain kernel thread: Ends, since the kernel itself has decided.
AfterSignal after_signal(const WispTask* task);

// What one call of libc's does in several steps the kernel does in one, which a handler ends
// wherever it comes. Between the steps handlers find no wait to end: so the call looks for them
// before it waits, where signals are put off already. On tasks only.
class HandlersSince {
 public:
  HandlersSince() : task_(current_task()), seen_(now()), strays_seen_(task_->stray_signals) {}
  // What has run since this was made, or asked last.
  AfterSignal take() {
    uint64_t n = now(), before = seen_;
    if (WISP_LIKELY(n == before)) return AfterSignal::GoesOn;
    seen_ = n;
    return (n ^ before) >= WispTask::kOneEndingHandler ? AfterSignal::Ends : AfterSignal::Restarts;
  }
  // No handler has run, and what did interrupt it was meant for another task.
  bool only_strays() {
    uint32_t before = strays_seen_;
    strays_seen_ = task_->stray_signals;
    return take() == AfterSignal::GoesOn && strays_seen_ != before;
  }
  // A look, which leaves them for the next take().
  bool end_call() const { return (now() ^ seen_) >= WispTask::kOneEndingHandler; }

 private:
  // relaxed: the flow that the handlers interrupt is the one that asks.
  uint64_t now() const { return task_->handlers_begun.load(std::memory_order_relaxed); }
  const WispTask* task_;
  uint64_t seen_;
  uint32_t strays_seen_;
};

// Whether a call of the kernel's that failed was ended by a signal that was not this task's: it was
// sent to another one, which has left this kernel thread meanwhile, and the entry has dropped it.
// (Calls that the kernel restarts by itself do not show it.) Leaves errno.
inline bool ended_for_another(HandlersSince& handlers) {
  return errno == EINTR && handlers.only_strays();
}

// Whether a call without any effect so far is to be begun anew. deadline_ns: kForever = no limit.
inline bool begins_anew(AfterSignal after, uint64_t deadline_ns) {
  return after == AfterSignal::GoesOn ||
         (after == AfterSignal::Restarts && deadline_ns == kForever);
}

}  // namespace wisp
