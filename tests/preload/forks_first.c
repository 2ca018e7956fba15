// A launcher that forks before there is any thread, as daemons do: its child runs the JVM. What
// that forks is an ordinary child.
#include <sys/syscall.h>

#include "preload.h"

static pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t g_turn = PTHREAD_COND_INITIALIZER;
static int g_whose;

static void* takes_turns(void* number) {
  int me = (int)(long)number;
  pthread_mutex_lock(&g_mutex);
  for (int i = 0; i < 1000; ++i) {
    while (g_whose != me) pthread_cond_wait(&g_turn, &g_mutex);
    g_whose = 1 - me;
    pthread_cond_signal(&g_turn);
  }
  pthread_mutex_unlock(&g_mutex);
  return NULL;
}

// Each process has an id of its own, and so has its first thread.
static void knows_itself(void) {
  CHECK(syscall(SYS_gettid) == getpid());
  pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
  CHECK(pthread_mutex_lock(&mutex) == 0 && mutex.__data.__owner == getpid());
  CHECK(pthread_mutex_unlock(&mutex) == 0);
}

static void runs_threads(void) {
  knows_itself();
  check_tasks();
  pthread_t one = java(takes_turns, (void*)0), other = java(takes_turns, (void*)1);
  join(one);
  join(other);
}

static void* forks(void* unused) {
  fflush(NULL);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    pid_t tid = 0;
    join(java(report_tid, &tid));
    _exit(tid > 0 && tid < 4 * 1024 * 1024 ? 7 : 8);  // no task
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
  return unused;
}

int main(void) {
  // Twice, as a daemon that leaves its session.
  for (int generation = 0; generation < 2; ++generation) {
    knows_itself();
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) continue;
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    runs_threads();  // and the parent is as good
    return 0;
  }
  runs_threads();
  join(java(forks, NULL));
  forks(NULL);
  return 0;
}
