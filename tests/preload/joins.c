// What pthread_tryjoin_np, pthread_timedjoin_np and pthread_clockjoin_np answer that a program
// would not expect: libc looks at the thread first, and waits on while the kernel calls its time
// none.
#include <gnu/libc-version.h>
#include <stdatomic.h>

#include "preload.h"

static atomic_int g_over;
static void* waits(void* unused) {
  while (!g_over) sleep_ms(1);
  return unused;
}
static void* sleeps(void* result) {
  sleep_ms(100);
  return result;
}

static void detached(void) {
  pthread_attr_t attributes;
  CHECK(pthread_attr_init(&attributes) == 0);
  CHECK(pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED) == 0);
  struct timespec past = {0, 0}, none = {0, -1};
  for (int born_so = 0; born_so < 2; ++born_so) {
    pthread_t t;
    g_over = 0;
    CHECK(start_java(&t, born_so ? &attributes : NULL, waits, NULL) == 0);
    if (!born_so) CHECK(pthread_detach(t) == 0);
    CHECK(pthread_tryjoin_np(t, NULL) == EBUSY);
    CHECK(pthread_timedjoin_np(t, NULL, &past) == EINVAL);
    CHECK(pthread_timedjoin_np(t, NULL, &none) == EINVAL);
    CHECK(pthread_join(t, NULL) == EINVAL && pthread_detach(t) == EINVAL);
    g_over = 1;
    sleep_ms(20);
    // Too late: on plain threads, its memory may be gone.
    if (getenv("EXPECT_TASKS") != NULL)
      CHECK(pthread_join(t, NULL) == EINVAL && pthread_detach(t) == EINVAL);
  }
}

// What glibc made of them changed with 2.41.
static int are_refused(void) { return atoi(gnu_get_libc_version() + 2) >= 41; }

static void no_times(void) {
  static const long kNone[] = {-1, 1000000000, 2000000000};
  for (int i = 0; i < 6; ++i) {
    struct timespec now = started(), past = {-5, kNone[i / 2]}, none = {0, kNone[i / 2]};
    int result = 0;
    void* got = NULL;
    pthread_t t = java(sleeps, &result);
    if (are_refused()) {
      CHECK(pthread_timedjoin_np(t, &got, &past) == EINVAL);
      CHECK(pthread_timedjoin_np(t, &got, &none) == EINVAL);
      CHECK(pthread_clockjoin_np(t, &got, CLOCK_MONOTONIC, &past) == EINVAL);
      CHECK(pthread_clockjoin_np(t, &got, CLOCK_MONOTONIC, &none) == EINVAL);
      CHECK(pthread_join(t, &got) == 0);
    } else if (i % 2 == 0) {
      CHECK(pthread_timedjoin_np(t, &got, &past) == ETIMEDOUT);
      CHECK(pthread_timedjoin_np(t, &got, &none) == 0);
    } else {
      CHECK(pthread_clockjoin_np(t, &got, CLOCK_MONOTONIC, &past) == ETIMEDOUT);
      CHECK(pthread_clockjoin_np(t, &got, CLOCK_MONOTONIC, &none) == 0);
    }
    CHECK(got == &result && ms_since(&now) >= 90);
  }
}

static void* all(void* unused) {
  detached();
  no_times();
  return unused;
}

int main(void) {
  check_tasks();
  join(java(all, NULL));
  all(NULL);
  return 0;
}
