// To ignore a signal ends what is pending of it for all threads that there are; so many have ended
// that not all of their stacks are kept.
#include "preload.h"

static pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t g_all_there = PTHREAD_COND_INITIALIZER;
static int g_may_end;

static void* ends_with_all(void* unused) {
  pthread_mutex_lock(&g_mutex);
  while (!g_may_end) pthread_cond_wait(&g_all_there, &g_mutex);
  pthread_mutex_unlock(&g_mutex);
  return unused;
}

static void many_have_ended(void) {
  int count = getenv("EXPECT_TASKS") != NULL ? 18000 : 200;
  pthread_t* threads = calloc((size_t)count, sizeof *threads);
  pthread_attr_t small;
  CHECK(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, 64 << 10) == 0);
  for (int i = 0; i < count; ++i) CHECK(start_java(&threads[i], &small, ends_with_all, NULL) == 0);
  pthread_mutex_lock(&g_mutex);
  g_may_end = 1;
  pthread_cond_broadcast(&g_all_there);
  pthread_mutex_unlock(&g_mutex);
  for (int i = 0; i < count; ++i) join(threads[i]);
  free(threads);
}

static void never_runs(int sig) { CHECK(sig == 0); }

// Sent while it is blocked, ignored, and let through with a handler again.
static void ignore(int sig, sighandler_t how) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, sig);
  CHECK(signal(sig, never_runs) != SIG_ERR);
  CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
  CHECK(pthread_kill(pthread_self(), sig) == 0);
  CHECK(signal(sig, how) == never_runs && signal(sig, never_runs) == how);
  CHECK(pthread_sigmask(SIG_UNBLOCK, &set, NULL) == 0);
  CHECK(signal(sig, SIG_DFL) == never_runs);
}

static void* ignores(void* unused) {
  ignore(SIGUSR1, SIG_IGN);
  ignore(SIGRTMIN + 4, SIG_IGN);
  // By default (signal(7)).
  ignore(SIGWINCH, SIG_DFL);
  ignore(SIGURG, SIG_DFL);
  ignore(SIGCHLD, SIG_DFL);
  return unused;
}

int main(void) {
  check_tasks();
  join(java(ignores, NULL));
  many_have_ended();
  join(java(ignores, NULL));
  ignores(NULL);
  return 0;
}
