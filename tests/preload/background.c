// A terminal that belongs to another process group. With SIGTTIN ignored a read fails at once; with
// its default action it stops the process at once, not when somebody types.
#include <fcntl.h>
#include <sys/ioctl.h>

#include "preload.h"

extern char** environ;

static void* reads(void* result) {
  char c;
  *(int*)result = read(0, &c, 1) == -1 ? errno : 0;
  return NULL;
}

// As the process in the background: executed by the other one, so that it is a whole one again.
static int in_background(const char* how) {
  check_tasks();
  alarm(60);
  signal(SIGTTIN, strcmp(how, "ignores") == 0 ? SIG_IGN : SIG_DFL);
  int result = -1;
  join(java(reads, &result));
  return result == EIO ? 0 : 1;
}

static pid_t start_in_background(const char* self, const char* how) {
  pid_t pid = fork();
  if (pid != 0) return pid;
  setpgid(0, 0);
  const char* library = getenv("TEST_PRELOAD");
  if (library != NULL) {
    setenv("LD_PRELOAD", library, 1);
    setenv("WISP", "1", 1);
    setenv("WISP_ANY", "1", 1);
  }
  execl(self, self, how, NULL);
  _exit(99);
}

// The session's leader, which owns the terminal.
static int leads(const char* self, int master) {
  alarm(100);
  char name[64];
  if (setsid() < 0 || ptsname_r(master, name, sizeof name) != 0) return 10;
  int slave = open(name, O_RDWR);
  if (slave < 0 || ioctl(slave, TIOCSCTTY, 0) != 0 || dup2(slave, 0) != 0) return 11;
  int status = -1;
  pid_t pid = start_in_background(self, "ignores");
  if (waitpid(pid, &status, 0) != pid || status != 0) return 12;
  pid = start_in_background(self, "stops");
  if (waitpid(pid, &status, WUNTRACED) != pid) return 13;
  if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTTIN) return 14;
  kill(pid, SIGKILL);
  return waitpid(pid, &status, 0) == pid ? 0 : 15;
}

int main(int argc, char** argv) {
  if (argc > 1) return in_background(argv[1]);
  check_tasks();
  char self[4096];
  ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  CHECK(n > 0);
  self[n] = '\0';
  int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  CHECK(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
  pid_t pid = fork();
  if (pid == 0) _exit(leads(self, master));
  int status = -1;
  CHECK(waitpid(pid, &status, 0) == pid);
  if (status != 0) fprintf(stderr, "status 0x%x\n", (unsigned)status);
  CHECK(status == 0);
  return 0;
}
