// Waiting for the end of a task: pthread_join and its relatives, from tasks and from kernel
// threads. WispTask::join_state is both the state below and the address the joiner parks on.
//
//   from       to         by                       then
//   ---------  ---------  -----------------------  ------------------------------------------------
//   Joinable   Detached   pthread_detach           the task recycles itself when it ends
//   Joinable   Exited     the task, at its end     the task stays until somebody takes it
//   Detached   Taken      the task, at its end     the scheduler recycles it after the last switch
//   Exited     Taken      the joiner (or detach)   it recycles the task; exactly one CAS wins
#pragma once
#include "scheduler/task.h"

namespace wisp {

enum JoinState : uint32_t { kJoinable = 0, kDetached = 1, kExited = 2, kTaken = 3 };

// Before the task becomes ready.
inline void join_init(WispTask* task, bool detached) {
  task->join_state.store(detached ? kDetached : kJoinable, std::memory_order_relaxed);
}

// Outside any RuntimeEntry. deadline_ns: CLOCK_MONOTONIC, kForever = none. 0, EDEADLK (oneself),
// EINVAL (detached, or another joiner took it) or ETIMEDOUT. Signals are handled while it waits.
int join_task(WispTask* task, void** result, uint64_t deadline_ns);
int join_try(WispTask* task, void** result);  // EBUSY while it runs, oneself too
int join_detach(WispTask* task);              // EINVAL when detached already

// On the ending task, inside a RuntimeEntry, result already stored: wakes the joiner. True when
// nobody will ever join, so that the scheduler shall recycle the task once it has left its stack.
bool join_exiting(WispTask* task);

}  // namespace wisp
