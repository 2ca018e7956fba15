// What the kernel binds to one kernel thread, asked for by threads that may move between them.
#include <errno.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "preload.h"

// ---- priorities, classes, affinity: of this thread only, and nothing of it stays with another

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

// ---- io_uring: what is for one thread only may be refused, as by an older kernel; a ring without
// that works from whatever thread comes by

struct ring {
  int fd;
  struct io_uring_params p;
  char *submissions, *completions;
  struct io_uring_sqe* entries;
};
static unsigned* word(char* base, unsigned at) { return (unsigned*)(void*)(base + at); }

static int make_ring(struct ring* r, unsigned flags) {
  memset(&r->p, 0, sizeof r->p);
  r->p.flags = flags;
  r->fd = (int)syscall(SYS_io_uring_setup, 8, &r->p);
  if (r->fd < 0) return -errno;
  size_t sq = r->p.sq_off.array + r->p.sq_entries * sizeof(unsigned);
  size_t cq = r->p.cq_off.cqes + r->p.cq_entries * sizeof(struct io_uring_cqe);
  size_t all = r->p.sq_entries * sizeof(struct io_uring_sqe);
  int how = PROT_READ | PROT_WRITE;
  r->submissions = mmap(NULL, sq, how, MAP_SHARED, r->fd, IORING_OFF_SQ_RING);
  r->completions = mmap(NULL, cq, how, MAP_SHARED, r->fd, IORING_OFF_CQ_RING);
  r->entries = mmap(NULL, all, how, MAP_SHARED, r->fd, IORING_OFF_SQES);
  CHECK(r->submissions != MAP_FAILED && r->completions != MAP_FAILED && r->entries != MAP_FAILED);
  return 0;
}
// A timeout of a millisecond through the ring: its result.
static int timeout_by(struct ring* r) {
  struct {
    long long seconds, ns;
  } ms = {0, 1000000};
  unsigned tail = *word(r->submissions, r->p.sq_off.tail);
  unsigned at = tail & *word(r->submissions, r->p.sq_off.ring_mask);
  struct io_uring_sqe* e = &r->entries[at];
  memset(e, 0, sizeof *e);
  e->opcode = IORING_OP_TIMEOUT;
  e->addr = (unsigned long)&ms;
  e->len = 1;
  word(r->submissions, r->p.sq_off.array)[at] = at;
  __atomic_store_n(word(r->submissions, r->p.sq_off.tail), tail + 1, __ATOMIC_RELEASE);
  long done = syscall(SYS_io_uring_enter, r->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0);
  CHECK(done == 1);
  unsigned head = *word(r->completions, r->p.cq_off.head);
  CHECK(__atomic_load_n(word(r->completions, r->p.cq_off.tail), __ATOMIC_ACQUIRE) != head);
  struct io_uring_cqe* all = (struct io_uring_cqe*)(void*)(r->completions + r->p.cq_off.cqes);
  int result = all[head & *word(r->completions, r->p.cq_off.ring_mask)].res;
  __atomic_store_n(word(r->completions, r->p.cq_off.head), head + 1, __ATOMIC_RELEASE);
  return result;
}
static void* uses_rings(void* unused) {
  // None; IORING_SETUP_SINGLE_ISSUER; that and IORING_SETUP_DEFER_TASKRUN.
  static const unsigned kinds[] = {0, 1u << 12, 3u << 12};
  for (int i = 0; i < 3; ++i) {
    struct ring r;
    int error = make_ring(&r, kinds[i]);
    if (error == -ENOSYS || error == -EPERM) return unused;  // no io_uring for us
    CHECK(error == 0 || (i != 0 && error == -EINVAL));
    if (error != 0) continue;
    for (int k = 0; k < 20; ++k) {
      CHECK(timeout_by(&r) == -ETIME);
      sleep_ms(1);  // others run here meanwhile, and we go on elsewhere
      sched_yield();
    }
    close(r.fd);
  }
  return unused;
}

// ---- restartable sequences: memory of the caller, which the kernel goes on writing to

