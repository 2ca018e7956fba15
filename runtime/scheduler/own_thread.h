// Tasks that have to stay on the kernel thread they are on.
//
// The kernel keeps an alternate signal stack (sigaltstack(2)) with the kernel thread. A program
// that sets one counts on finding it again, and nobody else may be put onto it: Go's runtime in a
// shared library gives one to each thread that calls into it, by a system call of its own, and ends
// the process when a signal comes in without it. So while a task's kernel thread has one, the task
// waits as a plain thread does: its carrier goes to others, and the kernel thread sleeps until the
// task is woken. From then on it goes on without a carrier, and its calls on descriptors are
// libc's.
//
// The kernel is asked at each wait, which costs a system call, and only once somebody may have set
// one (own_threads_watch): bit kOwnThreadBit of `observed`.
//
// Another reason is a lock of libc's that the task holds while the program's code runs, and that
// workers need to come up (StaysHere): queued behind them the task would never give it back.
//
// The third is that the program has changed the kernel thread itself (ChangesThread): its
// namespaces, its user for files, what system calls it may make. Nobody else is to run on it, so it
// ends with the task.
#pragma once
#include "scheduler/event_log.h"

namespace wisp {

// From now on tasks may have signal stacks. For the life of the process; any thread, any time.
void own_threads_watch();
inline bool own_threads_watched() { return WISP_UNLIKELY((observed() & kOwnThreadBit) != 0); }

// While it lives the calling task stays on its kernel thread. `self` may be null.
class StaysHere {
 public:
  explicit StaysHere(WispTask* self) : self_(self) {
    if (self != nullptr) ++self->stays_here;
  }
  ~StaysHere() {
    if (self_ != nullptr) --self_->stays_here;
  }
  StaysHere(const StaysHere&) = delete;
  StaysHere& operator=(const StaysHere&) = delete;

 private:
  WispTask* self_;
};

// Around a call of a task's that may change the kernel thread. Its carrier goes to others before:
// no worker is ever made, and no task run, by a changed thread. Outside any RuntimeEntry.
class ChangesThread {
 public:
  explicit ChangesThread(WispTask* self);
  // What the call has done. Unchanged, the task is one like others from its next wait on.
  void over(bool changed);

 private:
  WispTask* self_;
};
// The calling task's is changed. `self` may be null.
bool thread_is_changed(const WispTask* self);

// The calling task has to stay on this kernel thread now.
bool has_signal_stack_now();
inline bool keeps_thread(const WispTask* self) {
  return WISP_UNLIKELY(self->stays_here != 0) || (own_threads_watched() && has_signal_stack_now());
}
// Before `self` queues its waiter: who finds that then knows how to wake it.
void note_own_thread_slow(WispTask* self);
inline void note_own_thread(WispTask* self) {
  if (own_threads_watched() || WISP_UNLIKELY(self->stays_here != 0)) note_own_thread_slow(self);
}
inline bool waits_on_own_thread(const WispTask* task) {
  // relaxed: written before the waiter was queued, and who wakes it has held that bucket's lock.
  return own_threads_watched() && task->own_thread.load(std::memory_order_relaxed);
}

// Outside the runtime, before a call that may block: true if the calling task has to stay here.
// Then it has no carrier any more, and calls what it likes as a plain thread.
bool leave_for_own_thread(WispTask* self);
inline bool goes_on_alone(WispTask* self) {
  return own_threads_watched() && leave_for_own_thread(self);
}

// In place of leaving the stack. deadline_ns: CLOCK_MONOTONIC, 0 = none; what it ends with stands
// in the task's waiter, as after a park.
void wait_on_own_thread(WispTask* self, uint64_t deadline_ns);
// In place of queueing it. The task has been taken out of the parking lot.
void wake_on_own_thread(WispTask* task);
// A signal was put off on the calling task's kernel thread: it may be about to sleep there.
void own_thread_has_signal(WispTask* self);
void yield_on_own_thread(WispTask* self);
// The task ends: nothing of it stays with the kernel thread.
void own_thread_over(WispTask* self);

}  // namespace wisp
