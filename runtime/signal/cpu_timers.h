// POSIX timers on the CPU clock of a task that signal this task: timer_create(2) with
// SIGEV_THREAD_ID. Flight Recorder samples with them (jdk.CPUTimeSample, JDK 25).
//
// The kernel knows no tasks. While such a timer is armed each worker has a timer of the kernel's on
// its own CPU clock, which ticks, and with each tick the task that runs there looks whether one of
// its timers is due: as the kernel does with its threads at each tick of the scheduler. A timer is
// late by a tick of ours at most if its task runs all the time; what it has missed it counts as
// overrun, as the kernel's do.
//
// One signal for all of them: HotSpot uses SIGPROF.
#pragma once
#include <signal.h>
#include <stdint.h>
#include <time.h>

#include "scheduler/task.h"

// glibc does not name it.
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace wisp {

// All may be called by any thread, outside the runtime. They return 0 or an errno, but for
// kNoTasks.

// timer_create(2), if the timer is to signal a task; else kNoTasks. EAGAIN: too many, or no memory.
// EINVAL: another clock than this task's, no such signal, or not the one that others have.
constexpr int kNoTasks = -1;
int cpu_timer_create(clockid_t clock, const sigevent* event, int* timer);
// Whether it is one of ours, by its number, as a timer_t or as the system calls have it. The kernel
// counts from 0, in each process; libc has the kernel's numbers, or pointers, of which it sets the
// sign (SIGEV_THREAD; glibc, timer_routines.h).
constexpr int kFirstCpuTimer = 1 << 30;
inline bool cpu_timer_is(uint64_t timer) { return timer >> 30 == 1; }
// As timer_settime(2), in CPU time of the task. EINVAL: there is no such timer; ESRCH: its task has
// ended.
int cpu_timer_set(int timer, int flags, const itimerspec& value, itimerspec* old);
int cpu_timer_get(int timer, itimerspec* left);
int cpu_timer_overrun(int timer, int* overrun);
int cpu_timer_delete(int timer);

// For the signal's entry, on a kernel stack or a task's: whether that is a worker's tick; and if it
// brings the calling task, which is outside the runtime, a signal of one of its timers, and which.
bool is_cpu_tick(const siginfo_t* info);
bool cpu_timer_due(WispTask* self, int sig, siginfo_t* meant);

}  // namespace wisp
