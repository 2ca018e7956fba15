// pthread_kill to a thread in every situation, and what handlers may do.
#include <semaphore.h>
#include <setjmp.h>
#include <sys/socket.h>

#include "preload.h"

static volatile sig_atomic_t g_count;
static pthread_t volatile g_where;
static volatile int g_code, g_stop;

static void notes(int sig, siginfo_t* info, void* context) {
  (void)sig, (void)context;
  g_where = pthread_self();
  g_code = info->si_code;
  ++g_count;
}

static void install(int sig, void (*handler)(int, siginfo_t*, void*), int flags) {
  struct sigaction act;
  memset(&act, 0, sizeof act);
  act.sa_sigaction = handler;
  act.sa_flags = SA_SIGINFO | flags;
  CHECK(sigaction(sig, &act, NULL) == 0);
}

static void expect(pthread_t who, int count) {
  for (int i = 0; i < 60000 && g_count < count; ++i) sleep_ms(1);
  CHECK(g_count == count);
  CHECK(pthread_equal(g_where, who));
  CHECK(g_code == SI_TKILL);
}

static pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t g_cond = PTHREAD_COND_INITIALIZER;
static sem_t g_semaphore;
static int g_flag, g_pipe[2];

static void* in_condition(void* a) {
  pthread_mutex_lock(&g_mutex);
  while (!g_flag) pthread_cond_wait(&g_cond, &g_mutex);
  pthread_mutex_unlock(&g_mutex);
  return a;
}
static void* in_mutex(void* a) {
  pthread_mutex_lock(&g_mutex);
  pthread_mutex_unlock(&g_mutex);
  return a;
}
static void* spinning(void* a) {
  while (!g_stop) {
  }
  return a;
}
// Set by a thread whose call was interrupted; it stays until it is told to leave, for another
// signal may be on its way.
static volatile int g_over, g_leave;
static void interrupted(void) {
  g_over = 1;
  while (!g_leave) sleep_ms(1);
}

static void* in_read(void* a) {
  char c;
  ssize_t n = read(g_pipe[0], &c, 1);
  CHECK(n == -1 && errno == EINTR);
  interrupted();
  return a;
}
static void* in_semaphore(void* a) {
  CHECK(sem_wait(&g_semaphore) == -1 && errno == EINTR);
  interrupted();
  return a;
}
static void* in_sleep(void* a) {
  struct timespec t = {1000, 0}, left = {0, 0};
  CHECK(nanosleep(&t, &left) == -1 && errno == EINTR && left.tv_sec > 900);
  interrupted();
  return a;
}
static void* to_itself(void* a) {
  int before = g_count;
  CHECK(pthread_kill(pthread_self(), SIGUSR1) == 0);
  CHECK(g_count == before + 1);
  CHECK(raise(SIGUSR1) == 0);
  CHECK(g_count == before + 2);
  CHECK(pthread_equal(g_where, pthread_self()));
  return a;
}

// Nothing shows from outside that a thread has come as far as its call: on a busy machine the
// signal may arrive before that, and the call then waits for another one. Returns how many it took.
static int interrupt(pthread_t t) {
  int sent = 0;
  sleep_ms(20);
  do {
    int before = g_count;
    CHECK(pthread_kill(t, SIGUSR1) == 0);
    ++sent;
    // Two that are pending at the same time would be one.
    while (g_count == before) sleep_ms(1);
    for (int i = 0; i < 200 && !g_over; ++i) sleep_ms(1);
  } while (!g_over);
  g_leave = 1;
  join(t);
  g_over = g_leave = 0;
  return sent;
}

