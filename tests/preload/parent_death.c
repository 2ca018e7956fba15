// Children that are killed when the thread that has made them ends (PR_SET_PDEATHSIG): here that
// one goes on until they have ended by themselves, wherever it runs meanwhile. And nothing is kept
// for children that have ended.
#include <dirent.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "preload.h"

// More than the runtime keeps kernel threads for when nobody needs them.
enum { kParents = 130, kFewer = 110 };
static int g_children_go[2], g_parents_go[2];
static const char* g_fifo;
static atomic_int g_made, g_waiting;

static void* makes_a_child(void* unused) {
  pid_t pid = fork();
  CHECK(pid >= 0);
  char c;
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(g_children_go[1]);
    _exit(read(g_children_go[0], &c, 1) == 0 ? 6 : 7);
  }
  ++g_made;
  // All at once in the kernel: so many kernel threads.
  int fd = open(g_fifo, O_RDONLY);
  CHECK(fd >= 0 && close(fd) == 0);
  ++g_waiting;
  CHECK(read(g_parents_go[0], &c, 1) == 0);
  int status = -1;
  CHECK(waitpid(pid, &status, 0) == pid);
  if (!WIFEXITED(status)) fprintf(stderr, "killed by %d\n", WTERMSIG(status));
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 6);
  return unused;
}

static int kernel_threads(void) {
  DIR* d = opendir("/proc/self/./task");
  CHECK(d != NULL);
  int count = 0;
  for (struct dirent* e; (e = readdir(d)) != NULL;) count += e->d_name[0] != '.';
  closedir(d);
  return count;
}

static void wait_until(const atomic_int* count) {
  while (*count < kParents) sleep_ms(1);
}

static pthread_t g_parents[kParents];
static void starts_all(void) {
  g_made = g_waiting = 0;
  CHECK(pipe(g_children_go) == 0 && pipe(g_parents_go) == 0);
  for (int i = 0; i < kParents; ++i) g_parents[i] = java(makes_a_child, NULL);
  wait_until(&g_made);
  sleep_ms(100);  // the last ones are in open(2) by then, else there are fewer kernel threads
  int fd = open(g_fifo, O_WRONLY);
  wait_until(&g_waiting);
  CHECK(fd >= 0 && close(fd) == 0);
  sleep_ms(300);  // what is going to end has ended
}
static void all_end(void) {
  close(g_children_go[1]);
  close(g_parents_go[1]);
  for (int i = 0; i < kParents; ++i) join(g_parents[i]);
  close(g_children_go[0]);
  close(g_parents_go[0]);
}

int main(void) {
  alarm(200);
  check_tasks();
  char folder[] = "/tmp/wisp-parents-XXXXXX", fifo[100];
  CHECK(mkdtemp(folder) != NULL);
  snprintf(fifo, sizeof fifo, "%s/fifo", folder);
  CHECK(mkfifo(fifo, 0600) == 0);
  g_fifo = fifo;
  for (int round = 0; round < 2; ++round) {
    starts_all();
    all_end();
    while (kernel_threads() > kFewer) sleep_ms(10);
  }
  CHECK(unlink(fifo) == 0 && rmdir(folder) == 0);
  return 0;
}
