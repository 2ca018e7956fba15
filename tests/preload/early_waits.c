// Threads that have begun to wait in libc before Wisp interposed, most beside a task that waits for
// the same thing.
#include <limits.h>
#include <sys/syscall.h>

#include "early_module.h"
#include "preload.h"

static int begun;
static void note(void) { __atomic_fetch_add(&begun, 1, __ATOMIC_SEQ_CST); }
// A task that is about to wait; whether it does already, no test may depend on.
static pthread_t beside(void* (*run)(void*), void* argument) {
  int before = __atomic_load_n(&begun, __ATOMIC_SEQ_CST);
  pthread_t thread = java(run, argument);
  while (__atomic_load_n(&begun, __ATOMIC_SEQ_CST) == before) sleep_ms(1);
  sleep_ms(20);
  return thread;
}

static void* locks(void* mutex) {
  note();
  CHECK(pthread_mutex_lock(mutex) == 0 && pthread_mutex_unlock(mutex) == 0);
  return NULL;
}
static void unlock(pthread_mutex_t* mutex, int early) {
  pthread_t task = beside(locks, mutex);
  CHECK(pthread_mutex_unlock(mutex) == 0);
  join(task);
  join(early_threads[early]);
  CHECK(pthread_mutex_lock(mutex) == 0 && pthread_mutex_unlock(mutex) == 0);
}

static void* waits(void* condition) {
  note();
  CHECK(pthread_mutex_lock(&early_guard) == 0);
  while (!early_go) CHECK(pthread_cond_wait(condition, &early_guard) == 0);
  CHECK(pthread_mutex_unlock(&early_guard) == 0);
  return NULL;
}

static void* competes(void* turns) {
  for (;;) {
    CHECK(pthread_mutex_lock(&early_guard) == 0);
    int over = early_turns >= *(int*)turns;
    for (volatile int i = 0; i < 2000; ++i) {
    }
    CHECK(pthread_mutex_unlock(&early_guard) == 0);
    if (over) return NULL;
  }
}

static void conditions(void) {
  pthread_t one = beside(waits, &early_wanted), other = beside(waits, &early_signalled);
  CHECK(pthread_mutex_lock(&early_guard) == 0);
  early_go = 1;
  CHECK(pthread_cond_broadcast(&early_wanted) == 0);
  CHECK(pthread_cond_signal(&early_signalled) == 0);  // one for each of the two
  CHECK(pthread_cond_signal(&early_signalled) == 0);
  CHECK(pthread_cond_broadcast(&early_left) == 0);
  CHECK(pthread_mutex_unlock(&early_guard) == 0);
  CHECK(pthread_cond_destroy(&early_left) == 0);  // waits until who was woken has let go of it
  memset(&early_left, 0xff, sizeof early_left);
  join(one);
  join(other);
  join(early_threads[WAITS]);
  join(early_threads[IS_SIGNALLED]);
  join(early_threads[LEAVES]);

  int turns = 20;
  one = java(competes, &turns);
  other = java(competes, &turns);
  join(one);
  join(other);
  CHECK(pthread_mutex_lock(&early_guard) == 0);
  early_over = 1;
  CHECK(pthread_cond_signal(&early_turn) == 0);
  CHECK(pthread_mutex_unlock(&early_guard) == 0);
  join(early_threads[TAKES_TURNS]);
}

static void* takes(void* semaphore) {
  note();
  CHECK(sem_wait(semaphore) == 0);
  return NULL;
}

static void* writes(void* lock) {
  note();
  CHECK(pthread_rwlock_wrlock(lock) == 0 && pthread_rwlock_unlock(lock) == 0);
  return NULL;
}
static void* reads(void* lock) {
  note();
  CHECK(pthread_rwlock_rdlock(lock) == 0 && pthread_rwlock_unlock(lock) == 0);
  return NULL;
}
static void release(pthread_rwlock_t* lock, int early) {
  pthread_t one = beside(writes, lock), other = beside(reads, lock);
  CHECK(pthread_rwlock_unlock(lock) == 0);
  join(one);
  join(other);
  join(early_threads[early]);
  writes(lock);
}

static void* meets(void* barrier) {
  int e = pthread_barrier_wait(barrier);
  CHECK(e == 0 || e == PTHREAD_BARRIER_SERIAL_THREAD);
  return NULL;
}

int main(void) {
  alarm(100);
  check_tasks();
  unlock(&early_mutex, LOCKS);
  unlock(&early_owned, LOCKS_OWNED);
  conditions();

  pthread_t task = beside(takes, &early_semaphore);
  CHECK(sem_post(&early_semaphore) == 0 && sem_post(&early_semaphore) == 0);
  join(task);
  join(early_threads[POSTED]);
  CHECK(sem_trywait(&early_semaphore) == -1);

  release(&early_for_reader, READS);
  release(&early_for_writer, WRITES);
  release(&early_for_last, WRITES_LAST);

  join(java(meets, &early_barrier));
  join(early_threads[MEETS]);
  task = java(meets, &early_barrier);
  meets(&early_barrier);
  join(task);
  CHECK(pthread_barrier_destroy(&early_barrier) == 0);

  int other = 0;  // FUTEX_REQUEUE_PRIVATE of nobody
  CHECK(syscall(SYS_futex, &early_futex, 131, 0L, 0L, &other, 0L) == 0);
  __atomic_store_n(&early_futex, 1, __ATOMIC_SEQ_CST);
  CHECK(syscall(SYS_futex, &early_futex, 129, INT_MAX) == 1);  // FUTEX_WAKE_PRIVATE
  join(early_threads[FUTEX]);
  return 0;
}
