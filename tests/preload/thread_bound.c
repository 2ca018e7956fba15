// What the kernel binds to one kernel thread, asked for by threads that may move between them:
// rings, restartable sequences, futexes with owners, tracing. Priorities and affinity are in
// thread_class.c.
#include <errno.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "preload.h"

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
// What is asked for through the ring: its result.
static int ask_by(struct ring* r, const struct io_uring_sqe* what) {
  unsigned tail = *word(r->submissions, r->p.sq_off.tail);
  unsigned at = tail & *word(r->submissions, r->p.sq_off.ring_mask);
  r->entries[at] = *what;
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
// A timeout of a millisecond.
static int timeout_by(struct ring* r) {
  struct {
    long long seconds, ns;
  } ms = {0, 1000000};
  struct io_uring_sqe e = {.opcode = IORING_OP_TIMEOUT, .addr = (unsigned long)&ms, .len = 1};
  return ask_by(r, &e);
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

// As libuv changes its loop's instance: some entries by calls, others through a ring.
static int change_by(struct ring* r, int epoll, unsigned operation, int fd, unsigned events) {
  struct epoll_event event = {.events = events, .data.fd = fd};
  struct io_uring_sqe e = {.opcode = IORING_OP_EPOLL_CTL,
                           .fd = epoll,
                           .off = (unsigned)fd,
                           .addr = (unsigned long)&event,
                           .len = operation};
  return ask_by(r, &e);
}
static void* changes_by_ring(void* unused) {
  int epoll = epoll_create1(0), early[2], late[2];
  CHECK(epoll >= 0 && pipe(early) == 0 && pipe(late) == 0);
  struct epoll_event event = {.events = EPOLLIN, .data.fd = early[0]};
  CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, early[0], &event) == 0);
  struct ring r;
  if (make_ring(&r, 0) != 0) return unused;  // no io_uring for us
  int added = change_by(&r, epoll, EPOLL_CTL_ADD, late[0], EPOLLIN);
  if (added == -EINVAL) return unused;  // nor that in it
  CHECK(added == 0 && write(late[1], "l", 1) == 1);
  CHECK(epoll_wait(epoll, &event, 1, 10000) == 1 && event.data.fd == late[0]);
  CHECK(change_by(&r, epoll, EPOLL_CTL_DEL, late[0], 0) == 0);
  CHECK(change_by(&r, epoll, EPOLL_CTL_MOD, early[0], EPOLLIN | EPOLLET) == 0);
  CHECK(write(early[1], "e", 1) == 1);
  CHECK(epoll_wait(epoll, &event, 1, 10000) == 1 && event.data.fd == early[0]);
  CHECK(epoll_wait(epoll, &event, 1, 0) == 0);
  int files[] = {early[0], early[1], late[0], late[1], epoll, r.fd};
  for (int i = 0; i < 6; ++i) CHECK(close(files[i]) == 0);
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
  join(java(changes_by_ring, NULL));  // first: from the first ring on instances are the kernel's
  for (int round = 0; round < 5; ++round) {
    pthread_t t[6];
    for (int i = 0; i < 6; ++i) t[i] = java(i % 2 ? uses_rings : wants_rseq, NULL);
    for (int i = 0; i < 6; ++i) join(t[i]);
    join(java(locks_by_its_tid, NULL));
    join(java(waits_by, (void*)449));
    join(java(waits_by, (void*)455));
    join(java(traces, NULL));
    for (int i = 0; i < 6; ++i) t[i] = java(i % 2 ? attaches : wants_rseq, NULL);
    for (int i = 0; i < 6; ++i) join(t[i]);
  }
  return 0;
}
