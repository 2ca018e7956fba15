// Signals at awkward moments: while a vfork waits for its child, two at the same return from the
// kernel, and one that meets a thread on its way to somebody who blocks it.
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "preload.h"

static void install(int sig, void (*handler)(int), int blocks) {
  struct sigaction act;
  memset(&act, 0, sizeof act);
  act.sa_handler = handler;
  if (blocks != 0) sigaddset(&act.sa_mask, blocks);
  CHECK(sigaction(sig, &act, NULL) == 0);
}

// ---- vfork: the parent's handler runs once, when the parent goes on, and what it wakes is awake.

static sem_t g_woken;
static atomic_int g_handled, g_in_child;
static pthread_mutex_t g_shared = PTHREAD_MUTEX_INITIALIZER;

static void wakes(int sig) {
  (void)sig;
  ++g_handled;
  sem_post(&g_woken);
}
static void* waits(void* posts) {
  for (int i = 0; i < *(int*)posts; ++i)
    while (sem_wait(&g_woken) != 0) CHECK(errno == EINTR);
  return NULL;
}
static void* __attribute__((noinline)) has_a_child(void* unused) {
  // The mask that the child is to have.
  pid_t pid = vfork();
  if (pid == 0) {
    g_in_child = 1;
    struct timespec ms = {0, 200000000};
    syscall(SYS_nanosleep, &ms, NULL);
    // Leaves the runtime in the child, where the signal is none of its business.
    if (pthread_mutex_lock(&g_shared) != 0 || pthread_mutex_unlock(&g_shared) != 0) _exit(1);
    char* const argv[] = {"sh", "-c", "grep -q '^SigBlk:.0*$' /proc/self/status", NULL};
    execv("/bin/sh", argv);
    _exit(127);
  }
  int status = -1;
  CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  return unused;
}
// Sent to that thread, or to the process by somebody who blocks it, as all others do.
static void during_vfork(pthread_t (*start)(void* (*)(void*), void*), int to_process) {
  int posts = 1;
  sigset_t usr1;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  g_handled = g_in_child = 0;
  pthread_t parent = start(has_a_child, NULL);
  pthread_sigmask(SIG_BLOCK, &usr1, NULL);  // as does the waiter, by inheritance
  pthread_t waiter = java(waits, &posts);
  while (!g_in_child) sleep_ms(1);
  CHECK((to_process ? kill(getpid(), SIGUSR1) : pthread_kill(parent, SIGUSR1)) == 0);
  join(parent);
  join(waiter);
  pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
  CHECK(g_handled == 1);
}
static pthread_t native(void* (*run)(void*), void* argument) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, run, argument) == 0);
  return thread;
}

// ---- two at once: each handler runs with its own mask

static unsigned long kernel_mask(void) {
  unsigned long mask = 0;
  CHECK(syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, 8) == 0);
  return mask;
}
// Of the kernel thread that runs this one.
static long kernel_tid(void) {
  char text[64];
  long n = syscall(SYS_readlink, "/proc/thread-self", text, sizeof text - 1);
  CHECK(n > 0);
  text[n] = '\0';
  return atol(strrchr(text, '/') + 1);
}
static unsigned long bit(int sig) { return 1ul << (sig - 1); }
static _Thread_local unsigned long t_first, t_second;
static void first(int sig) {
  (void)sig;
  t_first = kernel_mask();
}
static void second(int sig) {
  (void)sig;
  t_second = kernel_mask();
}

