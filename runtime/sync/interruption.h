// What becomes of a call whose wait a signal has ended (signal(7), "Interruption of system calls").
#pragma once
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

// Whether a call without any effect so far is to be begun anew. deadline_ns: kForever = no limit.
inline bool begins_anew(AfterSignal after, uint64_t deadline_ns) {
  return after == AfterSignal::GoesOn ||
         (after == AfterSignal::Restarts && deadline_ns == kForever);
}

}  // namespace wisp
