// Contexts (getcontext(3), makecontext(3)) with signal masks of their own: who goes from one to the
// other takes its mask along and finds the old one again, whatever waits in between, and no other
// thread gets it. All signals are blocked in the coroutine; the others live by SIGSEGV.
#include <setjmp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <ucontext.h>

#include "preload.h"

enum { kOthers = 3, kTurns = 100, kStack = 64 << 10 };

static atomic_int g_over, g_faults;
static volatile int* volatile g_nowhere;
static __thread ucontext_t g_thread, g_coroutine;
static __thread sigjmp_buf g_behind;

static bool blocked(int sig) {
  sigset_t mask;
  CHECK(pthread_sigmask(SIG_SETMASK, NULL, &mask) == 0);
  return sigismember(&mask, sig) == 1;
}

static void waits(void) {
  for (int i = 0; i < kTurns; ++i) {
    CHECK(blocked(SIGUSR1) && blocked(SIGSEGV));
    if (i % 10 == 0)
      sleep_ms(1);
    else
      sched_yield();
    if (i == kTurns / 2) CHECK(swapcontext(&g_coroutine, &g_thread) == 0);
  }
  setcontext(&g_thread);
  CHECK(!"setcontext came back");
}

static void* has_coroutine(void* stack) {
  sigset_t all, old;
  sigfillset(&all);
  CHECK(pthread_sigmask(SIG_SETMASK, &all, &old) == 0);
  CHECK(getcontext(&g_coroutine) == 0);
  CHECK(pthread_sigmask(SIG_SETMASK, &old, NULL) == 0);
  g_coroutine.uc_stack.ss_sp = stack;
  g_coroutine.uc_stack.ss_size = kStack;
  makecontext(&g_coroutine, waits, 0);
  for (int i = 0; i < 2; ++i) {
    CHECK(!blocked(SIGUSR1) && swapcontext(&g_thread, &g_coroutine) == 0);
    CHECK(!blocked(SIGUSR1) && !blocked(SIGSEGV));
    sleep_ms(2);
  }
  ++g_over;
  return NULL;
}

static void faulted(int sig) {
  (void)sig;
  siglongjmp(g_behind, 1);
}

static void* faults(void* unused) {
  while (g_over == 0) {
    if (sigsetjmp(g_behind, 1) == 0)
      *g_nowhere = 1;
    else
      ++g_faults;
    CHECK(!blocked(SIGSEGV) && !blocked(SIGUSR1));
    sched_yield();
  }
  return unused;
}

int main(void) {
  check_tasks();
  static char stack[kStack];
  struct sigaction action = {0};
  action.sa_handler = faulted;
  CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
  pthread_t others[kOthers], one = java(has_coroutine, stack);
  for (int i = 0; i < kOthers; ++i) others[i] = java(faults, NULL);
  join(one);
  for (int i = 0; i < kOthers; ++i) join(others[i]);
  CHECK(g_faults > 0);
  puts("ok");
  return 0;
}
