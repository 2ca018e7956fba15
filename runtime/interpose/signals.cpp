// Sending, masking and waiting for signals. For kernel threads all of it is libc's; a task has its
// own mask and its own pending signals (signal/task_signals.h).
#include <errno.h>
#include <string.h>

#include "interpose/masked_wait.h"
#include "interpose/threads.h"
#include "platform/kernel.h"
#include "signal/actions.h"
#include "signal/sent.h"
#include "signal/task_signals.h"
#include "sync/words.h"

using namespace wisp;

namespace {

// Collects a signal of `set` as sigtimedwait(2) does; null timeout = for ever. The task stays on
// this kernel thread, its carrier goes to others; signals for the task are sent to this thread as
// long as it is here.
int task_sigwait(WispTask* task, const sigset_t* set, siginfo_t* info, const timespec* timeout) {
  if (timeout != nullptr && (!valid_nsec(*timeout) || timeout->tv_sec < 0))
    return error_answer(EINVAL);
  uint64_t deadline = timeout != nullptr ? deadline_after(*timeout) : kForever;
  BlockingRegion region;
  AwaitsSignals awaits(task, word_of(set));
  HandlersSince handlers;
  for (;;) {
    timespec left{}, *limit = nullptr;
    if (deadline != kForever) {
      left = time_left(deadline);
      limit = &left;
    }
    siginfo_t got;
    int sig = real::sigtimedwait(set, &got, limit);
    if (sig < 0 && !ended_for_another(handlers)) return -1;
    if (sig < 0 || !collect(task, sig, &got)) {  // for a task that was here before
      awaits.again();
      if (handlers.take() != AfterSignal::GoesOn) return error_answer(EINTR);
      continue;
    }
    if (info != nullptr) *info = got;
    return sig;
  }
}

int change_mask(int how, const sigset_t* set, sigset_t* old) {
  if (WispTask* task = calling_task()) return task_mask_change(task, how, set, old);
  real::ensure();
  return real::pthread_sigmask(how, set, old);
}

int suspend(const sigset_t* mask) {
  real::ensure();
  WispTask* task = calling_task();
  if (task == nullptr) return real::sigsuspend(mask);
  return wait_with_mask(task, mask, kForever,
                        [&](const timespec*) { return real::sigsuspend(mask); });
}

}  // namespace

WISP_EXPORT int pthread_kill(pthread_t thread, int sig) noexcept {
  real::ensure();
  if (WispTask* task = known_task(thread)) {
    int error = signal_task(task, sig);
    return error == ESRCH ? 0 : error;  // ended and not joined yet: from glibc 2.34 on no error
  }
  return real::pthread_kill(thread, sig);
}

WISP_EXPORT int pthread_sigqueue(pthread_t thread, int sig, const sigval value) noexcept {
  real::ensure();
  Sent sent{SI_QUEUE, value};
  if (WispTask* task = known_task(thread)) return signal_task(task, sig, &sent);
  return real::pthread_sigqueue(thread, sig, value);
}

WISP_EXPORT int raise(int sig) noexcept {
  real::ensure();
  WispTask* task = calling_task();
  if (task == nullptr) return real::raise(sig);
  return error_answer(signal_task(task, sig));
}

// By the number of any of its threads the process is meant (kill(2), Linux).
WISP_EXPORT int kill(pid_t pid, int sig) noexcept {
  real::ensure();
  return real::kill(known_tid(pid) != nullptr ? kernel::getpid() : pid, sig);
}

WISP_EXPORT int pthread_sigmask(int how, const sigset_t* set, sigset_t* old) noexcept {
  return change_mask(how, set, old);
}

WISP_EXPORT int sigprocmask(int how, const sigset_t* set, sigset_t* old) noexcept {
  return error_answer(change_mask(how, set, old));
}

static int hold(int how, int sig) {
  sigset_t one;
  sigemptyset(&one);
  if (sigaddset(&one, sig) != 0) return -1;
  return sigprocmask(how, &one, nullptr);
}
WISP_EXPORT int sighold(int sig) noexcept { return hold(SIG_BLOCK, sig); }
WISP_EXPORT int sigrelse(int sig) noexcept { return hold(SIG_UNBLOCK, sig); }

WISP_EXPORT int sigpending(sigset_t* set) noexcept {
  real::ensure();
  int r = real::sigpending(set);
  if (r == 0)
    if (WispTask* task = calling_task()) set_word(set, word_of(set) | held_signals(task));
  return r;
}

WISP_EXPORT int sigsuspend(const sigset_t* mask) { return suspend(mask); }

WISP_EXPORT int pause() {
  sigset_t now;
  change_mask(SIG_BLOCK, nullptr, &now);
  return suspend(&now);
}

static int suspend_but_for(int sig) {
  sigset_t now;
  change_mask(SIG_BLOCK, nullptr, &now);
  if (sigdelset(&now, sig) != 0) return -1;
  return suspend(&now);
}

// BSD's, with the signals 1 to 32 as bits of an int.
static sigset_t from_bits(int bits) {
  sigset_t set;
  sigemptyset(&set);
  set_word(&set, static_cast<uint32_t>(bits));
  return set;
}
static int change_bits(int how, int bits) {
  sigset_t set = from_bits(bits), old;
  sigemptyset(&old);
  change_mask(how, &set, &old);
  return static_cast<int>(word_of(&old));
}
WISP_EXPORT int sigblock(int bits) noexcept { return change_bits(SIG_BLOCK, bits); }
WISP_EXPORT int sigsetmask(int bits) noexcept { return change_bits(SIG_SETMASK, bits); }
WISP_EXPORT int siggetmask() noexcept { return change_bits(SIG_BLOCK, 0); }

static int suspend_bits(int bits) {
  sigset_t set = from_bits(bits);
  return suspend(&set);
}

// The header has one name for all: BSD's mask, X/Open's signal that is taken out of the mask while
// it waits, and either.
#define WISP_VISIBLE extern "C" __attribute__((visibility("default")))
WISP_VISIBLE int bsd_sigpause(int bits) asm("sigpause");
WISP_VISIBLE int x_open_sigpause(int sig) asm("__xpg_sigpause");
WISP_VISIBLE int either_sigpause(int sig_or_bits, int is_sig) asm("__sigpause");
#undef WISP_VISIBLE
int bsd_sigpause(int bits) { return suspend_bits(bits); }
int x_open_sigpause(int sig) { return suspend_but_for(sig); }
int either_sigpause(int sig_or_bits, int is_sig) {
  return is_sig != 0 ? suspend_but_for(sig_or_bits) : suspend_bits(sig_or_bits);
}

WISP_EXPORT int sigtimedwait(const sigset_t* set, siginfo_t* info, const timespec* timeout) {
  real::ensure();
  WispTask* task = calling_task();
  return task != nullptr ? task_sigwait(task, set, info, timeout)
                         : real::sigtimedwait(set, info, timeout);
}

WISP_EXPORT int sigwaitinfo(const sigset_t* set, siginfo_t* info) {
  return sigtimedwait(set, info, nullptr);
}

WISP_EXPORT int sigwait(const sigset_t* set, int* sig) {
  int got;
  do got = sigtimedwait(set, nullptr, nullptr);
  while (got < 0 && errno == EINTR);
  if (got < 0) return errno;
  *sig = got;
  return 0;
}
