// Who waits for a lock is woken by an unlock under libc's second name for it, and the other way
// round. Old libraries import those; to programs linked today they are hidden.
#include "preload.h"

#define SECOND_NAME(name, type) \
  int name##_2(type*);          \
  __asm__(".symver " #name "_2, __" #name "@" FIRST_VERSION)
#if defined(__x86_64__)
#define FIRST_VERSION "GLIBC_2.2.5"
#else
#define FIRST_VERSION "GLIBC_2.17"
#endif
SECOND_NAME(pthread_mutex_lock, pthread_mutex_t);
SECOND_NAME(pthread_mutex_unlock, pthread_mutex_t);
SECOND_NAME(pthread_rwlock_wrlock, pthread_rwlock_t);
SECOND_NAME(pthread_rwlock_unlock, pthread_rwlock_t);

static pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t g_rwlock = PTHREAD_RWLOCK_INITIALIZER;
static volatile int g_second;  // the other thread uses the second names

static void* waits(void* unused) {
  if (g_second) {
    CHECK(pthread_mutex_lock_2(&g_mutex) == 0 && pthread_mutex_unlock(&g_mutex) == 0);
    CHECK(pthread_rwlock_wrlock_2(&g_rwlock) == 0 && pthread_rwlock_unlock(&g_rwlock) == 0);
  } else {
    CHECK(pthread_mutex_lock(&g_mutex) == 0 && pthread_mutex_unlock_2(&g_mutex) == 0);
    CHECK(pthread_rwlock_wrlock(&g_rwlock) == 0 && pthread_rwlock_unlock_2(&g_rwlock) == 0);
  }
  return unused;
}
static void* holds(void* unused) {
  for (g_second = 0; g_second < 2; ++g_second) {
    CHECK(pthread_mutex_lock(&g_mutex) == 0 && pthread_rwlock_wrlock(&g_rwlock) == 0);
    pthread_t waiter = java(waits, NULL);
    sleep_ms(50);
    CHECK((g_second ? pthread_mutex_unlock : pthread_mutex_unlock_2)(&g_mutex) == 0);
    sleep_ms(50);
    CHECK((g_second ? pthread_rwlock_unlock : pthread_rwlock_unlock_2)(&g_rwlock) == 0);
    join(waiter);
  }
  return unused;
}

int main(void) {
  check_tasks();
  alarm(20);
  join(java(holds, NULL));
  return 0;
}
