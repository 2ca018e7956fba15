// A thread from pthread_create to pthread_join, with everything POSIX says happens on the way.
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <threads.h>

#include "preload.h"

static pthread_key_t g_key;
static int g_destroyed, g_cleaned;

static tss_t g_c11_key;
static int g_c11_destroyed;

static void destroy_c11(void* value) { g_c11_destroyed += *(int*)value; }
static void destroy(void* value) { g_destroyed += *(int*)value; }
static void cleanup(void* value) { g_cleaned += *(int*)value; }

static void* returns(void* argument) { return argument; }

// gcc takes it for endless, not seeing the exit.
#pragma GCC diagnostic ignored "-Winfinite-recursion"
static int __attribute__((noinline)) deep(int n) {
  if (n == 0) pthread_exit((void*)77);
  return deep(n - 1) + n;
}

static void* exits(void* argument) {
  (void)argument;
  static int one = 1;
  CHECK(pthread_setspecific(g_key, &one) == 0 && tss_set(g_c11_key, &one) == thrd_success);
  pthread_cleanup_push(cleanup, &one);
  CHECK(deep(10) == 0);
  pthread_cleanup_pop(0);
  return NULL;
}

// `file` of /proc/<whose>/task/<calling thread>, or of /proc/thread-self if `whose` is that.
static const char* says(const char* whose, const char* file) {
  static _Thread_local char text[4096];
  char path[96];
  if (strcmp(whose, "thread-self") == 0)
    snprintf(path, sizeof path, "/proc/thread-self/%s", file);
  else
    snprintf(path, sizeof path, "/proc/%s/task/%d/%s", whose, gettid(), file);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  CHECK(fd >= 0 && (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
  ssize_t n = read(fd, text, sizeof text - 1);
  CHECK(n > 0 && read(fd, text + n, 1) == 0 && close(fd) == 0);
  text[n] = '\0';

  // By stdio the same; the tick of the clock may have come in between.
  char again[4096];
  FILE* stream = fopen(path, "re");
  CHECK(stream != NULL && fread(again, 1, sizeof again, stream) > 0 && fclose(stream) == 0);
  CHECK(strncmp(text, again, 16) == 0);
  return text;
}

// The thread has the name "fifteen-letters".
static void is_found_in_proc(void) {
  char pid[16], expected[64];
  snprintf(pid, sizeof pid, "%d", getpid());
  const char* places[] = {"self", pid, "thread-self"};
  for (int i = 0; i < 3; ++i) {
    CHECK(strcmp(says(places[i], "comm"), "fifteen-letters\n") == 0);

    const char* stat = says(places[i], "stat");
    snprintf(expected, sizeof expected, "%d (fifteen-letters) R %d %d ", gettid(), getppid(),
             getpgrp());
    CHECK(strncmp(stat, expected, strlen(expected)) == 0);
    int fields = 0;
    for (const char* at = stat; *at != '\0'; ++at) fields += *at == ' ' || *at == '\n';
    CHECK(fields == 52);  // proc(5), Linux 3.5 and later

    const char* status = says(places[i], "status");
    CHECK(strncmp(status, "Name:\tfifteen-letters\n", 21) == 0);
    snprintf(expected, sizeof expected, "\nPid:\t%d\n", gettid());
    CHECK(strstr(status, expected) != NULL);
    snprintf(expected, sizeof expected, "\nTgid:\t%d\n", getpid());
    CHECK(strstr(status, expected) != NULL && strstr(status, "\nState:\tR (running)\n") != NULL);
  }
  CHECK(open("/proc/self/task/1/stat", O_RDONLY) < 0 && errno == ENOENT);

  // As if it were a process: HotSpot lists the libraries for a crash report so.
  char path[64], line[512] = "";
  snprintf(path, sizeof path, "/proc/%d/maps", gettid());
  FILE* maps = fopen(path, "re");
  CHECK(maps != NULL);
  while (strstr(line, "libc.so") == NULL) CHECK(fgets(line, sizeof line, maps) != NULL);
  CHECK(fclose(maps) == 0);
  snprintf(path, sizeof path, "/proc/%d/comm", gettid());
  int fd = open(path, O_RDONLY);
  CHECK(fd >= 0 && read(fd, line, sizeof line) == 16 && close(fd) == 0);
  CHECK(strncmp(line, "fifteen-letters\n", 16) == 0);
  snprintf(path, sizeof path, "/proc/%d/no-such-file", gettid());
  CHECK(open(path, O_RDONLY) < 0 && errno == ENOENT);
}

static void* describes_itself(void* argument) {
  (void)argument;
  pthread_attr_t attr;
  void* base;
  size_t size, guard;
  CHECK(pthread_getattr_np(pthread_self(), &attr) == 0);
  CHECK(pthread_attr_getstack(&attr, &base, &size) == 0);
  CHECK(pthread_attr_getguardsize(&attr, &guard) == 0);
  CHECK((char*)&attr > (char*)base && (char*)&attr < (char*)base + size);
  CHECK(size >= 300 * 1024 && size <= 400 * 1024);
  pthread_attr_destroy(&attr);

  char name[16];
  CHECK(pthread_getname_np(pthread_self(), name, sizeof name) == 0);
  CHECK(strcmp(name, "of its creator") == 0);  // main's, a kernel thread
  CHECK(pthread_setname_np(pthread_self(), "fifteen-letters") == 0);
  CHECK(pthread_setname_np(pthread_self(), "sixteen-letters!") == ERANGE);
  CHECK(pthread_getname_np(pthread_self(), name, sizeof name) == 0);
  CHECK(strcmp(name, "fifteen-letters") == 0);
  is_found_in_proc();

  // Profilers make a table of so many entries, one for each thread's number.
  char number[32] = "";
  int fd = open("/proc/sys/kernel/pid_max", O_RDONLY);
  CHECK(fd >= 0 && read(fd, number, sizeof number - 1) > 0 && close(fd) == 0);
  CHECK(gettid() < atol(number));

  clockid_t clock;
  struct timespec before, after, own;
  CHECK(pthread_getcpuclockid(pthread_self(), &clock) == 0);
  CHECK(clock_getres(clock, &before) == 0 && before.tv_sec == 0);
  CHECK(clock_gettime(clock, &before) == 0);
  sleep_ms(50);
  CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &own) == 0);
  for (volatile long i = 0; i < 30000000; ++i) {
  }
  CHECK(clock_gettime(clock, &after) == 0);
  double slept = (own.tv_sec - before.tv_sec) + (own.tv_nsec - before.tv_nsec) / 1e9;
  double spun = (after.tv_sec - own.tv_sec) + (after.tv_nsec - own.tv_nsec) / 1e9;
  CHECK(slept >= 0 && slept < 0.03);
  CHECK(spun > 0.005 && spun < 5);
  struct rusage usage;
  CHECK(getrusage(RUSAGE_THREAD, &usage) == 0);
  double used = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
  double by_clock = (double)after.tv_sec + (double)after.tv_nsec / 1e9;
  CHECK(used > by_clock - 0.03 && used < by_clock + 0.03 && usage.ru_maxrss > 0);

  cpu_set_t set;
  int policy;
  struct sched_param param;
  CHECK(pthread_getaffinity_np(pthread_self(), sizeof set, &set) == 0 && CPU_COUNT(&set) > 0);
  CHECK(sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0);
  CHECK(sched_getaffinity(gettid(), sizeof set, &set) == 0 && CPU_COUNT(&set) > 0);
  CHECK(pthread_getschedparam(pthread_self(), &policy, &param) == 0 && policy == SCHED_OTHER);
  CHECK(pthread_setschedparam(pthread_self(), SCHED_OTHER, &param) == 0);
  CHECK(pthread_join(pthread_self(), NULL) == EDEADLK);
  CHECK(pthread_tryjoin_np(pthread_self(), NULL) == EBUSY);
  return NULL;
}

