// A signal that a thread blocks and takes by sigwait, and that would end the process otherwise: it
// meets nobody else, whoever runs on the kernel thread afterwards.
#include <poll.h>
#include <sys/select.h>

#include "preload.h"

enum { kWaiters = 6, kTurns = 200 };
static int g_signals[2];
static volatile int g_over;
static int g_taken[kWaiters];  // 1: it blocks them; then one more for each that it has taken

static void* takes(void* number) {
  long me = (long)number;
  sigset_t set;
  sigemptyset(&set);
  for (int i = 0; i < 2; ++i) sigaddset(&set, g_signals[i]);
  CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
  __atomic_store_n(&g_taken[me], 1, __ATOMIC_SEQ_CST);
  for (int i = 0; i < kTurns; ++i) {
    int sig = 0;
    if (i % 3 == 0) {
      struct timespec long_time = {60, 0};
      sig = sigtimedwait(&set, NULL, &long_time);
    } else {
      CHECK(sigwait(&set, &sig) == 0);
    }
    CHECK(sig == g_signals[0] || sig == g_signals[1]);
    __atomic_fetch_add(&g_taken[me], 1, __ATOMIC_SEQ_CST);
    if (i % 7 == 0) sleep_ms(1);
  }
  struct timespec now = {0, 0};
  CHECK(sigtimedwait(&set, NULL, &now) == -1 && errno == EAGAIN);
  struct timespec no_times[] = {{0, -1}, {0, 1000000000}, {-1, 0}};
  for (int i = 0; i < 3; ++i)
    CHECK(sigtimedwait(&set, NULL, &no_times[i]) == -1 && errno == EINVAL);
  return NULL;
}

// Blocks nothing.
static void* passes_by(void* unused) {
  while (!g_over) {
    sched_yield();
    sleep_ms(1);
  }
  return unused;
}

static pthread_t g_waiters[kWaiters];
static void* sends(void* number) {
  long to = (long)number;
  while (__atomic_load_n(&g_taken[to], __ATOMIC_SEQ_CST) == 0) sleep_ms(1);
  for (int i = 0; i < kTurns; ++i) {
    CHECK(pthread_kill(g_waiters[to], g_signals[i % 2]) == 0);
    while (__atomic_load_n(&g_taken[to], __ATOMIC_SEQ_CST) < i + 2) sched_yield();
  }
  return NULL;
}

// Two that wait when a call lets both in have both been handled when it returns.
static volatile sig_atomic_t g_handled;
static void looks_at_its_mask(int sig) {
  sigset_t now;
  if (pthread_sigmask(SIG_BLOCK, NULL, &now) == 0 && sigismember(&now, sig)) ++g_handled;
}
static void* lets_two_in(void* unused) {
  static const int kPairs[][2] = {{SIGUSR1, SIGUSR2}, {SIGUSR2, SIGTERM}, {SIGUSR1, 0}, {0, 0}};
  sigset_t two, none;
  sigemptyset(&none);
  for (int i = 0; i < 12; ++i) {
    sigemptyset(&two);
    int pair[2];
    for (int k = 0; k < 2; ++k) {
      pair[k] = kPairs[i % 4][k] != 0 ? kPairs[i % 4][k] : SIGRTMIN + 2 + k;
      sigaddset(&two, pair[k]);
      struct sigaction act;
      memset(&act, 0, sizeof act);
      act.sa_handler = looks_at_its_mask;
      CHECK(sigaction(pair[k], &act, NULL) == 0);
    }
    CHECK(pthread_sigmask(SIG_BLOCK, &two, NULL) == 0);
    for (int k = 0; k < 2; ++k) CHECK(pthread_kill(pthread_self(), pair[(i + k) % 2]) == 0);
    g_handled = 0;
    int r = i % 3 == 0 ? sigsuspend(&none) : ppoll(NULL, 0, NULL, &none);
    CHECK(r == -1 && errno == EINTR && g_handled == 2);
    sigset_t left;
    CHECK(sigpending(&left) == 0 && !sigismember(&left, pair[0]) && !sigismember(&left, pair[1]));
    CHECK(pthread_sigmask(SIG_UNBLOCK, &two, NULL) == 0 && g_handled == 2);
  }
  return unused;
}

// A call with a mask of its own lets a signal in that was blocked, also where it does not wait.
static void* looks_let_in(void* unused) {
  struct sigaction counts = {.sa_handler = looks_at_its_mask};
  CHECK(sigaction(SIGUSR2, &counts, NULL) == 0);
  sigset_t set, none;
  sigemptyset(&none);
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
  struct timespec now = {0, 0};
  for (int i = 0; i < 20; ++i) {
    int selects = i & 1, before = g_handled;
    CHECK(pthread_kill(pthread_self(), SIGUSR2) == 0 && g_handled == before);
    int r = selects ? pselect(0, NULL, NULL, NULL, &now, &none) : ppoll(NULL, 0, &now, &none);
    CHECK(r == -1 && errno == EINTR && g_handled == before + 1);
    r = selects ? pselect(0, NULL, NULL, NULL, &now, &none) : ppoll(NULL, 0, &now, &none);
    CHECK(r == 0 && g_handled == before + 1);
  }
  CHECK(pthread_sigmask(SIG_UNBLOCK, &set, NULL) == 0);
  return unused;
}

int main(void) {
  check_tasks();
  g_signals[0] = SIGUSR1;
  g_signals[1] = SIGRTMIN + 6;
  for (int round = 0; round < 5; ++round) {
    memset(g_taken, 0, sizeof g_taken);
    g_over = 0;
    pthread_t by[4], senders[kWaiters];
    for (long i = 0; i < kWaiters; ++i) g_waiters[i] = java(takes, (void*)i);
    for (int i = 0; i < 4; ++i) by[i] = java(passes_by, NULL);
    for (long i = 0; i < kWaiters; ++i) senders[i] = java(sends, (void*)i);
    for (int i = 0; i < kWaiters; ++i) join(senders[i]), join(g_waiters[i]);
    g_over = 1;
    for (int i = 0; i < 4; ++i) join(by[i]);
  }
  join(java(lets_two_in, NULL));
  lets_two_in(NULL);
  join(java(looks_let_in, NULL));
  looks_let_in(NULL);
  return 0;
}
