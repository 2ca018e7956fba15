// Masks belong to threads: blocked signals wait, sigwait and sigsuspend collect them, and a switch
// inside a handler (HotSpot's SIGSEGV handler takes VM locks) leaks nothing to other threads.
#include <semaphore.h>
#include <sys/syscall.h>

#include "preload.h"

static volatile sig_atomic_t g_count;
static void counts(int sig) {
  (void)sig;
  ++g_count;
}

static void set(sigset_t* s, int sig) {
  sigemptyset(s);
  sigaddset(s, sig);
}

static sem_t g_ready, g_go;

static void* blocks(void* a) {
  sigset_t s, now;
  set(&s, SIGUSR1);
  CHECK(pthread_sigmask(SIG_BLOCK, &s, NULL) == 0);
  sem_post(&g_ready);
  while (sem_wait(&g_go) != 0) {
  }
  CHECK(g_count == 0);
  CHECK(sigpending(&now) == 0 && sigismember(&now, SIGUSR1));
  sigemptyset(&now);
  CHECK(syscall(SYS_rt_sigpending, &now, 8L) == 0 && sigismember(&now, SIGUSR1));
  CHECK(pthread_sigmask(SIG_BLOCK, NULL, &now) == 0 && sigismember(&now, SIGUSR1));
  CHECK(pthread_sigmask(SIG_UNBLOCK, &s, NULL) == 0);
  CHECK(g_count == 1);  // before it returned
  CHECK(pthread_sigmask(99, &s, NULL) == EINVAL);
  return a;
}

static void* waits(void* a) {
  sigset_t s;
  int got = 0;
  set(&s, SIGUSR1);
  CHECK(pthread_sigmask(SIG_BLOCK, &s, NULL) == 0);
  struct timespec soon = {0, 20000000};
  CHECK(sigtimedwait(&s, NULL, &soon) == -1 && errno == EAGAIN);
  sem_post(&g_ready);
  CHECK(sigwait(&s, &got) == 0 && got == SIGUSR1);
  sem_post(&g_ready);
  while (sem_wait(&g_go) != 0) {
  }
  siginfo_t info;
  CHECK(sigwaitinfo(&s, &info) == SIGUSR1 && info.si_code == SI_USER && info.si_pid == getpid());
  return a;
}

// The handshake with which HotSpot suspends threads: the handler itself waits in sigsuspend.
static volatile sig_atomic_t g_suspended, g_resume;
static void suspends(int sig) {
  int error = errno;
  if (!g_resume) {
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    sigdelset(&mask, sig);
    g_suspended = 1;
    do sigsuspend(&mask);
    while (!g_resume);
    g_suspended = 0;
  }
  errno = error;
}
static volatile int g_stop;
static volatile long g_progress;
static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
static void* works(void* a) {
  while (!g_stop) {
    pthread_mutex_lock(&g_lock);
    ++g_progress;
    pthread_mutex_unlock(&g_lock);
    sched_yield();
  }
  return a;
}
static void* works_alone(void* a) {
  while (!g_stop) ++*(volatile long*)a;
  return a;
}
static void suspend_and_resume(pthread_t t, volatile long* progress) {
  for (int i = 0; i < 20; ++i) {
    g_resume = 0;
    CHECK(pthread_kill(t, SIGUSR2) == 0);
    for (int k = 0; k < 60000 && !g_suspended; ++k) sleep_ms(1);
    CHECK(g_suspended);
    long before = *progress;
    sleep_ms(5);
    CHECK(*progress == before);
    g_resume = 1;
    CHECK(pthread_kill(t, SIGUSR2) == 0);
    for (int k = 0; k < 60000 && (g_suspended || *progress == before); ++k) sleep_ms(1);
    CHECK(!g_suspended && *progress != before);
  }
}

// A handler with everything blocked that parks: others must not run under its mask.
static pthread_mutex_t g_vm_lock = PTHREAD_MUTEX_INITIALIZER;
static void parks(int sig, siginfo_t* info, void* context) {
  (void)sig, (void)info, (void)context;
  pthread_mutex_lock(&g_vm_lock);
  ++g_progress;
  pthread_mutex_unlock(&g_vm_lock);
}
static void mask_is_empty(void) {
  sigset_t now;
  CHECK(pthread_sigmask(SIG_BLOCK, NULL, &now) == 0);
  for (int sig = 1; sig < 32; ++sig) CHECK(!sigismember(&now, sig));
}
static void* raises(void* a) {
  for (int i = 0; i < 300; ++i) {
    pthread_kill(pthread_self(), SIGURG);
    mask_is_empty();
  }
  return a;
}
static void* holds(void* a) {
  for (int i = 0; i < 300; ++i) {
    pthread_mutex_lock(&g_vm_lock);
    sched_yield();
    pthread_mutex_unlock(&g_vm_lock);
    mask_is_empty();
    // The kernel's own mask, whichever worker this is.
    char line[256];
    FILE* f = fopen("/proc/thread-self/status", "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
      if (strncmp(line, "SigBlk:", 7) == 0) CHECK((strtoul(line + 7, NULL, 16) & 0x7fffffff) == 0);
    if (f != NULL) fclose(f);
  }
  return a;
}

int main(void) {
  check_tasks();
  sem_init(&g_ready, 0, 0);
  sem_init(&g_go, 0, 0);
  signal(SIGUSR1, counts);
  pthread_t t = java(blocks, NULL);
  while (sem_wait(&g_ready) != 0) {
  }
  for (int i = 0; i < 3; ++i) CHECK(pthread_kill(t, SIGUSR1) == 0);
  sleep_ms(10);
  sem_post(&g_go);
  join(t);

  t = java(waits, NULL);
  while (sem_wait(&g_ready) != 0) {
  }
  sleep_ms(20);
  CHECK(pthread_kill(t, SIGUSR1) == 0);
  while (sem_wait(&g_ready) != 0) {
  }
  CHECK(pthread_kill(t, SIGUSR1) == 0);
  sleep_ms(10);
  sem_post(&g_go);
  join(t);
  CHECK(g_count == 1);

  signal(SIGUSR2, suspends);
  t = java(works, NULL);
  pthread_t other = java(works_alone, calloc(1, sizeof(long)));
  sleep_ms(10);
  suspend_and_resume(t, &g_progress);
  g_stop = 1;
  join(t);
  join(other);
  g_stop = 0;
  long* alone = calloc(1, sizeof(long));
  t = java(works_alone, alone);
  sleep_ms(10);
  suspend_and_resume(t, alone);
  g_stop = 1;
  join(t);

  struct sigaction act;
  memset(&act, 0, sizeof act);
  act.sa_sigaction = parks;
  act.sa_flags = SA_SIGINFO | SA_RESTART;
  sigfillset(&act.sa_mask);
  CHECK(sigaction(SIGURG, &act, NULL) == 0);
  g_progress = 0;
  pthread_t ts[8];
  for (int i = 0; i < 8; ++i) ts[i] = java(i % 2 ? holds : raises, NULL);
  for (int i = 0; i < 8; ++i) join(ts[i]);
  CHECK(g_progress == 4 * 300);
  return 0;
}