static void* waits_for(void* semaphore_fd) {
  char c;
  CHECK(read(*(int*)semaphore_fd, &c, 1) == 1);
  return (void*)5;
}

static void* creates_children(void* argument) {
  (void)argument;
  pthread_t plain;
  void* result;
  CHECK(pthread_create(&plain, NULL, returns, (void*)3) == 0);  // stays a kernel thread
  CHECK(pthread_join(plain, &result) == 0 && result == (void*)3);
  pthread_t task = java(returns, (void*)4);
  CHECK(pthread_join(task, &result) == 0 && result == (void*)4);
  return NULL;
}

// What is asked of one that has ended and was not joined yet.
static void is_dead(void) {
  void* result;
  pthread_t t = java(returns, (void*)8);
  sleep_ms(50);
  CHECK(pthread_kill(t, 0) == 0 && pthread_kill(t, SIGURG) == 0);
  CHECK(pthread_cancel(t) == 0);
  CHECK(pthread_join(t, &result) == 0 && result == (void*)8);
}

// kill(2) takes the number of any thread for its process.
static atomic_int g_hups;
static void counts_hups(int sig) { g_hups += sig == SIGHUP; }
static void* tells_its_number(void* number) {
  *(atomic_int*)number = (int)syscall(SYS_gettid);
  while (*(atomic_int*)number != 0) sleep_ms(1);
  return NULL;
}
static void is_meant_as_process(void) {
  CHECK(signal(SIGHUP, counts_hups) != SIG_ERR);
  atomic_int number = 0;
  pthread_t t = java(tells_its_number, &number);
  while (number == 0) sleep_ms(1);
  CHECK(kill(number, 0) == 0 && kill(number, SIGHUP) == 0);
  CHECK(syscall(SYS_kill, number, 0) == 0);
  siginfo_t info = {.si_code = SI_QUEUE};
  CHECK(syscall(SYS_rt_sigqueueinfo, number, SIGURG, &info) == 0);
  struct timespec sent = started();
  while (g_hups == 0 && ms_since(&sent) < 10000) sleep_ms(1);
  CHECK(g_hups == 1);
  number = 0;
  join(t);
}

