// A thread that computes, and to which real-time signals are sent, gets the others as well: what
// came to its kernel thread while one of those was taken is not put off for good.
#include <sys/time.h>

#include "preload.h"

enum { kRounds = 300, kAtOnce = 100 };
static volatile long g_queued, g_alarms;
static volatile int g_over;

static void counts_queued(int sig) { (void)sig, ++g_queued; }
static void counts_alarms(int sig) { (void)sig, ++g_alarms; }

static sigset_t alarms(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGALRM);
  return set;
}

static void* computes(void* unused) {
  sigset_t set = alarms();
  CHECK(pthread_sigmask(SIG_UNBLOCK, &set, NULL) == 0);
  while (!g_over) {
  }
  return unused;
}

int main(void) {
  // Nobody else takes it.
  sigset_t set = alarms();
  CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
  check_tasks();
  int queued = SIGRTMIN + 4;
  struct sigaction action = {.sa_handler = counts_queued};
  CHECK(sigaction(queued, &action, NULL) == 0);
  action.sa_handler = counts_alarms;
  CHECK(sigaction(SIGALRM, &action, NULL) == 0);
  pthread_t thread = java(computes, NULL);
  struct itimerval often = {{0, 50}, {0, 50}};
  CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
  for (int i = 0; i < kRounds; ++i) {
    for (int k = 0; k < kAtOnce; ++k) {
      pthread_kill(thread, queued);  // EAGAIN where too many wait
      for (int pause = 0; pause < 200; ++pause) __asm__ volatile("");
    }
    struct timespec now = started();
    for (long before = g_alarms; g_alarms == before;) CHECK(ms_since(&now) < 20000);
  }
  CHECK(g_queued > 0);
  g_over = 1;
  join(thread);
  return 0;
}
