// BSD's calls for signal masks (sigvec(3)), which count signals in an int: what a thread blocks by
// them is its own, whatever waits in between, and sigpause lets through what it says.
#include <setjmp.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "preload.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

enum {
  kOthers = 3,
  kTurns = 60,
  kAll = -1,
  kUsr1 = 1 << (SIGUSR1 - 1),
  kTerm = 1 << (SIGTERM - 1)
};

int bsd_sigpause(int mask) __asm__("sigpause");
int either_sigpause(int sig_or_mask, int is_sig) __asm__("__sigpause");

static atomic_int g_over, g_faults, g_handled;
static volatile int* volatile g_nowhere;
static __thread sigjmp_buf g_behind;

static bool blocked(int sig) {
  sigset_t mask;
  CHECK(pthread_sigmask(SIG_SETMASK, NULL, &mask) == 0);
  return sigismember(&mask, sig) == 1;
}

static void handled(int sig) {
  (void)sig;
  ++g_handled;
}

static void waits_a_turn(int i) {
  if (i % 10 == 0)
    sleep_ms(1);
  else
    sched_yield();
}

static void* masks(void* unused) {
  CHECK(sigblock(kUsr1) == 0 && sigblock(0) == kUsr1);
  CHECK(blocked(SIGUSR1) && !blocked(SIGTERM));
  CHECK(sigblock(kTerm) == kUsr1);
  CHECK(sigsetmask(kAll) == (kUsr1 | kTerm));
  for (int i = 0; i < kTurns; ++i) {
    CHECK(blocked(SIGUSR1) && blocked(SIGSEGV) && (sigblock(0) & kTerm) != 0);
    waits_a_turn(i);
  }
  CHECK((sigsetmask(kUsr1) & kTerm) != 0 && !blocked(SIGTERM));
  CHECK(raise(SIGUSR1) == 0 && g_handled == 0);
  CHECK(bsd_sigpause(0) == -1 && errno == EINTR && g_handled == 1 && blocked(SIGUSR1));
  CHECK(raise(SIGUSR1) == 0 && g_handled == 1);
  CHECK(either_sigpause(SIGUSR1, 1) == -1 && errno == EINTR && g_handled == 2);
  CHECK(raise(SIGUSR1) == 0 && g_handled == 2);
  CHECK(either_sigpause(kTerm, 0) == -1 && errno == EINTR && g_handled == 3);
  CHECK(sigsetmask(0) == kUsr1);
  ++g_over;
  return unused;
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
    CHECK(!blocked(SIGSEGV) && !blocked(SIGTERM));
    sched_yield();
  }
  return unused;
}

int main(void) {
  check_tasks();
  struct sigaction action = {0};
  action.sa_handler = faulted;
  CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
  action.sa_handler = handled;
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  pthread_t others[kOthers], one = java(masks, NULL);
  for (int i = 0; i < kOthers; ++i) others[i] = java(faults, NULL);
  join(one);
  for (int i = 0; i < kOthers; ++i) join(others[i]);
  CHECK(g_faults > 0);
  puts("ok");
  return 0;
}
