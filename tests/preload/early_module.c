#include "early_module.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "preload.h"

pthread_rwlock_t early_wrote = PTHREAD_RWLOCK_INITIALIZER, early_read = PTHREAD_RWLOCK_INITIALIZER;
pthread_rwlock_t early_writes = PTHREAD_RWLOCK_INITIALIZER,
                 early_reads = PTHREAD_RWLOCK_INITIALIZER;
pthread_barrier_t early_met, early_parted;
pthread_mutex_t early_mutex = PTHREAD_MUTEX_INITIALIZER,
                early_owned = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

pthread_t early_threads[EARLY_THREADS];
pthread_mutex_t early_guard = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t early_wanted = PTHREAD_COND_INITIALIZER, early_signalled = PTHREAD_COND_INITIALIZER,
               early_left = PTHREAD_COND_INITIALIZER, early_turn = PTHREAD_COND_INITIALIZER;
int early_go, early_over, early_turns;
sem_t early_semaphore;
pthread_rwlock_t early_for_reader = PTHREAD_RWLOCK_INITIALIZER,
                 early_for_writer = PTHREAD_RWLOCK_INITIALIZER,
                 early_for_last = PTHREAD_RWLOCK_INITIALIZER;
pthread_barrier_t early_barrier;
int early_futex;

#ifdef WAITERS

static pid_t tids[EARLY_THREADS];

static void lock_once(pthread_mutex_t* m) {
  CHECK(pthread_mutex_lock(m) == 0);
  CHECK(pthread_mutex_unlock(m) == 0);
}

static void wait_until(pthread_cond_t* c, const int* what) {
  CHECK(pthread_mutex_lock(&early_guard) == 0);
  while (!*what) CHECK(pthread_cond_wait(c, &early_guard) == 0);
  CHECK(pthread_mutex_unlock(&early_guard) == 0);
}

// As a background thread that looks in every now and then.
static void take_turns(void) {
  CHECK(pthread_mutex_lock(&early_guard) == 0);
  while (!early_over) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += 10000000;
    if (t.tv_nsec >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
    // The first one, which begins in libc, lasts until there is somebody to compete with.
    if (early_turns == 0) t.tv_sec += 2;
    int e = pthread_cond_timedwait(&early_turn, &early_guard, &t);
    CHECK(e == 0 || e == ETIMEDOUT);
    ++early_turns;
  }
  CHECK(pthread_mutex_unlock(&early_guard) == 0);
}

static void* waits(void* which) {
  __atomic_store_n(&tids[(long)which], gettid(), __ATOMIC_SEQ_CST);
  switch ((long)which) {
    case LOCKS:
      lock_once(&early_mutex);
      break;
    case LOCKS_OWNED:
      lock_once(&early_owned);
      break;
    case WAITS:
      wait_until(&early_wanted, &early_go);
      break;
    case IS_SIGNALLED:
      wait_until(&early_signalled, &early_go);
      break;
    case LEAVES:
      wait_until(&early_left, &early_go);
      break;
    case TAKES_TURNS:
      take_turns();
      break;
    case POSTED:
      CHECK(sem_wait(&early_semaphore) == 0);
      break;
    case READS:
      CHECK(pthread_rwlock_rdlock(&early_for_reader) == 0);
      CHECK(pthread_rwlock_unlock(&early_for_reader) == 0);
      break;
    case WRITES:
      CHECK(pthread_rwlock_wrlock(&early_for_writer) == 0);
      CHECK(pthread_rwlock_unlock(&early_for_writer) == 0);
      break;
    case WRITES_LAST:
      CHECK(pthread_rwlock_wrlock(&early_for_last) == 0);
      CHECK(pthread_rwlock_unlock(&early_for_last) == 0);
      break;
    case MEETS: {
      int e = pthread_barrier_wait(&early_barrier);
      CHECK(e == 0 || e == PTHREAD_BARRIER_SERIAL_THREAD);
      break;
    }
    case FUTEX:
      while (!__atomic_load_n(&early_futex, __ATOMIC_SEQ_CST))
        syscall(SYS_futex, &early_futex, 128, 0, NULL);  // FUTEX_WAIT_PRIVATE
      break;
  }
  return NULL;
}

// Whether a thread sleeps in futex(2).
static int sleeps(pid_t tid) {
  char path[64], text[32] = "";
  snprintf(path, sizeof path, "/proc/self/task/%d/syscall", tid);
  FILE* f = fopen(path, "r");
  if (f == NULL) return 0;
  int known = fgets(text, sizeof text, f) != NULL;
  fclose(f);
  return known && atoi(text) == SYS_futex;
}

__attribute__((constructor)) static void before(void) {
  CHECK(sem_init(&early_semaphore, 0, 0) == 0);
  CHECK(pthread_barrier_init(&early_barrier, NULL, 2) == 0);
  CHECK(pthread_mutex_lock(&early_mutex) == 0);
  CHECK(pthread_mutex_lock(&early_owned) == 0);
  CHECK(pthread_rwlock_wrlock(&early_for_reader) == 0);
  CHECK(pthread_rwlock_wrlock(&early_for_writer) == 0);
  CHECK(pthread_rwlock_rdlock(&early_for_last) == 0);
  for (long i = 0; i < EARLY_THREADS; ++i) {
    CHECK(pthread_create(&early_threads[i], NULL, waits, (void*)i) == 0);
    pid_t tid;
    while ((tid = __atomic_load_n(&tids[i], __ATOMIC_SEQ_CST)) == 0 || !sleeps(tid)) sleep_ms(1);
  }
}

#else

static void* meets(void* barrier) {
  int e = pthread_barrier_wait(barrier);
  CHECK(e == 0 || e == PTHREAD_BARRIER_SERIAL_THREAD);
  return NULL;
}

__attribute__((constructor)) static void before(void) {
  CHECK(pthread_rwlock_wrlock(&early_wrote) == 0 && pthread_rwlock_unlock(&early_wrote) == 0);
  CHECK(pthread_rwlock_rdlock(&early_read) == 0 && pthread_rwlock_unlock(&early_read) == 0);
  CHECK(pthread_rwlock_wrlock(&early_writes) == 0);
  CHECK(pthread_rwlock_rdlock(&early_reads) == 0);
  CHECK(pthread_rwlock_rdlock(&early_reads) == 0);
  CHECK(pthread_mutex_lock(&early_mutex) == 0);
  CHECK(pthread_mutex_lock(&early_owned) == 0);
  pthread_barrier_t* barriers[] = {&early_met, &early_parted};
  for (int i = 0; i < 2; ++i) {
    CHECK(pthread_barrier_init(barriers[i], NULL, 2) == 0);
    pthread_t one, other;
    CHECK(pthread_create(&one, NULL, meets, barriers[i]) == 0);
    CHECK(pthread_create(&other, NULL, meets, barriers[i]) == 0);
    CHECK(pthread_join(one, NULL) == 0 && pthread_join(other, NULL) == 0);
  }
}

#endif
