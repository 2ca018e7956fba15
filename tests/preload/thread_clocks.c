// The CPU clocks of threads, as others read them: they never go back, whatever the thread is doing
// meanwhile, and there is one for each kind of time that the kernel keeps.
#include <stdatomic.h>

#include "preload.h"

#define THREADS 4

static atomic_int g_stop;

static double of_clock(clockid_t clock) {
  struct timespec t;
  CHECK(clock_gettime(clock, &t) == 0);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

// Slices of all lengths, ended in all ways.
static void* works(void* seed) {
  unsigned s = (unsigned)(long)seed * 7919 + 77;
  while (!g_stop) {
    s = s * 1103515245 + 12345;
    for (volatile unsigned i = 0; i < (s >> 16) % 60000; ++i) {
    }
    struct timespec pause = {0, (s >> 8) % 100000};
    if ((s >> 20 & 1) != 0)
      nanosleep(&pause, NULL);
    else if ((s >> 21 & 1) != 0)
      sched_yield();
  }
  return NULL;
}

int main(void) {
  pthread_t thread[THREADS];
  clockid_t clock[THREADS];
  double last[THREADS] = {0};
  for (long i = 0; i < THREADS; ++i) {
    thread[i] = java(works, (void*)i);
    CHECK(pthread_getcpuclockid(thread[i], &clock[i]) == 0);
  }
  struct timespec begin = started();
  for (long round = 0; ms_since(&begin) < 1500 || round < 1000; ++round) {
    for (int i = 0; i < THREADS; ++i) {
      double now = of_clock(clock[i]);
      CHECK(now >= last[i]);
      last[i] = now;
    }
    if (round % 16 == 0) sched_yield();
  }
  // CPUCLOCK_PROF, CPUCLOCK_VIRT, CPUCLOCK_SCHED: the two lowest bits (Linux's posix-timers.h).
  for (int kind = 0; kind < 3; ++kind)
    for (int i = 0; i < THREADS; ++i) {
      struct timespec resolution;
      CHECK(of_clock((clock[i] & ~3) | kind) >= 0);
      CHECK(clock_getres((clock[i] & ~3) | kind, &resolution) == 0);
    }
  struct timespec t;
  CHECK(clock_gettime(clock[0] | 3, &t) == -1 && errno == EINVAL);
  g_stop = 1;
  for (int i = 0; i < THREADS; ++i) join(thread[i]);
  return 0;
}
