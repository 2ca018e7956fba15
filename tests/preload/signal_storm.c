// Signals to threads and to the process from all sides while everybody locks, waits and posts: all
// directed ones are handled by the right thread, handlers may post semaphores, nothing hangs.
#include <semaphore.h>
#include <sys/time.h>

#include "preload.h"

enum { kThreads = 16, kRounds = 200, kMilliseconds = 1500, kTicks = kMilliseconds / 10 };
static pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t g_cond = PTHREAD_COND_INITIALIZER;
static sem_t g_posted;
static volatile int g_stop;
static int g_begun;
static pthread_t g_threads[kThreads];
static volatile int g_handled[kThreads], g_wrong, g_rounds;
static volatile sig_atomic_t g_ticks, g_process;
static __thread int my_index = -1;

static void directed(int sig) {
  (void)sig;
  if (my_index < 0 || !pthread_equal(g_threads[my_index], pthread_self()))
    ++g_wrong;
  else
    ++g_handled[my_index];
}
static void posts(int sig) {
  (void)sig;
  ++g_process;
  sem_post(&g_posted);
}
static void ticks(int sig) {
  (void)sig;
  ++g_ticks;
}

static long now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void* churns(void* index) {
  my_index = (int)(long)index;
  __atomic_add_fetch(&g_begun, 1, __ATOMIC_SEQ_CST);
  while (!g_stop) {
    pthread_mutex_lock(&g_mutex);
    struct timespec soon;
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_nsec += 200000;
    if (soon.tv_nsec >= 1000000000) soon.tv_sec++, soon.tv_nsec -= 1000000000;
    if (my_index % 3 == 0) pthread_cond_timedwait(&g_cond, &g_mutex, &soon);
    if (my_index % 3 == 1) pthread_cond_signal(&g_cond);
    pthread_mutex_unlock(&g_mutex);
    sched_yield();
  }
  return NULL;
}

// As many rounds as there is time for: on plain threads a round takes long, on tasks it does not.
// And as many as there are ticks to be seen: most of the time may have gone to others.
static void* sends(void* argument) {
  (void)argument;
  long begin = now_ms(), end = begin + kMilliseconds, at_most = begin + 60000;
  for (; g_rounds < kRounds || now_ms() < end || (g_ticks <= kTicks && now_ms() < at_most);
       ++g_rounds)
    for (int i = 0; i < kThreads; ++i) {
      int before = g_handled[i];
      CHECK(pthread_kill(g_threads[i], SIGUSR1) == 0);
      long since = now_ms();
      for (long n = 1; g_handled[i] == before; ++n) {
        CHECK(n % 1000 != 0 || now_ms() < since + 60000);
        sched_yield();
      }
    }
  return NULL;
}

int main(void) {
  check_tasks();
  sem_init(&g_posted, 0, 0);
  struct sigaction act;
  memset(&act, 0, sizeof act);
  act.sa_flags = SA_RESTART;
  act.sa_handler = directed;
  CHECK(sigaction(SIGUSR1, &act, NULL) == 0);
  act.sa_handler = posts;
  CHECK(sigaction(SIGUSR2, &act, NULL) == 0);
  act.sa_handler = ticks;
  CHECK(sigaction(SIGALRM, &act, NULL) == 0);
  struct itimerval interval = {{0, 500}, {0, 500}};
  CHECK(setitimer(ITIMER_REAL, &interval, NULL) == 0);

  for (long i = 0; i < kThreads; ++i) CHECK(start_java(&g_threads[i], NULL, churns, (void*)i) == 0);
  while (__atomic_load_n(&g_begun, __ATOMIC_SEQ_CST) < kThreads)
    sleep_ms(1);  // they know who they are
  pthread_t sender = java(sends, NULL);
  for (int i = 0; i < 500; ++i) {
    CHECK(kill(getpid(), SIGUSR2) == 0);
    while (sem_wait(&g_posted) != 0) CHECK(errno == EINTR);
  }
  join(sender);
  g_stop = 1;
  for (int i = 0; i < kThreads; ++i) join(g_threads[i]);
  CHECK(g_wrong == 0 && g_process == 500);
  for (int i = 0; i < kThreads; ++i) CHECK(g_handled[i] == g_rounds);
  printf("%d rounds, %d ticks\n", g_rounds, (int)g_ticks);
  CHECK(g_ticks > kTicks);  // one in 0.5 ms was asked for
  return 0;
}
