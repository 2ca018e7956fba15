// The one handler that the kernel knows: decides whether a signal is for this thread, now, and runs
// the program's handler with the mask kept right on whatever worker it ends. See task_signals.h.
#include <errno.h>
#include <string.h>
#include <ucontext.h>

#include "scheduler/internal.h"
#include "scheduler/own_thread.h"
#include "signal/cpu_timers.h"
#include "signal/internal.h"

namespace wisp {

// False before start and in a forked child, where handlers run as in any program.
static std::atomic<bool> g_live{false};

// One that is blocked ends the process.
constexpr uint64_t kFaults = bit_of(SIGSEGV) | bit_of(SIGBUS) | bit_of(SIGFPE) | bit_of(SIGILL) |
                             bit_of(SIGTRAP) | bit_of(SIGSYS);

static bool is_fault(int sig, const siginfo_t* info) {
  if (info->si_code <= 0) return false;  // sent by somebody
  return (bit_of(sig) & kFaults) != 0;
}

static uint64_t* saved_mask(void* context) {
  return reinterpret_cast<uint64_t*>(&static_cast<ucontext_t*>(context)->uc_sigmask);
}

// The kernel thread's own record of what is deferred on it.
static std::atomic<uint64_t>& deferred_here(ThreadSelf& self) {
  Worker* w =
      self.task != nullptr ? self.task->worker.load(std::memory_order_relaxed) : self.worker;
  return w != nullptr ? w->deferred : self.deferred_signals;
}

static void defer(ThreadSelf& self, int sig, siginfo_t* info, void* context) {
  // Blocked first: with SA_NODEFER it would come back at once.
  kernel::set_signal_mask(kernel::signal_mask() | bit_of(sig));
  long pid = kernel::getpid(), tid = kernel::gettid();
  // To oneself any siginfo may be sent. Out of queue space (RLIMIT_SIGPENDING): without it, then.
  if (kernel::call(SYS_rt_tgsigqueueinfo, pid, tid, sig, reinterpret_cast<long>(info)) != 0)
    kernel::call(SYS_tgkill, pid, tid, sig);
  *saved_mask(context) |= bit_of(sig);
  deferred_here(self).fetch_or(bit_of(sig), std::memory_order_relaxed);
  self.pending_signals.fetch_or(kDeferredMark, std::memory_order_relaxed);
  if (self.task != nullptr) own_thread_has_signal(self.task);
  // It may have looked for signals already, be on its way into the event pump, and not wake up for
  // a second one, which is blocked. In the pump it notices by itself, being interrupted.
  if (self.worker == nullptr) return;
  if (uint32_t part = self.worker->polling.load(std::memory_order_relaxed); part != 0)
    g_poller.load(std::memory_order_relaxed)->interrupt(part - 1);
}

// Put off for a flow that did not block them, on a thread whose flow now does: back to the process,
// of which some other thread may take them.
static void pass_on_blocked(uint64_t bits) {
  for (; bits != 0; bits &= bits - 1) {
    siginfo_t info;
    long sig = take_pending(bits & -bits, &info);
    if (sig <= 0) continue;
    // Refused to all but the main thread for what kill(2) or the kernel has sent (Linux's
    // do_rt_sigqueueinfo compares with the number of the thread): then it comes from ourselves.
    long pid = kernel::getpid();
    if (kernel::call(SYS_rt_sigqueueinfo, pid, sig, reinterpret_cast<long>(&info)) != 0)
      kernel::call(SYS_kill, pid, sig);
  }
}

void release_deferred(ThreadSelf& self) {
  // The word is cleared first: a signal that comes from here on is handled or deferred anew.
  uint64_t bits = deferred_here(self).exchange(0, std::memory_order_relaxed);
  if (bits == 0) return;
  if (self.task != nullptr) {
    pass_on_blocked(bits & self.task->signal_mask);
    kernel::set_signal_mask(self.task->signal_mask);
  } else
    kernel::call(SYS_rt_sigprocmask, SIG_UNBLOCK, reinterpret_cast<long>(&bits), 0, 8);
}

// The child runs on the same thread record, in a process of its own.
static bool vfork_parent(const ThreadSelf& self) { return self.in_vfork && in_scheduler_process(); }

void vfork_child_unblock() {
  ThreadSelf& self = thread_self();
  if (!self.in_vfork || in_scheduler_process()) return;
  uint64_t bits = deferred_here(self).load(std::memory_order_relaxed);
  if (self.task != nullptr) bits &= ~self.task->signal_mask;
  if (bits != 0) kernel::call(SYS_rt_sigprocmask, SIG_UNBLOCK, reinterpret_cast<long>(&bits), 0, 8);
}

static void run_on_task(WispTask* task, const Action* action, int sig, siginfo_t* info,
                        void* context) {
  uint64_t* saved = saved_mask(context);
  uint64_t interrupted = *saved;
  uint64_t outer = task->signal_mask;
  // Blocked here for other flows, or put off just now (sent_take), unless the task blocks it as
  // well.
  uint64_t put_off = task->worker.load(std::memory_order_relaxed)->deferred.load() & ~outer;
  // What the kernel has set while we run. Asked for unless it is plain that all is blocked: inside
  // sigsuspend or ppoll the mask in force was not the one that is saved.
  bool all_blocked = (action->mask | kUnblockable) == ~0ull;
  uint64_t inside = all_blocked ? ~0ull : kernel::signal_mask() & ~(put_off & ~action->mask);
  task->signal_mask = inside & kMaskable;
  task->worker.load(std::memory_order_relaxed)->signal_mask = inside & kMaskable;
  ++task->signal_depth;
  task->handlers_begun.fetch_add(
      (action->flags & SA_RESTART) != 0 ? 1 : WispTask::kOneEndingHandler,
      std::memory_order_relaxed);

  action->handler(sig, info, context);

  --task->signal_depth;
  // From here to the return nothing may come between; the return sets the mask.
  if (!all_blocked) kernel::set_signal_mask(~0ull);
  // The handler may have changed the mask to return to, and may have moved to another worker. If it
  // has not, we return to the very mask that we interrupted: with two signals at once that is the
  // one that the kernel has set for the first one's handler, of which not an instruction has run.
  bool changed = *saved != interrupted;
  uint64_t after = changed ? *saved & ~(put_off & interrupted) & kMaskable : outer;
  Worker* w = task->worker.load(std::memory_order_relaxed);
  task->signal_mask = after;
  w->signal_mask = after;
  *saved = changed ? after : interrupted & ~put_off;
  // The return lets through what was put off: it goes outside the runtime, which the task may not
  // enter again for long.
  if (uint64_t due = w->deferred.exchange(0, std::memory_order_relaxed); due != 0) {
    task->self->pending_signals.fetch_and(~kDeferredMark, std::memory_order_relaxed);
    pass_on_blocked(due & after);
  }
  // What was sent to the task meanwhile and blocked: comes with the return.
  push_to_kernel(task, ~after);
}

// A handler that ends a wait finds what the kernel would show it: a system call that was
// interrupted (signal(7)). Profilers tell threads that sleep from those that run by that
// (async-profiler, StackFrame::checkInterruptedSyscall). What is interrupted in truth is the call
// by which the task sends itself the signal (deliver_one), which does not mind.
static void show_interrupted_wait(WispTask* task, int sig, void* context) {
  if (task->ends_wait != sig) return;
  mcontext_t& at = static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  const unsigned char* next = reinterpret_cast<const unsigned char*>(at.gregs[REG_RIP]);
  bool sending = at.gregs[REG_RAX] == 0 && at.gregs[REG_RDX] == sig &&
                 at.gregs[REG_RDI] == kernel::getpid() && at.gregs[REG_RSI] == kernel::gettid() &&
                 next[-2] == 0x0f && next[-1] == 0x05;  // syscall
  if (sending) at.gregs[REG_RAX] = -EINTR;
#elif defined(__aarch64__)
  constexpr uint32_t kSvc = 0xd4000001;
  bool sending = at.regs[8] == SYS_rt_tgsigqueueinfo && at.regs[0] == 0 &&
                 at.regs[2] == static_cast<uint64_t>(sig) &&
                 reinterpret_cast<const uint32_t*>(at.pc)[-1] == kSvc;
  if (sending) at.regs[0] = static_cast<uint64_t>(-EINTR);
#endif
  task->ends_wait = 0;
}

static WISP_NOINLINE void run_directed(ThreadSelf& self, const Action* action, int sig,
                                       siginfo_t* info, const Sent& sent, void* context) {
  siginfo_t meant;
  as_sent(info, sent, &meant);
  show_interrupted_wait(self.task, sig, context);
  run_on_task(self.task, action, sig, &meant, context);
}

extern "C" void wisp_signal_entry(int sig, siginfo_t* info, void* context) {
  ThreadSelf& self = thread_self();
  // A forked or vforked child, or a thread of the runtime itself.
  if (!g_live.load(std::memory_order_relaxed) || (self.straight != 0 && !vfork_parent(self))) {
    if (const Action* a = action_for_delivery(sig)) a->handler(sig, info, context);
    return;
  }
  WispTask* task = self.task;
  // What came while a vfork waited for its child is delivered by the system call's return, when
  // what the handler calls would still go straight to libc: as inside the runtime, it has to wait.
  bool inside = self.depth.load(std::memory_order_relaxed) != 0 || self.in_vfork;
  if (is_for_task(task, info)) {
    // The bit says for whom it is. Another task than the one meant runs here now, or the right one
    // is inside the runtime: it finds the bit when it leaves.
    if (task == nullptr || inside) return;
    // It was let through with another one, whose handler has run first, by the kernel's order, with
    // this one blocked: a call of ours in there has put it aside (sigsuspend with two pending).
    unhold(self, ~bit_of(sig));
    Sent sent;
    // With more of them it is pending again, and comes when the handler returns.
    if (!sent_take(task, sig, false, &sent)) {
      ++task->stray_signals;
      return;
    }
    if (const Action* a = action_for_delivery(sig)) run_directed(self, a, sig, info, sent, context);
    return;
  }
  siginfo_t meant;
  if (WISP_UNLIKELY(is_cpu_tick(info))) {
    if (task == nullptr) return;
    if (!inside) {
      meant = *info;
      if (!cpu_timer_due(task, sig, &meant)) {
        ++task->stray_signals;
        return;
      }
      info = &meant;
    }
  }
  if (inside && !is_fault(sig, info)) {
    defer(self, sig, info, context);
    return;
  }
  const Action* a = action_for_delivery(sig);
  if (a == nullptr) return;
  // A fault inside the runtime: a bad pointer from the program, or a bug. HotSpot shall report it.
  if (task != nullptr && !inside) {
    run_on_task(task, a, sig, info, context);
    return;
  }
  a->handler(sig, info, context);
  // A waker may be at the word as well.
  uint32_t waiting = kWaiting;
  if (WISP_UNLIKELY(self.compares != nullptr) && task == nullptr)
    self.compares->compare_exchange_strong(waiting, kCompares, std::memory_order_relaxed);
}

void signals_start() {
  actions_start(&wisp_signal_entry);
  g_deliver_signals = &signals_deliver_pending;
  g_live.store(true, std::memory_order_relaxed);
}

// The task's mask, not only the kernel thread's: the fork handlers of libraries that were there
// before ours come in between, and may park.
void signals_before_fork() {
  ThreadSelf& self = thread_self();
  if (self.forks) return;
  uint64_t blocked = kMaskable & ~kFaults;
  if (self.task != nullptr) {
    sigset_t set, old;
    sigemptyset(&set);
    set_word(&set, blocked);
    task_mask_change(self.task, SIG_BLOCK, &set, &old);
    self.mask_before_fork = word_of(&old);
  } else {
    kernel::call(SYS_rt_sigprocmask, SIG_BLOCK, reinterpret_cast<long>(&blocked),
                 reinterpret_cast<long>(&self.mask_before_fork), 8);
  }
  self.forks = true;
}

void signals_after_fork() {
  ThreadSelf& self = thread_self();
  if (!self.forks) return;
  self.forks = false;
  if (self.task != nullptr) {
    sigset_t mask;
    sigemptyset(&mask);
    set_word(&mask, self.mask_before_fork);
    task_mask_change(self.task, SIG_SETMASK, &mask, nullptr);
  } else {
    kernel::set_signal_mask(self.mask_before_fork);
  }
}

void signals_stop() {
  g_live.store(false, std::memory_order_relaxed);
  // What waits for the thread is not for its child (fork(2)). Nothing here is the child's own.
  ThreadSelf& self = thread_self();
  self.pending_signals.store(0, std::memory_order_relaxed);
  self.held_signals.store(0, std::memory_order_relaxed);
  // Deferred ones were the parent's as well, of a task that forked inside the runtime (-XX:OnError)
  // and so without signals_before_fork; nobody here would unblock them.
  WispTask* task = self.task;
  if (!self.forks && task == nullptr) return;
  uint64_t mask = self.forks ? self.mask_before_fork : task->signal_mask;
  self.forks = false;
  if (task != nullptr) task->signal_mask = mask;
  kernel::set_signal_mask(mask);
}

}  // namespace wisp
