// See join.h for the states.
#include "sync/join.h"

#include <errno.h>

#include "platform/backoff.h"
#include "scheduler/scheduler.h"
#include "sync/parking_lot.h"

namespace wisp {

bool join_exiting(WispTask* task) {
  uint32_t expected = kJoinable;
  // acq_rel: the joiner's acquire load of Exited sees `result` and all that the task wrote; a
  // detach is seen here.
  if (!task->join_state.compare_exchange_strong(expected, kExited, std::memory_order_acq_rel,
                                                std::memory_order_acquire)) {
    // Detached, which nobody else changes: a join that comes late (a mistake of the program) must
    // not give the task back a second time.
    task->join_state.store(kTaken, std::memory_order_relaxed);
    return true;
  }
  ParkingLot::unpark(&task->join_state, UINT32_MAX);
  return false;
}

// The winner of Exited -> Taken gives the task back. The task may still stand on its stack: it
// announced its end before its last switch.
static int take(WispTask* task, void** result) {
  uint32_t expected = kExited;
  if (!task->join_state.compare_exchange_strong(expected, kTaken, std::memory_order_acq_rel,
                                                std::memory_order_acquire))
    return EINVAL;
  if (result != nullptr) *result = task->result;
  RuntimeEntry entry;
  // acquire: pairs with the release in finish_switch; from 0 on nobody else looks at the task.
  // The ending task needs a processor for a few instructions only, hence the real yield.
  for (Backoff backoff; !task->on_cpu.clear();) backoff.wait();
  task_recycle(task);
  return 0;
}

int join_task(WispTask* task, void** result, uint64_t deadline_ns) {
  if (task == current_task()) return EDEADLK;
  for (;;) {
    uint32_t state = task->join_state.load(std::memory_order_acquire);
    if (state == kExited) return take(task, result);
    if (state != kJoinable) return EINVAL;
    WakeReason why;
    {
      RuntimeEntry entry;  // left in each round: that is where a pending signal is handled
      why = park(&task->join_state, deadline_ns,
                 [&] { return task->join_state.load(std::memory_order_acquire) == kJoinable; });
    }
    if (why == WakeReason::TimedOut &&
        task->join_state.load(std::memory_order_acquire) == kJoinable)
      return ETIMEDOUT;
  }
}

int join_try(WispTask* task, void** result) {
  uint32_t state = task->join_state.load(std::memory_order_acquire);
  if (state == kJoinable || state == kDetached) return EBUSY;  // it runs
  return state == kExited ? take(task, result) : EINVAL;
}

int join_detach(WispTask* task) {
  uint32_t expected = kJoinable;
  // release: join_exiting, which sees Detached, owns the task from there on.
  if (task->join_state.compare_exchange_strong(expected, kDetached, std::memory_order_acq_rel,
                                               std::memory_order_acquire)) {
    RuntimeEntry entry;
    // A joiner that waits already (a mistake of the program) must not sleep for ever.
    ParkingLot::unpark(&task->join_state, UINT32_MAX);
    return 0;
  }
  return expected == kExited ? take(task, nullptr) : EINVAL;
}

}  // namespace wisp
