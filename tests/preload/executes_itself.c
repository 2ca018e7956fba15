// A launcher that executes itself before it has made a thread (libjli does, to set LD_LIBRARY_PATH)
// keeps Wisp; a program it executes otherwise is ordinary.
#include "preload.h"

extern char** environ;

int main(int argc, char** argv) {
  (void)argc;
  CHECK(getenv("LD_PRELOAD") == NULL && getenv("WISP") == NULL);
  if (getenv("SECOND_LIFE") == NULL) {
    pid_t pid = fork();
    if (pid == 0) {
      execl("/bin/sh", "sh", "-c", "test -z \"$LD_PRELOAD$WISP$WISP_ANY\"", NULL);
      _exit(99);
    }
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    setenv("SECOND_LIFE", "1", 1);
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    CHECK(n > 0);
    self[n] = '\0';
    execve(self, argv, environ);
    CHECK(!"execve");
  }
  check_tasks();
  return 0;
}