static void* detaches_itself(void* argument) {
  pthread_attr_t own;
  int state = -1;
  for (int i = 0; i < 2; ++i) {
    CHECK(pthread_getattr_np(pthread_self(), &own) == 0);
    CHECK(pthread_attr_getdetachstate(&own, &state) == 0 && pthread_attr_destroy(&own) == 0);
    CHECK(state == (i == 0 ? PTHREAD_CREATE_JOINABLE : PTHREAD_CREATE_DETACHED));
    if (i == 0) CHECK(pthread_detach(pthread_self()) == 0);
  }
  char small[15];
  CHECK(pthread_getname_np(pthread_self(), small, sizeof small) == ERANGE);
  CHECK(write(*(int*)argument, "x", 1) == 1);
  return NULL;
}

static void* cancelled(void* argument) {
  *(volatile int*)argument = 1;
  for (;;) {
    pthread_testcancel();
    sched_yield();
  }
  return NULL;
}

int main(void) {
  check_tasks();
  CHECK(prctl(PR_SET_NAME, "of its creator") == 0);
  void* result;
  pthread_t t;

  CHECK(pthread_join(java(returns, (void*)42), &result) == 0 && result == (void*)42);

  // Twice, so that the second one runs on a block that has had a thread end this way.
  CHECK(pthread_key_create(&g_key, destroy) == 0);
  CHECK(tss_create(&g_c11_key, destroy_c11) == thrd_success);
  for (int i = 1; i <= 3; ++i) {
    CHECK(pthread_join(java(exits, NULL), &result) == 0 && result == (void*)77);
    CHECK(g_destroyed == i && g_c11_destroyed == i && g_cleaned == i);
  }

  pthread_attr_t attr;
  pthread_attr_init(&attr);
  pthread_attr_setstacksize(&attr, 320 * 1024);
  pthread_attr_setguardsize(&attr, 0);
  CHECK(start_java(&t, &attr, describes_itself, NULL) == 0);
  join(t);

  int ends[2];
  CHECK(pipe(ends) == 0);
  t = java(waits_for, &ends[0]);
  CHECK(pthread_tryjoin_np(t, &result) == EBUSY);
  struct timespec soon;
  clock_gettime(CLOCK_REALTIME, &soon);
  soon.tv_nsec += 20000000;
  if (soon.tv_nsec >= 1000000000) soon.tv_sec++, soon.tv_nsec -= 1000000000;
  CHECK(pthread_timedjoin_np(t, &result, &soon) == ETIMEDOUT);
  CHECK(write(ends[1], "x", 1) == 1);
  CHECK(pthread_join(t, &result) == 0 && result == (void*)5);

  pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
  for (int i = 0; i < 100; ++i) CHECK(start_java(&t, &attr, returns, NULL) == 0);
  for (int i = 0; i < 100; ++i) CHECK(pthread_detach(java(returns, NULL)) == 0);

  join(java(creates_children, NULL));
  is_dead();
  is_meant_as_process();
  char c;
  java(detaches_itself, &ends[1]);
  CHECK(read(ends[0], &c, 1) == 1);

  volatile int running = 0;
  t = java(cancelled, (void*)&running);
  while (!running) sched_yield();
  CHECK(pthread_cancel(t) == 0);
  CHECK(pthread_join(t, &result) == 0 && result == PTHREAD_CANCELED);
  return 0;
}
