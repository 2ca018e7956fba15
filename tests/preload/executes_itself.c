// What executes itself keeps Wisp: a launcher before it has made a thread (libjli does, to set
// LD_LIBRARY_PATH), and a program that starts itself anew from one of its threads (Jenkins).
// Another program, or one in a child, is ordinary.
#include "preload.h"

extern char** environ;

static char g_self[4096];
static char** g_argv;

static void execute_itself(const char* life) {
  setenv("LIFE", life, 1);
  execv(g_self, g_argv);
  CHECK(!"execv");
}

static void* start_anew(void* unused) {
  (void)unused;
  pid_t pid = fork();
  if (pid == 0) execute_itself("child");
  int status;
  CHECK(waitpid(pid, &status, 0) == pid && status == 0);
  execute_itself("third");
  return NULL;
}

int main(int argc, char** argv) {
  (void)argc;
  CHECK(getenv("LD_PRELOAD") == NULL && getenv("WISP") == NULL);
  const char* life = getenv("LIFE");
  ssize_t n = readlink("/proc/self/exe", g_self, sizeof g_self - 1);
  CHECK(n > 0);
  g_argv = argv;
  if (life == NULL) {
    pid_t pid = fork();
    if (pid == 0) {
      execl("/bin/sh", "sh", "-c", "test -z \"$LD_PRELOAD$WISP$WISP_ANY\"", NULL);
      _exit(99);
    }
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    execute_itself("second");
  }
  if (strcmp(life, "child") == 0) {
    unsetenv("EXPECT_TASKS");
    check_tasks();
    return 0;
  }
  check_tasks();
  if (strcmp(life, "second") == 0) {
    join(java(start_anew, NULL));
    CHECK(!"joined");
  }
  return 0;
}
