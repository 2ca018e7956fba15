// The process ends from a task while others run: by exit, _exit, abort, a default signal, return of
// main. argv[1] says how; without it, all are tried in children.
#include "preload.h"

static const char* g_how;
static pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;

static void* busy(void* argument) {
  (void)argument;
  for (;;) {
    pthread_mutex_lock(&g_mutex);
    pthread_mutex_unlock(&g_mutex);
    free(malloc(100));
    sched_yield();
  }
  return NULL;
}

static void* finish(void* argument) {
  (void)argument;
  sleep_ms(20);
  if (strcmp(g_how, "exit") == 0) exit(11);
  if (strcmp(g_how, "_exit") == 0) _exit(12);
  if (strcmp(g_how, "abort") == 0) abort();
  if (strcmp(g_how, "raise") == 0) raise(SIGTERM);
  if (strcmp(g_how, "kill") == 0) kill(getpid(), SIGTERM);
  int* volatile nowhere = (int*)16;
  if (strcmp(g_how, "segv") == 0) *nowhere = 1;
  sleep(100);
  return NULL;
}

static int outcome(const char* self, const char* how) {
  pid_t pid = fork();
  if (pid == 0) {
    execl("/proc/self/exe", self, how, NULL);
    _exit(99);
  }
  int status;
  CHECK(waitpid(pid, &status, 0) == pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int main(int argc, char** argv) {
  if (argc > 1) {
    g_how = argv[1];
    check_tasks();
    for (int i = 0; i < 8; ++i) java(busy, NULL);
    java(finish, NULL);
    if (strcmp(g_how, "return") == 0) {
      sleep_ms(20);
      return 13;
    }
    sleep(100);
    return 98;
  }
  ask_for_wisp();
  for (int round = 0; round < 3; ++round) {
    CHECK(outcome(argv[0], "exit") == 11);
    CHECK(outcome(argv[0], "_exit") == 12);
    CHECK(outcome(argv[0], "return") == 13);
    CHECK(outcome(argv[0], "abort") == -SIGABRT);
    CHECK(outcome(argv[0], "raise") == -SIGTERM);
    CHECK(outcome(argv[0], "kill") == -SIGTERM);
    CHECK(outcome(argv[0], "segv") == -SIGSEGV);
  }
  return 0;
}
