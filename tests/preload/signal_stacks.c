// A signal stack (sigaltstack) is its thread's alone, whichever way the thread has set it and
// however it waits: handlers run on it, and never on another thread's.
#include <poll.h>
#include <semaphore.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "preload.h"

long raw_sigaltstack(const stack_t* stack, stack_t* old);
static int by_raw_call(const stack_t* stack) { return (int)raw_sigaltstack(stack, NULL); }
static int by_libc(const stack_t* stack) { return sigaltstack(stack, NULL); }
static int by_syscall(const stack_t* stack) { return (int)syscall(SYS_sigaltstack, stack, NULL); }
static int (*const g_ways[])(const stack_t*) = {by_raw_call, by_libc, by_syscall};

enum { kStackSize = 64 * 1024 };
static __thread char* t_stack;               // null: it has none
static __thread volatile int t_handled = 0;  // times that a handler ran, where it should

static void on_signal(int signal) {
  char here;
  int on_own = t_stack != NULL && &here >= t_stack && &here < t_stack + kStackSize;
  CHECK(on_own == (t_stack != NULL));
  // It may wait, and is still there afterwards.
  sched_yield();
  if (signal == SIGUSR2) sleep_ms(1);
  CHECK(!on_own || (&here >= t_stack && &here < t_stack + kStackSize));
  ++t_handled;
}

// As the kernel has it for the thread that we are on.
static void look(void) {
  stack_t now;
  CHECK(raw_sigaltstack(NULL, &now) == 0);
  if (t_stack == NULL)
    CHECK((now.ss_flags & SS_DISABLE) != 0);
  else
    CHECK((now.ss_flags & SS_DISABLE) == 0 && now.ss_sp == t_stack && now.ss_size == kStackSize);
}
static void look_and_raise(void) {
  look();
  int before = t_handled;
  CHECK(pthread_kill(pthread_self(), SIGUSR1) == 0 && t_handled == before + 1);
  CHECK(raise(SIGUSR2) == 0 && t_handled == before + 2);
  look();
}

// ---- all threads meet in these, with a signal stack and without

static pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t g_turn = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t g_all;
static sem_t g_sem;
static int g_whose;
static int g_file;

static void takes_turns(int me, int threads) {
  pthread_mutex_lock(&g_mutex);
  for (int i = 0; i < 20; ++i) {
    while (g_whose != me) pthread_cond_wait(&g_turn, &g_mutex);
    g_whose = (me + 1) % threads;
    pthread_cond_broadcast(&g_turn);
  }
  pthread_mutex_unlock(&g_mutex);
}

