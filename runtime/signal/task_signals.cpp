// pthread_kill for tasks, delivery on leaving the runtime, and the task's signal mask.
//
// Memory order. Sender: pending bit, membarrier, then is the task queued (parking lot), then on
// which worker it is. Task: queues its waiter, then reads the bit (ParkingLot::wait); is given a
// worker, runs, then reads the bit on leaving. The membarrier stands for the full fences on the
// task's side: either the sender sees where the task is and interrupts it there, or the task sees
// the bit.
#include "signal/task_signals.h"

#include <errno.h>
#include <string.h>

#include "platform/kernel.h"
#include "scheduler/carrier.h"
#include "signal/internal.h"
#include "sync/parking_lot.h"

namespace wisp {

void (*g_after_dlopen)() = nullptr;

static char g_magic;  // its address is the value that marks our own signals

// A signal sent by signal_task: queued with a value of ours, since only SI_QUEUE and the like may
// be sent to another thread (rt_tgsigqueueinfo(2)).
static bool is_directed(const siginfo_t* info) {
  return info->si_code == SI_QUEUE && info->si_value.sival_ptr == &g_magic;
}

bool is_for_task(const WispTask* task, const siginfo_t* info) {
  if (WISP_LIKELY(is_directed(info))) return true;
  if (WISP_LIKELY(info->si_code != SI_USER || info->si_pid != 0) || task == nullptr) return false;
  return info->si_signo > 0 && (waiting_signals(*task->self) & bit_of(info->si_signo)) != 0;
}

void as_sent(const siginfo_t* info, const Sent& sent, siginfo_t* meant) {
  memset(meant, 0, sizeof *meant);
  meant->si_signo = info->si_signo;
  meant->si_code = sent.code;
  meant->si_pid = info->si_pid;
  meant->si_uid = info->si_uid;
  meant->si_value = sent.value;
}

static long send_to_thread(long tid, int sig, const Sent& what) {
  siginfo_t info;
  memset(&info, 0, sizeof info);
  info.si_signo = sig;
  info.si_code = what.code;
  info.si_pid = kernel::getpid();
  info.si_uid = static_cast<uid_t>(kernel::call(SYS_getuid));
  info.si_value = what.value;
  return kernel::call(SYS_rt_tgsigqueueinfo, info.si_pid, tid, sig, reinterpret_cast<long>(&info));
}

// sig 0: whether it could be sent.
static long send_directed(int tid, int sig) {
  return send_to_thread(tid, sig, Sent{SI_QUEUE, {.sival_ptr = &g_magic}});
}

bool signals_can_be_directed() { return send_directed(static_cast<int>(kernel::gettid()), 0) == 0; }

void unhold(ThreadSelf& self, uint64_t mask) {
  uint64_t freed = self.held_signals.load(std::memory_order_relaxed) & ~mask;
  if (freed == 0) return;
  self.held_signals.fetch_and(~freed, std::memory_order_relaxed);
  self.pending_signals.fetch_or(freed, std::memory_order_relaxed);
}

long take_pending(uint64_t set, siginfo_t* info) {
  timespec none{0, 0};
  return kernel::call(SYS_rt_sigtimedwait, reinterpret_cast<long>(&set),
                      reinterpret_cast<long>(info), reinterpret_cast<long>(&none), 8);
}

// A leaf. The sender's look at what is awaited and its sending are one step: nothing arrives after
// the end.
static SpinLock g_await_lock;

static void send_awaited(WispTask* task, int sig) {
  SpinGuard guard(g_await_lock);
  if ((task->awaited_signals & ~task->sent_signals & bit_of(sig)) == 0) return;
  // Taken already: the task was quicker than its sender.
  if ((waiting_signals(*task->self) & bit_of(sig)) == 0) return;
  task->sent_signals |= bit_of(sig);
  send_directed(task->worker.load(std::memory_order_relaxed)->tid.load(std::memory_order_relaxed),
                sig);
}

AwaitsSignals::AwaitsSignals(WispTask* task, uint64_t which) : task_(task), which_(which) {
  {
    RuntimeEntry entry;
    SpinGuard guard(g_await_lock);
    outer_awaited_ = task->awaited_signals;
    outer_sent_ = task->sent_signals;
    task->awaited_signals = which;
    task->sent_signals = 0;
    offer();
    given_up_.begin([](void* self) { static_cast<AwaitsSignals*>(self)->end(); }, this);
  }
  // Leaving the runtime has put them aside, as blocked; the handler wants to find them pending.
  unhold(*task->self, ~which);
}

// Under the lock: who has set its bit before finds it awaited, or its bit is found here.
void AwaitsSignals::offer() { task_->sent_signals |= push_to_kernel(task_, which_); }

void AwaitsSignals::again() {
  {
    RuntimeEntry entry;
    SpinGuard guard(g_await_lock);
    offer();
  }
  unhold(*task_->self, ~which_);
}

void AwaitsSignals::end() {
  uint64_t left;
  {
    RuntimeEntry entry;
    given_up_.end();
    SpinGuard guard(g_await_lock);
    left = task_->sent_signals;
    task_->awaited_signals = outer_awaited_;
    task_->sent_signals = outer_sent_;
  }
  for (; left != 0; left &= left - 1) {
    siginfo_t info{};
    long sig = take_pending(left & -left, &info);
    // The process's own of that number: back to where it was.
    if (sig > 0 && !is_for_task(task_, &info)) kernel::call(SYS_kill, kernel::getpid(), sig);
  }
}

// By a child's thread to itself, before the child knows that it is one (fork handlers of libraries
// that were there before ours): as what waits for the task it would be taken for its parent's.
static int signal_child(int sig, const Sent* sent) {
  return static_cast<int>(-send_to_thread(kernel::gettid(), sig, sent != nullptr ? *sent : Sent{}));
}

int signal_task(WispTask* task, int sig, const Sent* sent) {
  if (sig < 0 || sig > kSignals || sig == 32 || sig == 33) return EINVAL;
  if (task->state.load(std::memory_order_relaxed) == TaskState::Dead) return ESRCH;
  if (sig == 0) return 0;
  if (WISP_UNLIKELY(thread_self().forks) && !in_scheduler_process()) return signal_child(sig, sent);
  RuntimeEntry entry;  // to oneself: handled when this ends, before pthread_kill returns
  sent_add(task, sig, sent);
  if (task == entry.task()) return 0;
  kernel::membarrier();
  // Blocked: it stays where it is. A task that unblocks it right now looks at the bit afterwards.
  if ((task->signal_mask & bit_of(sig)) != 0) {
    send_awaited(task, sig);
    return 0;
  }
  ParkingLot::interrupt(task);
  // Running, perhaps in a system call: the kernel interrupts it there. If the task has moved on by
  // then, the entry drops the signal, since the bit is not that other task's. It may have been
  // handled already. (Without its siginfo it would be taken for another: is_for_task.)
  Worker* w = task->worker.load(std::memory_order_relaxed);
  bool waits = (task->self->pending_signals.load(std::memory_order_relaxed) & bit_of(sig)) != 0;
  if (w != nullptr && waits) send_directed(w->tid.load(std::memory_order_relaxed), sig);
  return 0;
}

// Sends one pending signal to ourselves; its handler has run when this returns.
static void deliver_one(ThreadSelf& self, int sig) {
  WakeReason& reason = self.task->waiter.reason;
  self.task->ends_wait = reason == WakeReason::Interrupted ? sig : 0;
  reason = WakeReason::Unparked;  // the next signal interrupts none
  for (int attempt = 0; attempt < 8;) {
    uint64_t begun = self.task->handlers_begun.load(std::memory_order_relaxed);
    // Other handlers may run before the two calls and move us to another worker, where the signal
    // is then not found: once more.
    long r = send_directed(kernel::gettid(), sig);
    if ((self.pending_signals.load(std::memory_order_relaxed) & bit_of(sig)) == 0) return;
    if (r != 0 && r != -EINTR) {  // no queue space: the plain kind needs none
      Sent lost;
      sent_take(self.task, sig, false, &lost);
      kernel::call(SYS_tgkill, kernel::getpid(), kernel::gettid(), sig);
      return;
    }
    if (disposition_of(sig) != Disposition::Handle) break;  // the kernel has dealt with it
    // Its handler has run, and whom that woke has sent the next one since.
    if (self.task->handlers_begun.load(std::memory_order_relaxed) == begun) ++attempt;
  }
  sent_forget(self.task, sig);
}

void signals_deliver_pending(ThreadSelf& self) {
  for (;;) {
    uint64_t pending = self.pending_signals.load(std::memory_order_relaxed);
    if (pending == 0) return;
    if ((pending & kDeferredMark) != 0) {
      self.pending_signals.fetch_and(~kDeferredMark, std::memory_order_relaxed);
      release_deferred(self);  // handlers run in here
      continue;
    }
    if ((pending & kLoaderMark) != 0) {
      self.pending_signals.fetch_and(~kLoaderMark, std::memory_order_relaxed);
      if (g_after_dlopen != nullptr) g_after_dlopen();
      continue;
    }
    if (self.task == nullptr) return;
    uint64_t blocked = pending & self.task->signal_mask;
    if (blocked != 0) {
      self.pending_signals.fetch_and(~blocked, std::memory_order_relaxed);
      self.held_signals.fetch_or(blocked, std::memory_order_relaxed);
      continue;
    }
    deliver_one(self, __builtin_ctzll(pending) + 1);
  }
}

int task_mask_change(WispTask* task, int how, const sigset_t* set, sigset_t* old) {
  RuntimeEntry entry;  // leaving it delivers what became unblocked
  uint64_t mask = task->signal_mask;
  if (set != nullptr) {
    uint64_t word = word_of(set) & kMaskable;
    if (how == SIG_BLOCK)
      word |= mask;
    else if (how == SIG_UNBLOCK)
      word = mask & ~word;
    else if (how != SIG_SETMASK)
      return EINVAL;
    Worker* w = task->worker.load(std::memory_order_relaxed);
    task->signal_mask = word;
    w->signal_mask = word;
    kernel::set_signal_mask(word | w->deferred.load(std::memory_order_relaxed));
    unhold(thread_self(), word);
  }
  if (old != nullptr) set_word(old, mask);
  return 0;
}

uint64_t push_to_kernel(WispTask* task, uint64_t which) {
  ThreadSelf& self = *task->self;
  // Everything that waits is pending from here on; what is not pushed comes back to `held` when the
  // task next leaves the runtime.
  unhold(self, ~which);
  uint64_t due = self.pending_signals.load(std::memory_order_relaxed) & which & kMaskable;
  for (uint64_t left = due; left != 0; left &= left - 1)
    send_directed(kernel::gettid(), __builtin_ctzll(left) + 1);
  return due;
}

bool collect(WispTask* task, int sig, siginfo_t* info) {
  if (!is_for_task(task, info)) return true;
  Sent sent;
  if (!sent_take(task, sig, true, &sent)) return false;
  {
    RuntimeEntry entry;
    SpinGuard guard(g_await_lock);
    task->sent_signals &= ~bit_of(sig);
  }
  siginfo_t meant;
  if (sent.code == SI_TKILL) sent.code = SI_USER;  // as libc's sigtimedwait reports it
  as_sent(info, sent, &meant);
  *info = meant;
  return true;
}

void keep_pipe_signal() {
  WispTask* task = current_task();
  if (task == nullptr || (task->signal_mask & bit_of(SIGPIPE)) == 0) return;
  siginfo_t info;
  // None: MSG_NOSIGNAL, or a call whose EPIPE comes without it.
  if (take_pending(bit_of(SIGPIPE), &info) != SIGPIPE) return;
  RuntimeEntry entry;
  Sent sent{SI_USER};  // as the kernel's own says (Linux, send_sig with SEND_SIG_NOINFO)
  sent_add(task, SIGPIPE, &sent);
}

uint64_t held_signals(WispTask* task) {
  return task->self->held_signals.load(std::memory_order_relaxed) |
         (task->self->pending_signals.load(std::memory_order_relaxed) & task->signal_mask);
}

}  // namespace wisp
