// Another library's clocks: a wait until a time of theirs lasts as long as they say, on a task and
// on a kernel thread.
#include "preload.h"

static void* waits(void* unused) {
  pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
  clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC};
  for (int i = 0; i < 2; ++i) {
    pthread_condattr_t attr;
    pthread_cond_t c;
    CHECK(pthread_condattr_init(&attr) == 0 && pthread_condattr_setclock(&attr, clocks[i]) == 0);
    CHECK(pthread_cond_init(&c, &attr) == 0);
    struct timespec start = started(), t;
    clock_gettime(clocks[i], &t);
    t.tv_nsec += 100000000;
    if (t.tv_nsec >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
    CHECK(pthread_mutex_lock(&m) == 0);
    while (pthread_cond_timedwait(&c, &m, &t) == 0) {
    }
    CHECK(pthread_mutex_unlock(&m) == 0);
    CHECK(ms_since(&start) >= 99);
    start = started();
    sleep_ms(20);
    CHECK(ms_since(&start) >= 20);
  }
  return unused;
}

int main(void) {
  alarm(100);
  check_tasks();
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  CHECK(t.tv_sec > time(NULL) + 9 * 24 * 3600);  // time(2) is not the module's
  join(java(waits, NULL));
  waits(NULL);
  return 0;
}
