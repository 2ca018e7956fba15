// A task's number in the kernel's space of thread ids, which gettid() says and lock words hold.
#pragma once
#include <stdint.h>

namespace wisp {

struct WispTask;

// What gettid() says on a task: above every kernel tid (PID_MAX_LIMIT is 2^22), below the pid_max
// that the process is told (interpose/proc_files.cpp), and such that a CPU clock's number has room
// for it and is negative (thread_cpu_clock: below 2^28). So it can stand in lock words, too
// (FUTEX_TID_MASK, 2^30 - 1).
constexpr uint32_t kFirstTaskTid = 1u << 22;
constexpr uint32_t kLastTaskTid = (1u << 24) - 1;
constexpr uint32_t kTaskTids = kLastTaskTid - kFirstTaskTid + 1;

// Where a process begins, by chance: libc knows the owner of a mutex by his tid alone, and two
// processes may have a mutex in common.
extern uint32_t g_first_tid;

// What traces, event logs and observers call a task: 1 for the first tid. `tid` must be a task's.
inline uint32_t task_number(uint32_t tid) {
  return (tid - g_first_tid + (tid < g_first_tid ? kTaskTids : 0)) + 1;
}

// Once, before the first task.
void choose_first_tid();

// Gives `t` a number that no living task has, until end_tid; task_of_tid (scheduler.h) finds it by
// that. Any thread.
void give_tid(WispTask* t);
void end_tid(const WispTask* t);

// For tests: where the search for the next one begins.
void next_task_tid(uint32_t tid);

}  // namespace wisp
