// What the thread family shares with the rest of interpose/ and with jvm/.
#pragma once
#include <pthread.h>

#include "interpose/entry.h"
#include "scheduler/scheduler.h"

namespace wisp {

// Decides about one pthread_create. Null (no JVM layer linked, as in unit tests): never a task.
// `caller` is the return address of pthread_create.
extern bool (*g_make_task)(const void* caller);

// The option stacksize, in bytes; 0: tasks have what was asked for. Set before the first task.
extern size_t g_stack_option;

// A thread that is no task has got this name: how the JVM's own threads make themselves known.
extern void (*g_vm_thread_named)(const char* name);

// Starts the scheduler on the first call; false when it cannot be had (said once on stderr).
extern bool (*g_start_scheduler)();

// The task whose pthread_t, or tid, that is; or null.
inline WispTask* known_task(pthread_t thread) {
  return interposing() && scheduler_running() ? task_of(thread) : nullptr;
}
inline WispTask* known_tid(int tid) {
  return interposing() && scheduler_running() && tid > 0 ? task_of_tid(tid) : nullptr;
}

// System calls by the function syscall(2), in the kernel's numbers, that are about a task where the
// kernel would take the thread it runs on. False: not about one, nothing is done. `result` as the
// kernel's: an error is -errno.
bool scheduling_call(long number, long a, long b, long c, long d, long* result);
bool control_call(int option, long argument, long* result);  // prctl
// Those that change the kernel thread (own_thread.h). False: not such a one, nothing is done.
bool changing_call(const long (&call)[7], long* result);
long capabilities_call(long number, long header, long data);

// Whether a task may be born with the affinity, with the class of these attributes: 0 or an errno.
int affinity_at_birth(const pthread_attr_t* attr);
int class_at_birth(const pthread_attr_t* attr);

// The task's main: first run, start routine, exit hooks, end. The scheduler's g_task_main.
void task_main(WispTask* task);

}  // namespace wisp