static void* wants_rseq(void* unused) {
  static __thread struct { unsigned words[8]; } area __attribute__((aligned(32)));
  long r = syscall(SYS_rseq, &area, 32, 0, 0x53053053);
  // libc has registered its own, or the kernel has none; on a thread that moves it must not do.
  CHECK(r == 0 ? getenv("EXPECT_TASKS") == NULL : r == -1);
  if (r == 0) CHECK(syscall(SYS_rseq, &area, 32, 1, 0x53053053) == 0);
  return unused;
}

// ---- futexes whose word names the owner, and those of the newer calls: as they should be, or
// refused as by a kernel without them

static void* locks_by_its_tid(void* unused) {
  unsigned w = 0;
  if (syscall(SYS_futex, &w, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0) == 0) {
    CHECK((w & FUTEX_TID_MASK) == (unsigned)gettid());
    CHECK(syscall(SYS_futex, &w, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0) == 0 && w == 0);
    w = (unsigned)gettid();
    CHECK(syscall(SYS_futex, &w, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0) == 0 && w == 0);
  } else {
    CHECK(errno == ENOSYS && w == 0);
  }
  return unused;
}

static unsigned g_word;
static void* wakes_it(void* unused) {
  sleep_ms(20);
  __atomic_store_n(&g_word, 1, __ATOMIC_SEQ_CST);
  CHECK(syscall(SYS_futex, &g_word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) >= 0);
  return unused;
}
static void* waits_by(void* number) {
  struct {
    unsigned long long value, word;
    unsigned flags, reserved;
  } one = {0, (unsigned long)&g_word, 2 | FUTEX_PRIVATE_FLAG, 0};
  __atomic_store_n(&g_word, 0, __ATOMIC_SEQ_CST);
  pthread_t waker = java(wakes_it, NULL);
  long n = (long)number;
  long r = n == 449 ? syscall(n, &one, 1, 0, NULL, 0)                                 // futex_waitv
                    : syscall(n, &g_word, 0L, ~0u, 2 | FUTEX_PRIVATE_FLAG, NULL, 0);  // futex_wait
  CHECK(r >= 0 || errno == ENOSYS || errno == EAGAIN);  // by another, it has been quicker
  join(waker);
  return NULL;
}

// ---- a traced child that stops has not ended

static void* traces(void* unused) {
  pid_t pid = fork();
  if (pid == 0) {
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    raise(SIGSTOP);
    _exit(0);
  }
  int status = 0;
  CHECK(waitpid(pid, &status, 0) == pid);
  CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
  CHECK(kill(pid, SIGKILL) == 0);
  CHECK(waitpid(pid, &status, __WALL) == pid && WIFSIGNALED(status));
  return unused;
}

// ---- a tracer is one thread: the one that has attached

static void* attaches(void* unused) {
  siginfo_t info;
  pid_t pid = fork();
  if (pid == 0)
    for (;;) pause();
  CHECK(ptrace(PTRACE_ATTACH, pid, NULL, NULL) == 0);
  CHECK(waitpid(pid, NULL, 0) == pid);
  for (int i = 0; i < 20; ++i) {
    sleep_ms(1);  // others run here meanwhile
    sched_yield();
    CHECK(ptrace(PTRACE_GETSIGINFO, pid, NULL, &info) == 0 && info.si_signo == SIGSTOP);
  }
  CHECK(ptrace(PTRACE_DETACH, pid, NULL, NULL) == 0);
  CHECK(kill(pid, SIGKILL) == 0);
  CHECK(waitpid(pid, NULL, 0) == pid);
  return unused;
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
    for (int i = 0; i < 6; ++i) t[i] = java(i % 2 ? uses_rings : wants_rseq, NULL);
    for (int i = 0; i < 6; ++i) join(t[i]);
    join(java(locks_by_its_tid, NULL));
    join(java(waits_by, (void*)449));
    join(java(waits_by, (void*)455));
    join(java(traces, NULL));
    for (int i = 0; i < 6; ++i) t[i] = java(i % 2 ? attaches : is_ordinary, NULL);
    for (int i = 0; i < 6; ++i) join(t[i]);
  }
  bound_alone();
  nicer_alone();  // the last: not everybody can go back
  return 0;
}
