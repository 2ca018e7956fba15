// Priorities, classes and affinity: of this thread only, and nothing of it stays with another that
// comes by on the same kernel thread.
#include <errno.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "preload.h"

struct class_attributes {  // sched_setattr(2)
  unsigned size, policy;
  unsigned long long flags;
  int nice;
  unsigned priority;
  unsigned long long deadline[3];
};
enum { kOfProcess = 1, kBestEffort = 2 << 13 };  // ioprio_set(2)

static void* lowers_itself(void* unused) {
  errno = 0;
  int before = getpriority(PRIO_PROCESS, 0);
  CHECK(nice(3) == before + 3 && nice(0) <= before + 3);
  struct sched_param zero = {0};
  CHECK(sched_setscheduler(0, SCHED_BATCH, &zero) == 0);
  CHECK(sched_setparam(0, &zero) == 0);
  struct sched_param high = {99};
  CHECK(sched_setscheduler(0, SCHED_OTHER, &high) == -1 && errno == EINVAL);
  CHECK(sched_setscheduler(0, 77, &zero) == -1 && errno == EINVAL);
  CHECK(sched_setscheduler(0, SCHED_FIFO, &zero) == -1 && errno == EINVAL);
  high.sched_priority = 100;
  CHECK(sched_setscheduler(0, SCHED_RR, &high) == -1 && errno == EINVAL);
  CHECK(pthread_setschedparam(pthread_self(), 4, &zero) == EINVAL);
  CHECK(sched_setparam(0, NULL) == -1 && errno == EINVAL);
  CHECK(sched_setparam(0, (void*)8) == -1 && errno == EFAULT);
  sleep_ms(1);
  return unused;
}
// As native code does it: OpenMP's runtimes, libnuma.
static void* binds_itself_by_call(void* unused) {
  long ids[] = {0, gettid()};
  for (int i = 0; i < 2; ++i) {
    long me = ids[i];
    cpu_set_t all, one, far;
    long bytes = syscall(SYS_sched_getaffinity, me, sizeof all, &all);
    CHECK(bytes >= 8 && bytes <= (long)sizeof all);
    memset((char*)&all + bytes, 0, sizeof all - (size_t)bytes);
    int processor = 0;
    while (!CPU_ISSET(processor, &all)) ++processor;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    CHECK(syscall(SYS_sched_setaffinity, me, sizeof one, &one) == 0);
    CHECK(syscall(SYS_sched_setaffinity, me, bytes, NULL) == -1 && errno == EFAULT);
    CPU_ZERO(&far);
    CHECK(syscall(SYS_sched_setaffinity, me, sizeof far, &far) == -1 && errno == EINVAL);
    CPU_SET(CPU_SETSIZE - 1, &far);
    CHECK(syscall(SYS_sched_setaffinity, me, sizeof far, &far) == -1 && errno == EINVAL);
    CHECK(pthread_setaffinity_np(pthread_self(), sizeof far, &far) == EINVAL);
    CHECK(sched_setaffinity(0, sizeof far, &far) == -1 && errno == EINVAL);

    CHECK(syscall(SYS_setpriority, PRIO_PROCESS, me, 10) == 0);
    CHECK(syscall(SYS_getpriority, PRIO_PROCESS, me) >= 1);
    struct sched_param p = {0};
    CHECK(syscall(SYS_sched_setscheduler, me, SCHED_BATCH, &p) == 0);
    CHECK(syscall(SYS_sched_setscheduler, me, -1, &p) == -1 && errno == EINVAL);
    CHECK(syscall(SYS_sched_setscheduler, me, SCHED_BATCH, (void*)8) == -1 && errno == EFAULT);
    CHECK(syscall(SYS_sched_getscheduler, me) >= 0);
    CHECK(syscall(SYS_sched_setparam, me, &p) == 0);
    CHECK(syscall(SYS_sched_getparam, me, &p) == 0 && p.sched_priority == 0);
    struct class_attributes a;
    CHECK(syscall(SYS_sched_getattr, me, &a, sizeof a, 0) == 0);
    memset(&a, 0, sizeof a);
    a.size = sizeof a;
    a.policy = SCHED_BATCH;
    a.nice = 10;
    CHECK(syscall(SYS_sched_setattr, me, &a, 0) == 0);
    CHECK(syscall(SYS_sched_setattr, me, NULL, 0) == -1 && errno == EINVAL);
    CHECK(syscall(SYS_sched_setattr, me, (void*)8, 0) == -1 && errno == EFAULT);
    CHECK(syscall(SYS_ioprio_set, kOfProcess, me, kBestEffort | 7) == 0);
    CHECK(syscall(SYS_ioprio_get, kOfProcess, me) >= 0);
    CHECK(syscall(SYS_ioprio_set, kOfProcess, me, 5 << 13) == -1 && errno == EINVAL);
  }
  sleep_ms(1);
  return unused;
}
static int g_io_class;  // of the first thread
static void* is_ordinary(void* unused) {
  struct sched_param p = {7};
  CHECK(sched_getscheduler(0) == SCHED_OTHER && sched_getparam(0, &p) == 0);
  CHECK(p.sched_priority == 0);
  int nice_value = getpriority(PRIO_PROCESS, (id_t)getpid());
  CHECK(getpriority(PRIO_PROCESS, 0) == nice_value);
  CHECK(syscall(SYS_sched_getscheduler, 0) == SCHED_OTHER);
  CHECK(20 - syscall(SYS_getpriority, PRIO_PROCESS, 0) == nice_value);
  // Of the kernel thread that we are on, whoever was there before.
  CHECK(by_kernel(SYS_sched_getscheduler, 0, 0, 0) == SCHED_OTHER);
  CHECK(20 - by_kernel(SYS_getpriority, PRIO_PROCESS, 0, 0) == nice_value);
  CHECK(by_kernel(SYS_ioprio_get, kOfProcess, 0, 0) == g_io_class);
  cpu_set_t of_process, here;
  CPU_ZERO(&here);
  CHECK(sched_getaffinity(getpid(), sizeof of_process, &of_process) == 0);
  CHECK(by_kernel(SYS_sched_getaffinity, 0, sizeof here, (long)&here) > 0);
  CHECK(CPU_EQUAL(&here, &of_process));
  return unused;
}

