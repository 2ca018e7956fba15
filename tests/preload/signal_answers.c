// Signals to a thread whose handler wakes the sender of the next one, which may come before the
// first is over: none is lost.
#include <semaphore.h>

#include "preload.h"

enum { kSignals = 20000 };
static sem_t g_handled[2];
static pthread_t g_target;
static volatile int g_over;

static void answers(int sig) { sem_post(&g_handled[sig == SIGUSR2]); }

// Comes by where signals are delivered, and computes: its carrier is taken, so that the senders run
// beside it.
static void* locks(void* unused) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  while (!g_over) {
    CHECK(pthread_mutex_lock(&mutex) == 0);
    CHECK(pthread_mutex_unlock(&mutex) == 0);
  }
  return unused;
}

static void* sends(void* second) {
  for (int i = 0; i < kSignals; ++i) {
    CHECK(pthread_kill(g_target, second != NULL ? SIGUSR2 : SIGUSR1) == 0);
    struct timespec limit;
    CHECK(clock_gettime(CLOCK_REALTIME, &limit) == 0);
    limit.tv_sec += 60;
    CHECK(sem_timedwait(&g_handled[second != NULL], &limit) == 0);
  }
  return NULL;
}

int main(void) {
  check_tasks();
  for (int i = 0; i < 2; ++i) CHECK(sem_init(&g_handled[i], 0, 0) == 0);
  struct sigaction act;
  memset(&act, 0, sizeof act);
  act.sa_handler = answers;
  CHECK(sigaction(SIGUSR1, &act, NULL) == 0 && sigaction(SIGUSR2, &act, NULL) == 0);
  g_target = java(locks, NULL);
  pthread_t first = java(sends, NULL), second = java(sends, &g_handled);
  join(first);
  join(second);
  g_over = 1;
  join(g_target);
  return 0;
}
