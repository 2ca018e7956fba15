// Ten days ahead, as libfaketime would have it: the clocks, and the one wait of libc's that the
// test makes with a time of theirs.
#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

enum { kAhead = 10 * 24 * 3600 };

int clock_gettime(clockid_t clock, struct timespec* t) {
  static int (*next)(clockid_t, struct timespec*);
  if (next == NULL) next = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  int e = next(clock, t);
  if (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC) t->tv_sec += kAhead;
  return e;
}

int pthread_cond_timedwait(pthread_cond_t* c, pthread_mutex_t* m, const struct timespec* t) {
  static int (*next)(pthread_cond_t*, pthread_mutex_t*, const struct timespec*);
  if (next == NULL)
    next = (int (*)(pthread_cond_t*, pthread_mutex_t*, const struct timespec*))dlvsym(
        RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
  if (next == NULL)
    next = (int (*)(pthread_cond_t*, pthread_mutex_t*, const struct timespec*))dlsym(
        RTLD_NEXT, "pthread_cond_timedwait");
  struct timespec really = {t->tv_sec - kAhead, t->tv_nsec};
  return next(c, m, &really);
}
