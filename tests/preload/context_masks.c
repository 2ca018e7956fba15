// Contexts (getcontext(3), makecontext(3)) with signal masks of their own: who goes from one to the
// other takes its mask along and finds the old one again, whatever waits in between, and no other
// thread gets it. All signals are blocked in the coroutine; the others live by SIGSEGV.
#include <ucontext.h>

#include "lives_by_faults.h"

enum { kTurns = 100, kStack = 64 << 10 };

static __thread ucontext_t g_thread, g_coroutine;

static void waits(void) {
  for (int i = 0; i < kTurns; ++i) {
    CHECK(blocked(SIGUSR1) && blocked(SIGSEGV));
    waits_a_turn(i);
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

int main(void) {
  check_tasks();
  static char stack[kStack];
  beside_faults(has_coroutine, stack);
  puts("ok");
  return 0;
}
