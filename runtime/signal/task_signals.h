// Signals and tasks. The kernel delivers to kernel threads; this layer makes that look right:
//
// - Deferral. A signal that arrives while the thread is inside the runtime (ThreadSelf::depth > 0:
//   it may hold our locks, or stand between two stacks) is put back: sent again to the same kernel
//   thread and blocked there, so that the kernel keeps it, siginfo and all. Who next leaves the
//   runtime on that kernel thread unblocks it. No storage, no limit of ours. Faults are not
//   deferred.
// - Handlers. On a task, a handler's signal mask is the task's, not the worker's: HotSpot takes VM
//   locks in its SIGSEGV handler, and the task may park there and go on elsewhere.
// - pthread_kill to a task: a bit in its ThreadSelf::pending_signals. Whoever runs the task, now or
//   next, handles it (signal_task). Values, and how many real-time ones: sent.h.
//
// Bits of pending_signals that are no signal of a program (libc keeps 32 and 33 to itself):
// kDeferredMark, kLoaderMark (platform/thread_self.h).
#pragma once
#include <signal.h>

#include "platform/cleanup.h"
#include "scheduler/scheduler.h"

namespace wisp {

// From the constructor: wraps handlers from here on and installs g_deliver_signals.
void signals_start();
// Once, when the workers are there: setuid and its like, called by any thread, reach them
// (setxid.cpp). Leaves other C libraries than glibc alone.
void setxid_start();
// Around each fork, in libc's fork handlers. A child begins without what waits for its parent's
// thread, but what comes to itself in its first microseconds it has to get: those signals wait in
// the kernel, until it is a process without tasks.
void signals_before_fork();
// In the parent; and in a child that goes on as it does.
void signals_after_fork();
// In any other child, at the end of all that it has to do: handlers run as in any program.
void signals_stop();

// Whether the kernel lets a thread send a signal with a mark of ours to another (signal_task does);
// a seccomp profile may refuse it.
bool signals_can_be_directed();
struct Sent;
// pthread_kill on a task, or (with what it brings along) pthread_sigqueue: 0, EINVAL, or ESRCH for
// a dead one.
int signal_task(WispTask* task, int sig, const Sent* sent = nullptr);

// What g_deliver_signals is: handles all that is pending and not blocked for the calling thread,
// whose depth is 0.
void signals_deliver_pending(ThreadSelf& self);

// pthread_sigmask on the calling task. 0 or EINVAL.
int task_mask_change(WispTask* task, int how, const sigset_t* set, sigset_t* old);

// --- for the waiting calls (sigsuspend, sigtimedwait)
// While it lives signals of `which` that are for the task go to its kernel thread, though its mask
// blocks them: a call in between finds them there. Each is sent there once, and what the call
// leaves is taken back: behind a mask that lets it through a copy would still do what the signal
// does without a handler. Outside any RuntimeEntry; the task stays on its kernel thread meanwhile.
// Nests: a handler that runs in the call may wait so itself.
class AwaitsSignals {
 public:
  AwaitsSignals(WispTask* task, uint64_t which);
  ~AwaitsSignals() { end(); }
  AwaitsSignals(const AwaitsSignals&) = delete;
  AwaitsSignals& operator=(const AwaitsSignals&) = delete;

  // The call is made once more, since nothing that ended it was for the task. A sender may have
  // been late: a signal that a handler had taken already was sent all the same, and what is sent
  // counts as on its way. So all that waits for the task is sent again.
  void again();

 private:
  void offer();
  void end();
  WispTask* task_;
  const uint64_t which_;
  uint64_t outer_awaited_, outer_sent_;
  Cleanup given_up_;  // by a handler that jumps out of the call
};
// Sends to the calling kernel thread every signal of `which` that waits for the task: a call that
// unblocks or collects signals in the kernel then finds it there. Which there were.
uint64_t push_to_kernel(WispTask* task, uint64_t which);
// A signal collected from the kernel by a waiting call: true if it is for this task (then *info, if
// given, is what the sender meant), false if it was meant for a task that has moved on.
bool collect(WispTask* task, int sig, siginfo_t* info);
// Behind a call of the calling task that ended with EPIPE: the kernel has sent SIGPIPE to its
// kernel thread. Blocked by the task it becomes the task's own; left there, whoever ran there next
// would have it, which ends a process without a handler. Outside the runtime, before anything that
// may switch. Keeps errno.
void keep_pipe_signal();
// Signals waiting for the task that its mask blocks, for sigpending.
uint64_t held_signals(WispTask* task);

// In a vfork child, before it executes something: gives back signals that its parent had put off in
// the moment before, which the child would keep blocked for good. Elsewhere nothing.
void vfork_child_unblock();

// After a dlopen of this thread (interpose/loader.cpp); called with depth 0.
extern void (*g_after_dlopen)();

}  // namespace wisp
