// Threads that live by SIGSEGV, as the JVM's do: they fault all the time, and see that nobody
// else's mask has come to them.
#pragma once
#include <setjmp.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "preload.h"

static atomic_int g_over, g_faults;
static volatile int* volatile g_nowhere;
static __thread sigjmp_buf g_behind;

static inline bool blocked(int sig) {
  sigset_t mask;
  CHECK(pthread_sigmask(SIG_SETMASK, NULL, &mask) == 0);
  return sigismember(&mask, sig) == 1;
}

// Others run.
static inline void waits_a_turn(int i) {
  if (i % 10 == 0)
    sleep_ms(1);
  else
    sched_yield();
}

static inline void faulted(int sig) {
  (void)sig;
  siglongjmp(g_behind, 1);
}

static inline void* faults(void* unused) {
  while (g_over == 0) {
    if (sigsetjmp(g_behind, 1) == 0)
      *g_nowhere = 1;
    else
      ++g_faults;
    CHECK(!blocked(SIGSEGV) && !blocked(SIGUSR1) && !blocked(SIGTERM));
    sched_yield();
  }
  return unused;
}

// Until `run`, which sets g_over, is done.
static inline void beside_faults(void* (*run)(void*), void* argument) {
  enum { kOthers = 3 };
  struct sigaction action = {0};
  action.sa_handler = faulted;
  CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
  pthread_t others[kOthers], one = java(run, argument);
  for (int i = 0; i < kOthers; ++i) others[i] = java(faults, NULL);
  join(one);
  for (int i = 0; i < kOthers; ++i) join(others[i]);
  CHECK(g_faults > 0);
}