static void everywhere(void) {
  int expected = 0;
  pthread_t t;

  t = java(in_condition, NULL);
  sleep_ms(20);
  for (int i = 0; i < 3; ++i) {
    CHECK(pthread_kill(t, SIGUSR1) == 0);
    expect(t, ++expected);
  }
  pthread_mutex_lock(&g_mutex);
  g_flag = 1;
  pthread_cond_signal(&g_cond);
  pthread_mutex_unlock(&g_mutex);
  join(t);

  pthread_mutex_lock(&g_mutex);
  t = java(in_mutex, NULL);
  sleep_ms(20);
  CHECK(pthread_kill(t, SIGUSR1) == 0);
  expect(t, ++expected);
  pthread_mutex_unlock(&g_mutex);
  join(t);

  t = java(spinning, NULL);
  sleep_ms(20);
  CHECK(pthread_kill(t, 0) == 0);
  CHECK(pthread_kill(t, SIGUSR1) == 0);
  expect(t, ++expected);
  g_stop = 1;
  join(t);

  t = java(in_read, NULL);
  expected += interrupt(t);
  expect(t, expected);

  t = java(in_semaphore, NULL);
  expected += interrupt(t);
  expect(t, expected);

  t = java(in_sleep, NULL);
  expected += interrupt(t);
  expect(t, expected);

  join(java(to_itself, NULL));
  CHECK(pthread_kill(java(in_sleep, NULL), 65) == EINVAL);
}

// A handler that is one-shot, that is asked for, that is ignored.
static void old_style(int sig) {
  (void)sig;
  ++g_count;
}
static void queries(void) {
  struct sigaction now, before;
  memset(&before, 0, sizeof before);
  before.sa_sigaction = notes;
  before.sa_flags = SA_SIGINFO | SA_RESTART | (int)SA_RESETHAND;
  sigaddset(&before.sa_mask, SIGHUP);
  CHECK(sigaction(SIGUSR2, &before, NULL) == 0);
  CHECK(sigaction(SIGUSR2, NULL, &now) == 0);
  CHECK(now.sa_sigaction == notes);
  CHECK((now.sa_flags & 0xffffffff) == (before.sa_flags & 0xffffffff) ||
        (now.sa_flags & ~0x04000000) == before.sa_flags);
  CHECK(sigismember(&now.sa_mask, SIGHUP) && !sigismember(&now.sa_mask, SIGINT));
  int count = g_count;
  CHECK(raise(SIGUSR2) == 0 && g_count == count + 1);
  int flags = now.sa_flags;
  CHECK(sigaction(SIGUSR2, NULL, &now) == 0 && now.sa_handler == SIG_DFL);
  CHECK(now.sa_flags == flags && sigismember(&now.sa_mask, SIGHUP));  // all but the handler

  CHECK(signal(SIGUSR2, old_style) == SIG_DFL);
  CHECK(raise(SIGUSR2) == 0 && g_count == count + 2);
  CHECK(raise(SIGUSR2) == 0 && g_count == count + 3);
  CHECK(signal(SIGUSR2, SIG_IGN) == old_style);
  CHECK(raise(SIGUSR2) == 0 && g_count == count + 3);
  CHECK(signal(SIGUSR2, SIG_DFL) == SIG_IGN);
  CHECK(signal(SIGKILL, old_style) == SIG_ERR && errno == EINVAL);
  CHECK(sigaction(0, &before, NULL) == -1 && errno == EINVAL);
  CHECK(sigaction(65, NULL, &now) == -1 && errno == EINVAL);
}
static void* queries_on_task(void* a) {
  queries();
  return a;
}

// HotSpot's way with a null check: the handler changes where the program goes on.
static sigjmp_buf g_out;
static void jumps(int sig, siginfo_t* info, void* context) {
  (void)sig, (void)context;
  CHECK(info->si_addr == (void*)16);
  siglongjmp(g_out, 1);
}
static void* faults(void* a) {
  for (volatile int i = 0; i < 100; ++i) {
    int* volatile nowhere = (int*)16;
    if (sigsetjmp(g_out, 1) == 0) *nowhere = 1;
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    CHECK(!sigismember(&mask, SIGSEGV));
    sched_yield();
  }
  return a;
}

int main(void) {
  check_tasks();
  CHECK(pipe(g_pipe) == 0 && sem_init(&g_semaphore, 0, 0) == 0);
  install(SIGUSR1, notes, 0);
  everywhere();
  queries();
  join(java(queries_on_task, NULL));
  install(SIGSEGV, jumps, 0);
  join(java(faults, NULL));
  return 0;
}