// The first thread makes itself nicer, alone. Threads that compute beside others are lent for that
// time, and get their weight back.
static atomic_int g_stop;
static void* computes(void* unused) {
  while (!g_stop) {
    struct timespec start = started();
    while (ms_since(&start) < 30) {
    }
    sleep_ms(1);
  }
  return unused;
}
static void* queues(void* unused) {
  while (!g_stop) {
    for (volatile int i = 0; i < 100000; ++i) {
    }
    sched_yield();
  }
  return unused;
}
static void* looks_at_its_weight(void* nice_value) {
  while (!g_stop) {
    sleep_ms(1);
    CHECK(20 - by_kernel(SYS_getpriority, PRIO_PROCESS, 0, 0) == *(int*)nice_value);
    CHECK(getpriority(PRIO_PROCESS, 0) == *(int*)nice_value);
  }
  return NULL;
}
static void nicer_alone(void) {
  static int before;
  before = getpriority(PRIO_PROCESS, 0);
  pthread_t threads[20];
  for (int i = 0; i < 20; ++i)
    threads[i] = java(i < 4 ? computes : i < 8 ? looks_at_its_weight : queues, &before);
  CHECK(setpriority(PRIO_PROCESS, 0, before + 5) == 0);
  sleep_ms(2000);
  g_stop = 1;
  for (int i = 0; i < 20; ++i) join(threads[i]);
}

// The first thread binds itself, alone. Wake-ups enough that some workers are kept off a processor
// meanwhile, and get all back.
static int g_ends[2][2];
static void* answers(void* which) {
  int* ends = which;
  char c;
  while (read(ends[1], &c, 1) == 1) CHECK(write(ends[1], &c, 1) == 1);
  return NULL;
}
static void* asks(void* which) {
  int* ends = which;
  cpu_set_t of_kernel, own;
  char c = 'x';
  for (int i = 0; i < 3000; ++i) {
    CHECK(write(ends[0], &c, 1) == 1 && read(ends[0], &c, 1) == 1);
    CPU_ZERO(&of_kernel);
    CHECK(by_kernel(SYS_sched_getaffinity, 0, sizeof of_kernel, (long)&of_kernel) > 0);
    CHECK(sched_getaffinity(0, sizeof own, &own) == 0 && CPU_EQUAL(&own, &of_kernel));
    if (i % 8 == 0) sleep_ms(1);
  }
  close(ends[0]);
  return NULL;
}
static void bound_alone(void) {
  pthread_t threads[4];
  cpu_set_t before, one;
  CHECK(sched_getaffinity(0, sizeof before, &before) == 0);
  for (int i = 0; i < 2; ++i) {
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, g_ends[i]) == 0);
    threads[2 * i] = java(answers, g_ends[i]);
    threads[2 * i + 1] = java(asks, g_ends[i]);
  }
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
  for (int i = 0; i < 4; ++i) join(threads[i]);
  CHECK(sched_setaffinity(0, sizeof before, &before) == 0);
}

int main(void) {
  check_tasks();
  g_io_class = (int)syscall(SYS_ioprio_get, kOfProcess, 0);
  for (int round = 0; round < 5; ++round) {
    pthread_t t[6];
    for (int i = 0; i < 6; ++i) t[i] = java(i % 2 ? lowers_itself : binds_itself_by_call, NULL);
    for (int i = 0; i < 6; ++i) join(t[i]);
    for (int i = 0; i < 6; ++i) t[i] = java(is_ordinary, NULL);
    for (int i = 0; i < 6; ++i) join(t[i]);
  }
  bound_alone();
  nicer_alone();  // the last: not everybody can go back
  return 0;
}
