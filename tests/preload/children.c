// Children of a task by fork, vfork, posix_spawn, system and popen; none of them knows of Wisp.
#include <spawn.h>

#include "preload.h"

extern char** environ;
static pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;

static void* adds(void* n) {
  ++*(int*)n;
  return NULL;
}

static int status_of(pid_t pid) {
  int status = -1;
  CHECK(pid > 0);
  CHECK(waitpid(pid, &status, 0) == pid);
  CHECK(WIFEXITED(status));
  return WEXITSTATUS(status);
}

static void forks(void) {
  pthread_mutex_lock(&g_mutex);
  pid_t pid = fork();
  if (pid == 0) {
    pthread_mutex_unlock(&g_mutex);
    pthread_mutex_lock(&g_mutex);
    // A child may go on as a program of its own, with threads: as many at a time as make libc unmap
    // the stacks that it has kept (more than 40 MiB), those of the parent's kernel threads among
    // them.
    int n[8] = {6};
    pthread_t t[8];
    for (int i = 0; i < 8; ++i)
      if (pthread_create(&t[i], NULL, adds, &n[i]) != 0) _exit(1);
    for (int i = 0; i < 8; ++i)
      if (pthread_join(t[i], NULL) != 0) _exit(1);
    free(malloc(100000));
    _exit(n[0]);
  }
  pthread_mutex_unlock(&g_mutex);
  CHECK(status_of(pid) == 7);
  pid = fork();
  if (pid == 0) pthread_exit(NULL);  // the last thread of its process
  CHECK(status_of(pid) == 0);
}

static void __attribute__((noinline)) vforks(int code) {
  char text[16];
  snprintf(text, sizeof text, "exit %d", code);
  char* const argv[] = {"sh", "-c", text, NULL};
  volatile int canary = code * 3;
  pid_t pid = vfork();
  if (pid == 0) {
    // What a child may do: a handler back to default, descriptors, exec.
    struct sigaction act;
    memset(&act, 0, sizeof act);
    act.sa_handler = SIG_DFL;
    sigaction(SIGPIPE, &act, NULL);
    close(99);
    execve("/bin/sh", argv, environ);
    _exit(127);
  }
  CHECK(status_of(pid) == code);
  CHECK(canary == code * 3);

  pid = vfork();
  if (pid == 0) _exit(code + 1);
  CHECK(status_of(pid) == code + 1);
}

static void* all_of_them(void* argument) {
  int code = (int)(long)argument;
  for (int i = 0; i < 10; ++i) {
    forks();
    vforks(code);
    char text[16];
    snprintf(text, sizeof text, "exit %d", code);
    char* const argv[] = {"sh", "-c", text, NULL};
    pid_t pid;
    CHECK(posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ) == 0);
    CHECK(status_of(pid) == code);
    CHECK(WEXITSTATUS(system(text)) == code);
    siginfo_t info;
    pid = fork();
    if (pid == 0) _exit(9);
    CHECK(waitid(P_PID, pid, &info, WEXITED) == 0 && info.si_status == 9);
  }
  return NULL;
}

static void* reads_environment(void* argument) {
  (void)argument;
  FILE* out = popen("env", "r");
  CHECK(out != NULL);
  char line[4096];
  while (fgets(line, sizeof line, out) != NULL)
    CHECK(strncmp(line, "LD_PRELOAD=", 11) != 0 && strncmp(line, "WISP", 4) != 0);
  CHECK(pclose(out) == 0);
  return NULL;
}

int main(void) {
  check_tasks();
  CHECK(getenv("LD_PRELOAD") == NULL && getenv("WISP") == NULL);
  pthread_t t[4];
  for (long i = 0; i < 4; ++i) t[i] = java(all_of_them, (void*)(i * 10 + 3));
  for (int i = 0; i < 4; ++i) join(t[i]);
  join(java(reads_environment, NULL));
  all_of_them((void*)5);  // and from a kernel thread
  return 0;
}
