// A child of fork begins without pending signals (fork(2)): what waits for the thread that makes
// it, blocked or behind the handler that it forks in, is the parent's alone.
#include <sys/wait.h>

#include "preload.h"

enum { kSent = 20 };
static int g_queued;  // a real-time signal
static volatile int g_ran, g_is_child, g_ready;
static volatile pid_t g_children[kSent];

static void forks(int sig) {
  (void)sig;
  if (g_is_child) _exit(2);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0)
    g_is_child = 1;
  else
    g_children[g_ran++] = child;
}

static int ends_well(pid_t child) {
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  return status == 0;
}

static void* is_sent_many(void* blocks) {
  sigset_t set, pending;
  sigemptyset(&set);
  sigaddset(&set, g_queued);
  if (blocks != NULL) CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
  g_ran = 0;
  g_ready = 1;
  if (blocks != NULL) {
    while (g_ready != 2) sched_yield();
    pid_t child = fork();
    if (child == 0) {
      CHECK(sigpending(&pending) == 0 && !sigismember(&pending, g_queued));
      g_is_child = 1;
      CHECK(pthread_sigmask(SIG_UNBLOCK, &set, NULL) == 0);
      sleep_ms(1);
      _exit(0);
    }
    CHECK(ends_well(child));
    CHECK(sigpending(&pending) == 0 && sigismember(&pending, g_queued));
    CHECK(pthread_sigmask(SIG_UNBLOCK, &set, NULL) == 0);
  }
  while (g_ran < kSent) {
    // The children come by here as well, and enter and leave the runtime.
    for (int i = 0; g_is_child && i < 20; ++i) CHECK(raise(SIGURG) == 0 && sched_yield() == 0);
    if (g_is_child) _exit(0);
  }
  if (g_is_child) _exit(0);
  for (int i = 0; i < kSent; ++i) CHECK(ends_well(g_children[i]));
  return NULL;
}

int main(void) {
  alarm(120);
  check_tasks();
  g_queued = SIGRTMIN + 2;
  struct sigaction action = {.sa_handler = forks};
  CHECK(sigaction(g_queued, &action, NULL) == 0);
  for (long blocks = 0; blocks < 2; ++blocks) {
    g_ready = 0;
    pthread_t thread = java(is_sent_many, (void*)blocks);
    while (!g_ready) sleep_ms(1);
    for (int i = 0; i < kSent; ++i) CHECK(pthread_kill(thread, g_queued) == 0);
    g_ready = 2;
    join(thread);
  }
  return 0;
}