static void check_both(unsigned long never) {
  if (t_first == 0 || t_second == 0 || kernel_mask() != 0)
    fprintf(stderr, "masks 0x%lx 0x%lx, then 0x%lx\n", t_first, t_second, kernel_mask());
  CHECK((t_first & bit(SIGUSR1)) != 0 && (t_first & bit(SIGWINCH)) != 0 && (t_first & never) == 0);
  CHECK((t_second & bit(SIGUSR2)) != 0 && (t_second & never) == 0);
  CHECK(kernel_mask() == 0);
  t_first = t_second = 0;
}
static void* two_at_once(void* unused) {
  unsigned long both = bit(SIGUSR1) | bit(SIGUSR2);
  sigset_t two, none;
  sigemptyset(&none);
  sigemptyset(&two);
  sigaddset(&two, SIGUSR1);
  sigaddset(&two, SIGUSR2);
  for (int i = 0; i < 200; ++i) {
    // Behind libc's back, so that the kernel has both to deliver at the same return.
    CHECK(syscall(SYS_rt_sigprocmask, SIG_BLOCK, &both, NULL, 8) == 0);
    long tid = kernel_tid();
    CHECK(syscall(SYS_tgkill, getpid(), tid, SIGUSR1) == 0);
    CHECK(syscall(SYS_tgkill, getpid(), tid, SIGUSR2) == 0);
    CHECK(syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &both, NULL, 8) == 0);
    check_both(bit(SIGHUP));

    CHECK(pthread_sigmask(SIG_BLOCK, &two, NULL) == 0);
    CHECK(pthread_kill(pthread_self(), SIGUSR1) == 0 && pthread_kill(pthread_self(), SIGUSR2) == 0);
    CHECK(sigsuspend(&none) == -1 && errno == EINTR);
    CHECK(pthread_sigmask(SIG_UNBLOCK, &two, NULL) == 0);
    check_both(bit(SIGHUP));
  }
  return unused;
}

// ---- sent to the process while the only thread that takes it turns to a task that blocks it

struct turn {
  sem_t given;
  atomic_int taken;
};
static void* takes_turns(void* argument) {
  struct turn* turn = argument;
  for (;;) {
    while (sem_wait(&turn->given) != 0) CHECK(errno == EINTR);
    if (++turn->taken < 0) return argument;
  }
}
static void counts(int sig) {
  (void)sig;
  ++g_handled;
}
static void wait_for(atomic_int* counter, int value) {
  for (int i = 0; *counter < value; ++i) {
    CHECK(i < 100000);
    struct timespec us = {0, 100000};
    nanosleep(&us, NULL);
  }
}
static void passed_on(void) {
  enum { kRounds = 2000, kOver = -1000000 };
  static struct turn open, blocking;
  sigset_t usr1;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  sem_init(&open.given, 0, 0), sem_init(&blocking.given, 0, 0);
  pthread_t opens = java(takes_turns, &open);
  CHECK(pthread_sigmask(SIG_BLOCK, &usr1, NULL) == 0);
  pthread_t blocks = java(takes_turns, &blocking);
  g_handled = 0;
  for (int round = 1; round <= kRounds; ++round) {
    sem_post(&open.given);
    wait_for(&open.taken, round);
    struct timespec us = {0, round % 8 * 40000};
    nanosleep(&us, NULL);  // the thread that ran it goes to sleep and blocks nothing
    sem_post(&blocking.given);
    for (volatile int i = round % 100 * 200; i > 0; --i) {  // 0 to some 40 us: it wakes up
    }
    CHECK(kill(getpid(), SIGUSR1) == 0);
    wait_for(&blocking.taken, round);
    CHECK(pthread_sigmask(SIG_UNBLOCK, &usr1, NULL) == 0);
    wait_for(&g_handled, round);
    CHECK(pthread_sigmask(SIG_BLOCK, &usr1, NULL) == 0);
  }
  open.taken = blocking.taken = kOver;
  sem_post(&open.given), sem_post(&blocking.given);
  join(opens), join(blocks);
  CHECK(pthread_sigmask(SIG_UNBLOCK, &usr1, NULL) == 0);
}

int main(void) {
  check_tasks();
  sem_init(&g_woken, 0, 0);
  install(SIGUSR1, wakes, 0);
  for (int i = 0; i < 3; ++i) {
    during_vfork(java, 0);
    during_vfork(native, 0);
    during_vfork(java, 1);
    during_vfork(native, 1);
  }
  install(SIGUSR1, counts, 0);
  passed_on();
  install(SIGUSR1, first, SIGWINCH);
  install(SIGUSR2, second, 0);
  join(java(two_at_once, NULL));
  return 0;
}
