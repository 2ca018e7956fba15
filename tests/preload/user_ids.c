// setuid and its like change the whole process whichever thread calls them: libc signals every
// kernel thread and waits for each. With tasks parked, blocked in the kernel, computing and handing
// over.
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "preload.h"

static atomic_int g_stop, g_up;
static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t g_turned = PTHREAD_COND_INITIALIZER;
static int g_turn;
static const char* g_fifo;

static void* spins(void* unused) {
  ++g_up;
  while (!g_stop) {
  }
  return unused;
}
static void* sleeps(void* unused) {
  ++g_up;
  while (!g_stop) sleep_ms(50);
  return unused;
}
// Nobody writes: it waits in open(2), on a kernel thread of its own, until the end.
static void* opens(void* unused) {
  ++g_up;
  int fd = open(g_fifo, O_RDONLY);
  CHECK(fd >= 0 && close(fd) == 0);
  return unused;
}
// Two of these hand over to each other all the time.
static void* takes_turns(void* argument) {
  int me = (int)(long)argument;
  ++g_up;
  pthread_mutex_lock(&g_lock);
  while (!g_stop) {
    if (g_turn == me) {
      g_turn = 1 - me;
      pthread_cond_broadcast(&g_turned);
    } else {
      pthread_cond_wait(&g_turned, &g_lock);
    }
  }
  g_turn = 1 - me;
  pthread_cond_broadcast(&g_turned);
  pthread_mutex_unlock(&g_lock);
  return NULL;
}

// Number of kernel threads whose status has, in the line `name`, the number `wanted` as its field
// `field`; all of them, or it fails.
static void expect_everywhere(const char* name, int field, long wanted) {
  DIR* d = opendir("/proc/self/./task");
  CHECK(d != NULL);
  for (struct dirent* e; (e = readdir(d)) != NULL;) {
    char path[300], line[400];
    snprintf(path, sizeof path, "/proc/self/task/%s/status", e->d_name);
    FILE* f = e->d_name[0] != '.' ? fopen(path, "r") : NULL;
    if (f == NULL) continue;
    while (fgets(line, sizeof line, f) != NULL) {
      if (strncmp(line, name, strlen(name)) != 0) continue;
      char* at = line + strlen(name);
      long value = -1;
      for (int i = 0; i <= field; ++i) value = strtol(at, &at, 10);
      if (value != wanted) fprintf(stderr, "thread %s, wanted %ld: %s", e->d_name, wanted, line);
      CHECK(value == wanted);
    }
    fclose(f);
  }
  closedir(d);
}

static void* changes(void* unused) {
  uid_t uid = getuid();
  gid_t gid = getgid();
  for (int i = 0; i < 300; ++i) {
    CHECK(setreuid(-1, uid) == 0);
    CHECK(setresgid(-1, gid, -1) == 0);
  }
  errno = 0;
  CHECK(setresuid(0, 0, 0) == 0 || errno == EPERM);  // the same answer on every thread
  if (uid == 0) {
    gid_t group = 4242;
    CHECK(setgroups(1, &group) == 0 && setegid(4243) == 0 && seteuid(4244) == 0);
    expect_everywhere("Groups:", 0, 4242);
    expect_everywhere("Gid:", 1, 4243);
    expect_everywhere("Uid:", 1, 4244);
    CHECK(seteuid(0) == 0 && setegid(0) == 0 && setgroups(0, NULL) == 0);
    expect_everywhere("Uid:", 1, 0);
  }
  return unused;
}

int main(void) {
  alarm(100);
  check_tasks();
  char folder[] = "/tmp/wisp-ids-XXXXXX", fifo[100];
  CHECK(mkdtemp(folder) != NULL);
  snprintf(fifo, sizeof fifo, "%s/fifo", folder);
  CHECK(mkfifo(fifo, 0600) == 0 && chmod(fifo, 0666) == 0 && chmod(folder, 0755) == 0);
  g_fifo = fifo;

  enum { kThreads = 14 };
  pthread_t t[kThreads];
  int n = 0;
  for (int i = 0; i < 4; ++i) t[n++] = java(sleeps, NULL);
  for (int i = 0; i < 4; ++i) t[n++] = java(opens, NULL);
  for (long i = 0; i < 2; ++i) t[n++] = java(takes_turns, (void*)i);
  t[n++] = java(spins, NULL);
  for (int i = 0; i < 3; ++i) CHECK(pthread_create(&t[n++], NULL, sleeps, NULL) == 0);
  while (g_up < n) sleep_ms(10);

  join(java(changes, NULL));
  pthread_t plain;
  CHECK(pthread_create(&plain, NULL, changes, NULL) == 0);
  join(plain);
  changes(NULL);

  g_stop = 1;
  pthread_mutex_lock(&g_lock);
  pthread_cond_broadcast(&g_turned);
  pthread_mutex_unlock(&g_lock);
  // For those who are not inside open(2) yet as well.
  int writer = open(fifo, O_RDWR);
  for (int i = 0; i < n; ++i) join(t[i]);
  CHECK(writer >= 0 && close(writer) == 0 && unlink(fifo) == 0 && rmdir(folder) == 0);
  return 0;
}
