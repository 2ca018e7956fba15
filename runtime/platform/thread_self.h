// The only thread-local of the runtime: one small record per libc-visible thread, whether it is a
// task (its own TLS block) or a plain kernel thread (VM thread, GC, worker). A task's record never
// moves, so a cached address of it stays right wherever the task runs. "My carrier" is NOT here:
// it is reached through the task, because it changes under the task's feet.
#pragma once
#include <atomic>

#include "platform/compiler.h"

namespace wisp {

struct WispTask;
struct Worker;
struct TaskList;

// Bits of pending_signals that are no signal: libc keeps 32 and 33 to itself, no program has them.
constexpr uint64_t kDeferredMark = 1ull << 31;  // signals are deferred on this kernel thread
constexpr uint64_t kLoaderMark = 1ull << 32;    // this thread has called dlopen (interpose/loader)

struct ThreadSelf {
  WispTask* task = nullptr;  // the task whose TLS block this is; null on plain kernel threads
  Worker* worker = nullptr;  // set only in a worker's native record
  // > 0 while the thread is inside the runtime (holds its locks, or is between two stacks). Written
  // only by the owner, with plain stores; read by SysMonitor after a membarrier (see handoff.h) and
  // by signal handlers on the same thread, which then defer the signal.
  std::atomic<uint32_t> depth{0};
  // > 0: interposed functions go straight to libc (a vfork child, the runtime's own kernel
  // threads).
  uint32_t straight = 0;
  // Between the two halves of vfork (interpose/process.cpp), in the parent and in the child.
  bool in_vfork = false;
  // Between the fork handlers before and after, in the parent and in the child: signals are blocked
  // (signals_before_fork), and this is the mask that comes back.
  bool forks = false;
  uint64_t mask_before_fork = 0;
  // Set while this thread polls for events: ready() puts woken tasks here (scheduler/poller.h).
  TaskList* collect = nullptr;
  // JVM_StartThread is running on this thread: the next pthread_create makes a Java thread
  // (jvm/hook.cpp). Owner only.
  bool next_create_is_java = false;
  uint64_t next_java_id = 0;  // of that thread: Thread.getId()
  // Bit (sig-1): a signal waits to be handled when this thread leaves the runtime. Set by
  // pthread_kill (any thread) and by a deferring handler (same thread).
  std::atomic<uint64_t> pending_signals{0};
  // Tasks: what pthread_kill sent while the task's own mask blocked it. Owner only.
  std::atomic<uint64_t> held_signals{0};
  // Plain kernel threads: deferred signals, blocked in the kernel meanwhile
  // (signal/task_signals.h). A worker's, and so a task's, are in Worker::deferred. Owner only.
  std::atomic<uint64_t> deferred_signals{0};
  // Plain kernel threads in a wait that has to compare anew when a handler has run: its
  // Waiter::wake (sync/futex.cpp). Owner only.
  std::atomic<uint32_t>* compares = nullptr;
};

#if WISP_SWITCH_FS
extern __thread ThreadSelf t_self __attribute__((tls_model("initial-exec")));
inline ThreadSelf& thread_self() { return t_self; }
#else
// Under sanitizers tasks share the worker's thread-local: never inlined, so that no address of it
// is kept across a switch.
ThreadSelf& thread_self();
void set_thread_self(ThreadSelf* self);  // at each switch; null = the kernel thread's own
#endif

}  // namespace wisp
