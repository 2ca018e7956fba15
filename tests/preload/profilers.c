// What profilers do inside the process that they profile: they list its threads, signal each, and
// look by the context that the handler is given whether the thread was asleep. As async-profiler
// does (src/os_linux.cpp, src/stackFrame_x64.cpp, src/perfEvents_linux.cpp).
#include <dirent.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "preload.h"

enum { kThreads = 20 };

static int kernel_tid(void) {
#if defined(__x86_64__)
  long tid = SYS_gettid;
  __asm__ volatile("syscall" : "+a"(tid) : : "rcx", "r11", "memory");
  return (int)tid;
#else
  return (int)syscall(SYS_gettid);
#endif
}

// Of the calling thread.
static int is_task(void) { return syscall(SYS_gettid) != kernel_tid(); }

// ---- the list of threads

struct waiting {
  pthread_t thread;
  _Atomic int tid;
  sem_t go;
};
static struct waiting g_waiting[kThreads];

static void* waits(void* argument) {
  struct waiting* w = argument;
  w->tid = (int)syscall(SYS_gettid);
  while (sem_wait(&w->go) != 0) CHECK(errno == EINTR);
  return NULL;
}

static void start(struct waiting* w) {
  w->tid = 0;
  CHECK(sem_init(&w->go, 0, 0) == 0);
  w->thread = java(waits, w);
  while (w->tid == 0) sleep_ms(1);
}
static void end(struct waiting* w) {
  CHECK(sem_post(&w->go) == 0);
  join(w->thread);
}

enum way { kRead, kRead64, kReadCopied };

// How often it is in the rest of the list.
static int times_listed(DIR* dir, int tid, enum way way) {
  int times = 0, entries = 0;
  for (;; ++entries) {
    struct dirent entry, *e;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    if (way == kReadCopied)
      CHECK(readdir_r(dir, &entry, &e) == 0);
    else
      e = way == kRead ? readdir(dir) : (struct dirent*)readdir64(dir);
#pragma GCC diagnostic pop
    if (e == NULL) break;
    CHECK(e->d_ino != 0 && e->d_reclen >= offsetof(struct dirent, d_name) + strlen(e->d_name) + 1);
    if (atoi(e->d_name) == 0) continue;
    CHECK(e->d_type == DT_DIR);
    times += atoi(e->d_name) == tid;
  }
  CHECK(entries > 2);
  return times;
}

static int listed(const char* path, int tid) {
  DIR* dir = opendir(path);
  CHECK(dir != NULL);
  int times = times_listed(dir, tid, kRead);
  CHECK(closedir(dir) == 0);
  return times;
}

static void* lists(void* unused) {
  (void)unused;
  for (int i = 0; i < kThreads; ++i) start(&g_waiting[i]);
  char own[64];
  snprintf(own, sizeof own, "/proc/%d/task/", getpid());
  const char* names[] = {"/proc/self/task", own};
  for (int n = 0; n < 2; ++n) {
    for (int i = 0; i < kThreads; ++i) CHECK(listed(names[n], g_waiting[i].tid) == 1);
    CHECK(listed(names[n], (int)syscall(SYS_gettid)) == 1);
    CHECK(listed(names[n], getpid()) == 1);  // the first thread
    // The kernel threads on which tasks run are none of the program's.
    for (int i = 0; i < 20; ++i) {
      sched_yield();
      CHECK(listed(names[n], kernel_tid()) == !is_task());
    }
  }
  CHECK(listed("/proc/self/./task", kernel_tid()) == 1);
  CHECK(listed("/proc", (int)syscall(SYS_gettid)) == 0);

  // Anew: who has ended is gone, who has begun is there. From a descriptor, by each function.
  int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY);
  DIR* dir = fdopendir(fd);
  CHECK(dir != NULL && dirfd(dir) == fd);
  for (int way = kRead; way <= kReadCopied; ++way) {
    int ended = g_waiting[way].tid;
    CHECK(times_listed(dir, ended, way) == 1);
    end(&g_waiting[way]);
    // The kernel may have it a moment longer than who joins it.
    int times = 1;
    for (int i = 0; i < 5000 && times != 0; ++i, sleep_ms(1)) {
      rewinddir(dir);
      times = times_listed(dir, ended, way);
    }
    CHECK(times == 0);
    start(&g_waiting[way]);
    rewinddir(dir);
    CHECK(times_listed(dir, g_waiting[way].tid, way) == 1);
    rewinddir(dir);
  }
  // A child of fork has one thread.
  pid_t child = fork();
  if (child == 0) _exit(listed("/proc/self/task", g_waiting[5].tid) == 0 ? 7 : 8);
  int status;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
  CHECK(closedir(dir) == 0);
  for (int i = 0; i < kThreads; ++i) end(&g_waiting[i]);
  return NULL;
}

