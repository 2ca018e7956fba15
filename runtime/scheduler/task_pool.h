// Where tasks come from and go to. A dead task keeps its stack and thread block for the next one
// of the same stack size (malloc's thread cache and warm pages live there); the pool is bounded,
// beyond that stack and block are freed. WispTask structs themselves are never freed.
#pragma once
#include "scheduler/task.h"

namespace wisp {

// What gettid() says on a task: above every kernel tid (PID_MAX_LIMIT is 2^22), below the pid_max
// that the process is told (interpose/proc_files.cpp), and such that a CPU clock's number has room
// for it and is negative (thread_cpu_clock: below 2^28). So it can stand in lock words, too
// (FUTEX_TID_MASK, 2^30 - 1).
constexpr uint32_t kFirstTaskTid = 1u << 22;
constexpr uint32_t kLastTaskTid = (1u << 24) - 1;

// Where a process begins, by chance: libc knows the owner of a mutex by his tid alone, and two
// processes may have a mutex in common.
extern uint32_t g_first_tid;

// What traces, event logs and observers call a task: 1 for the first tid. `tid` must be a task's.
inline uint32_t task_number(uint32_t tid) {
  constexpr uint32_t kAll = kLastTaskTid - kFirstTaskTid + 1;
  return (tid - g_first_tid + (tid < g_first_tid ? kAll : 0)) + 1;
}

// Once, before the first task.
void choose_first_tid();

// SysMonitor: the stacks of dead tasks that are kept give back what deep calls have left.
void pool_drop_deep();

// For a forked child and for observers' tests.
uint32_t pooled_tasks();

// A number that no living task has (here for tests), until the end.
void give_tid(WispTask* t);
void end_tid(const WispTask* t);

// For tests: where the search for the next one begins.
void next_task_tid(uint32_t tid);

}  // namespace wisp