static void* answers(void* fd) {
  char byte;
  while (read((int)(long)fd, &byte, 1) == 1) CHECK(write((int)(long)fd, &byte, 1) == 1);
  return NULL;
}
static void asks(void) {
  int pair[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  pthread_t other = java(answers, (void*)(long)pair[1]);
  struct pollfd p = {pair[0], POLLIN, 0};
  for (int i = 0; i < 20; ++i) {
    char byte = (char)i;
    CHECK(write(pair[0], &byte, 1) == 1);
    if (i % 2 != 0) CHECK(poll(&p, 1, 5000) == 1);
    CHECK(read(pair[0], &byte, 1) == 1 && byte == (char)i);
  }
  CHECK(poll(&p, 1, 1) == 0);
  CHECK(shutdown(pair[0], SHUT_WR) == 0);
  join(other);
  close(pair[0]);
  close(pair[1]);
}

static void waits_of_all_kinds(void) {
  for (int i = 0; i < 50; ++i) sched_yield();
  look_and_raise();
  sleep_ms(1);
  look_and_raise();
  CHECK(sem_wait(&g_sem) == 0);
  sleep_ms(1);
  CHECK(sem_post(&g_sem) == 0);
  look();
  asks();
  look_and_raise();
  CHECK(flock(g_file, LOCK_EX) == 0 && flock(g_file, LOCK_UN) == 0);
  look();
  struct timespec soon;
  clock_gettime(CLOCK_REALTIME, &soon);
  soon.tv_nsec += 2000000;
  if (soon.tv_nsec >= 1000000000) soon.tv_nsec -= 1000000000, ++soon.tv_sec;
  pthread_mutex_lock(&g_mutex);
  int r = 0;
  while (r == 0) {
    static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
    r = pthread_cond_timedwait(&never, &g_mutex, &soon);
  }
  CHECK(r == ETIMEDOUT);
  pthread_mutex_unlock(&g_mutex);
  look_and_raise();
}

enum { kThreads = 9 };

static void set_stack(int (*way)(const stack_t*)) {
  t_stack = malloc(kStackSize);
  stack_t stack = {.ss_sp = t_stack, .ss_size = kStackSize};
  CHECK(way(&stack) == 0);
}
static void take_stack_away(int (*way)(const stack_t*)) {
  stack_t none = {.ss_flags = SS_DISABLE};
  CHECK(way(&none) == 0);
  free(t_stack);
  t_stack = NULL;
}

static void* lives(void* number) {
  int me = (int)(long)number;
  look();  // nothing of who was here before
  int (*way)(const stack_t*) = me % 2 == 0 ? g_ways[me / 2 % 3] : NULL;
  if (way != NULL) set_stack(way);
  takes_turns(me, kThreads);
  look_and_raise();
  waits_of_all_kinds();
  int r = pthread_barrier_wait(&g_all);
  CHECK(r == 0 || r == PTHREAD_BARRIER_SERIAL_THREAD);
  // Some end with it, as a thread of Go's may.
  if (way != NULL && me % 4 == 0) take_stack_away(way);
  waits_of_all_kinds();
  return NULL;
}

// ---- a thread with a signal stack is found by signals while it waits

static int g_pipe[2];
static volatile int g_reader_is_in;
static volatile int g_told;

static void* reads_until_told(void* unused) {
  set_stack(by_raw_call);
  char byte;
  // SIGUSR1 is without SA_RESTART.
  struct nagging n;
  begin_nagging(&n, SIGUSR1);
  CHECK(read(g_pipe[0], &byte, 1) == -1 && errno == EINTR);
  end_nagging(&n);
  CHECK(t_handled != 0);
  // A lock is not given up for a signal, but its handler runs meanwhile. (Only now not blocked: the
  // thread that has sent the others would not have blocked it either.)
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, SIGTERM);
  CHECK(pthread_sigmask(SIG_UNBLOCK, &one, NULL) == 0);
  int before = t_handled;
  g_told = 0;
  g_reader_is_in = 1;
  CHECK(pthread_mutex_lock(&g_mutex) == 0);
  pthread_mutex_unlock(&g_mutex);
  CHECK(g_told == 1);
  CHECK(t_handled == before + 1);
  look();
  return unused;
}
static void on_term(int signal) {
  on_signal(signal);
  g_told = 1;
}

// To the process, and only that thread does not block it.
static void tells_who_waits_for_a_lock(void) {
  CHECK(pipe(g_pipe) == 0);
  pthread_mutex_lock(&g_mutex);
  pthread_t reader = java(reads_until_told, NULL);
  while (g_reader_is_in == 0) sleep_ms(1);
  sleep_ms(200);  // it is in the lock by now, or the signal comes before
  CHECK(kill(getpid(), SIGTERM) == 0);
  struct timespec start = started();
  while (g_told == 0 && ms_since(&start) < 20000) sleep_ms(1);
  CHECK(g_told == 1);
  pthread_mutex_unlock(&g_mutex);
  join(reader);
  close(g_pipe[0]);
  close(g_pipe[1]);
  g_reader_is_in = 0;
}

static void* all_of_it(void* unused) {
  for (int round = 0; round < 5; ++round) {
    pthread_t t[kThreads];
    g_whose = 0;
    for (int i = 0; i < kThreads; ++i) t[i] = java(lives, (void*)(long)i);
    for (int i = 0; i < kThreads; ++i) join(t[i]);
    tells_who_waits_for_a_lock();
  }
  return unused;
}

int main(void) {
  check_tasks();
  struct sigaction act = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
  CHECK(sigaction(SIGUSR1, &act, NULL) == 0);
  act.sa_flags = SA_ONSTACK | SA_RESTART;
  CHECK(sigaction(SIGUSR2, &act, NULL) == 0);
  act.sa_handler = on_term;
  CHECK(sigaction(SIGTERM, &act, NULL) == 0);
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  CHECK(pthread_sigmask(SIG_BLOCK, &term, NULL) == 0);
  CHECK(pthread_barrier_init(&g_all, NULL, kThreads) == 0);
  CHECK(sem_init(&g_sem, 0, 2) == 0);
  FILE* file = tmpfile();
  CHECK(file != NULL);
  g_file = fileno(file);
  join(java(all_of_it, NULL));
  return 0;
}