// ---- asleep or not

static atomic_int g_asleep, g_awake;

static void look(int sig, siginfo_t* info, void* context) {
  (void)sig, (void)info;
#if defined(__x86_64__)
  const greg_t* r = ((ucontext_t*)context)->uc_mcontext.gregs;
  const unsigned char* pc = (const unsigned char*)r[REG_RIP];
  int at = pc[0] == 0x0f && pc[1] == 0x05;  // about to be made again (SA_RESTART)
  int behind = pc[-2] == 0x0f && pc[-1] == 0x05 && r[REG_RAX] == -EINTR;
  if (at || behind) {
    ++g_asleep;
    return;
  }
#endif
  (void)context;
  ++g_awake;
}

static atomic_int g_stop;
static _Atomic int g_computing;

static void* computes(void* unused) {
  g_computing = 1;
  for (unsigned i = 0; !g_stop; ++i) g_computing = i | 1;
  return unused;
}
static void* sleeps(void* unused) {
  while (!g_stop) sleep_ms(50);
  return unused;
}
static int g_pipe[2];
static void* reads(void* unused) {
  char byte;
  while (read(g_pipe[0], &byte, 1) != 1) CHECK(errno == EINTR);
  return unused;
}

static void signal_often(pthread_t thread, atomic_int* counted) {
  int before = *counted;
  for (int i = 0; i < 200 && *counted < before + 20; ++i) {
    CHECK(pthread_kill(thread, SIGUSR2) == 0);
    sleep_ms(5);
  }
  CHECK(*counted >= before + 20);
}

static void asleep(void) {
  for (int flags = 0; flags <= SA_RESTART; flags += SA_RESTART) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = look;
    action.sa_flags = SA_SIGINFO | flags;
    CHECK(sigaction(SIGUSR2, &action, NULL) == 0);
    CHECK(pipe(g_pipe) == 0);
    g_stop = 0;
    g_computing = 0;
    start(&g_waiting[0]);
    pthread_t computer = java(computes, NULL), sleeper = java(sleeps, NULL),
              reader = java(reads, NULL);
    while (!g_computing) sleep_ms(1);
    sleep_ms(20);
#if defined(__x86_64__)
    signal_often(g_waiting[0].thread, &g_asleep);
    signal_often(sleeper, &g_asleep);
    signal_often(reader, &g_asleep);
#endif
    signal_often(computer, &g_awake);
    g_stop = 1;
    CHECK(write(g_pipe[1], "x", 1) == 1);
    end(&g_waiting[0]);
    join(computer);
    join(sleeper);
    join(reader);
    close(g_pipe[0]);
    close(g_pipe[1]);
  }
}

// ---- counters

static void* counters(void* unused) {
  struct perf_event_attr attr;
  memset(&attr, 0, sizeof attr);
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_CPU_CLOCK;
  attr.disabled = 1;
  attr.exclude_kernel = 1;
  int tids[] = {0, (int)syscall(SYS_gettid), getpid()};
  for (int i = 0; i < 3; ++i) {
    errno = 0;
    long fd = syscall(SYS_perf_event_open, &attr, tids[i], -1, -1, 0);
    // By tasks there is nothing to count. Elsewhere it depends on the machine.
    if (is_task()) CHECK(fd == -1 && errno == EACCES);
    if (fd >= 0) close((int)fd);
  }
  return unused;
}

int main(void) {
  join(java(lists, NULL));
  asleep();
  join(java(counters, NULL));
  return 0;
}
