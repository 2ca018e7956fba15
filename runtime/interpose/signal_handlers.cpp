// Installing handlers and jumping out of them. Every handler of the program goes to the kernel
// wrapped (signal/actions.h), whichever of the old functions installs it.
#include <errno.h>
#include <setjmp.h>

#include "interpose/entry.h"
#include "platform/kernel.h"
#include "scheduler/own_thread.h"
#include "signal/actions.h"
#include "signal/task_signals.h"

using namespace wisp;

WISP_EXPORT int sigaction(int sig, const struct sigaction* act, struct sigaction* old) noexcept {
  return action_set(sig, act, old);
}

// The kernel keeps the stack with the kernel thread: the task stays there (scheduler/own_thread.h).
WISP_EXPORT int sigaltstack(const stack_t* stack, stack_t* old) noexcept {
  real::ensure();
  if (stack != nullptr && calling_task() != nullptr) own_threads_watch();
  return real::sigaltstack(stack, old);
}

static sighandler_t install(int sig, sighandler_t handler, int flags, bool mask_itself) {
  struct sigaction act = {};
  struct sigaction old;
  act.sa_handler = handler;
  act.sa_flags = flags;
  sigemptyset(&act.sa_mask);
  if (mask_itself) sigaddset(&act.sa_mask, sig);
  if (handler == SIG_ERR) {
    errno = EINVAL;
    return SIG_ERR;
  }
  return action_set(sig, &act, &old) == 0 ? old.sa_handler : SIG_ERR;
}

// Signals of which siginterrupt(3) has said that they end calls. It says so of later handlers, too.
static std::atomic<uint64_t> g_interrupting{0};

// BSD semantics: system calls go on, the handler stays.
WISP_EXPORT sighandler_t signal(int sig, sighandler_t handler) noexcept {
  bool known = sig >= 1 && sig <= kSignals;
  bool ends = known && (g_interrupting.load(std::memory_order_relaxed) & bit_of(sig)) != 0;
  return install(sig, handler, ends ? 0 : SA_RESTART, true);
}
WISP_EXPORT sighandler_t bsd_signal(int sig, sighandler_t handler) noexcept {
  return signal(sig, handler);
}
WISP_EXPORT sighandler_t ssignal(int sig, sighandler_t handler) noexcept {
  return signal(sig, handler);
}

// libc's own would change the flag of our handler alone.
WISP_EXPORT int siginterrupt(int sig, int ends) noexcept {
  struct sigaction act;
  if (action_set(sig, nullptr, &act) != 0) return -1;
  if (ends != 0) {
    g_interrupting.fetch_or(bit_of(sig), std::memory_order_relaxed);
    act.sa_flags &= ~SA_RESTART;
  } else {
    g_interrupting.fetch_and(~bit_of(sig), std::memory_order_relaxed);
    act.sa_flags |= SA_RESTART;
  }
  return action_set(sig, &act, nullptr);
}

// System V semantics: one shot, not masked. `signal` compiles to this one under -std=c99 with
// _XOPEN_SOURCE.
WISP_EXPORT sighandler_t __sysv_signal(int sig, sighandler_t handler) noexcept {
  return install(sig, handler, static_cast<int>(SA_RESETHAND | SA_NODEFER), false);
}
WISP_EXPORT sighandler_t sysv_signal(int sig, sighandler_t handler) noexcept {
  return __sysv_signal(sig, handler);
}

WISP_EXPORT sighandler_t sigset(int sig, sighandler_t disposition) noexcept {
  sigset_t one, before;
  sigemptyset(&one);
  if (sigaddset(&one, sig) != 0) return SIG_ERR;
  sighandler_t old;
  if (disposition == SIG_HOLD) {
    struct sigaction now;
    if (sigprocmask(SIG_BLOCK, &one, &before) != 0 || action_set(sig, nullptr, &now) != 0)
      return SIG_ERR;
    old = now.sa_handler;
  } else {
    // The handler first: one that is held is for it.
    old = install(sig, disposition, 0, false);
    if (old == SIG_ERR || sigprocmask(SIG_UNBLOCK, &one, &before) != 0) return SIG_ERR;
  }
  return sigismember(&before, sig) == 1 ? SIG_HOLD : old;
}

// libc restores the saved mask by itself, for the kernel thread only: the task's record first.
static void note_mask(const __jmp_buf_tag* env) {
  WispTask* task = env->__mask_was_saved != 0 ? calling_task() : nullptr;
  if (task == nullptr) return;
  sigset_t mask;
  sigemptyset(&mask);
  set_word(&mask, *reinterpret_cast<const uint64_t*>(&env->__saved_mask));
  task->signal_depth = 0;
  task_mask_change(task, SIG_SETMASK, &mask, nullptr);
}

// The same in front of setcontext and swapcontext (tail_calls_*.S), which these return.
extern "C" __attribute__((visibility("hidden"))) void* wisp_before_setcontext(
    const ucontext_t* to) {
  real::ensure();
  WispTask* task = calling_task();
  if (task != nullptr && word_of(&to->uc_sigmask) != task->signal_mask)
    task_mask_change(task, SIG_SETMASK, &to->uc_sigmask, nullptr);
  return reinterpret_cast<void*>(real::setcontext);
}

extern "C" __attribute__((visibility("hidden"))) void* wisp_before_swapcontext(
    const ucontext_t*, const ucontext_t* to) {
  real::ensure();
  WispTask* task = calling_task();
  if (task != nullptr && word_of(&to->uc_sigmask) != task->signal_mask) {
    sigset_t old;
    task_mask_change(task, SIG_SETMASK, &to->uc_sigmask, &old);
    // In the context that is left libc puts what the kernel has at that moment.
    kernel::set_signal_mask(word_of(&old));
  }
  return reinterpret_cast<void*>(real::swapcontext);
}

// libc's function by reference: it may be found only now.
[[noreturn]] static void jump(void (*&libc_jump)(__jmp_buf_tag*, int), __jmp_buf_tag* env,
                              int value) {
  real::ensure();
  note_mask(env);
  libc_jump(env, value);
  __builtin_unreachable();
}

#define WISP_EXPORT_JUMP extern "C" __attribute__((noreturn, visibility("default"))) void

WISP_EXPORT_JUMP siglongjmp(__jmp_buf_tag* env, int value) noexcept {
  jump(real::siglongjmp, env, value);
}
WISP_EXPORT_JUMP longjmp(__jmp_buf_tag* env, int value) noexcept {
  jump(real::longjmp, env, value);
}
// What both are in programs compiled with _FORTIFY_SOURCE.
WISP_EXPORT_JUMP __longjmp_chk(__jmp_buf_tag* env, int value) noexcept {
  jump(real::__longjmp_chk, env, value);
}
