// Objects that libc has used, or the main thread has taken, before Wisp interposed; and such as
// Wisp has used, in a forked child, where they are libc's again.
#include "early_module.h"
#include "preload.h"

static int inside;

static void* writes(void* lock) {
  CHECK(pthread_rwlock_wrlock(lock) == 0);
  CHECK(__atomic_fetch_add(&inside, 1, __ATOMIC_SEQ_CST) == 0);
  sched_yield();
  CHECK(__atomic_fetch_sub(&inside, 1, __ATOMIC_SEQ_CST) == 1);
  CHECK(pthread_rwlock_unlock(lock) == 0);
  return NULL;
}
static void* reads(void* lock) {
  CHECK(pthread_rwlock_rdlock(lock) == 0);
  CHECK(__atomic_load_n(&inside, __ATOMIC_SEQ_CST) == 0);
  CHECK(pthread_rwlock_unlock(lock) == 0);
  return NULL;
}
static void* finds_it_written(void* lock) {
  CHECK(pthread_rwlock_tryrdlock(lock) == EBUSY && pthread_rwlock_trywrlock(lock) == EBUSY);
  return NULL;
}
static void* finds_it_read(void* lock) {
  CHECK(pthread_rwlock_trywrlock(lock) == EBUSY);
  CHECK(pthread_rwlock_tryrdlock(lock) == 0 && pthread_rwlock_unlock(lock) == 0);
  return NULL;
}

// Held as often as `unlocks` says, or at rest.
static void use(pthread_rwlock_t* lock, int unlocks) {
  pthread_t threads[6];
  for (int i = 0; i < 6; ++i) threads[i] = java(i % 2 == 0 ? writes : reads, lock);
  if (unlocks != 0) sleep_ms(30);
  for (int i = 0; i < unlocks; ++i) CHECK(pthread_rwlock_unlock(lock) == 0);
  for (int i = 0; i < 6; ++i) join(threads[i]);
  writes(lock);
  reads(lock);
}

static void* locks(void* mutex) {
  CHECK(pthread_mutex_lock(mutex) == 0 && pthread_mutex_unlock(mutex) == 0);
  return NULL;
}
static void* cannot_lock(void* mutex) {
  CHECK(pthread_mutex_trylock(mutex) == EBUSY);
  return NULL;
}

static int serial;
static void* meets(void* barrier) {
  for (int i = 0; i < 10; ++i) {
    int e = pthread_barrier_wait(barrier);
    CHECK(e == 0 || e == PTHREAD_BARRIER_SERIAL_THREAD);
    if (e != 0) __atomic_fetch_add(&serial, 1, __ATOMIC_SEQ_CST);
  }
  return NULL;
}

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static int whose;

static void* gives_up(void* unused) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  CHECK(pthread_mutex_lock(&guard) == 0);
  while (pthread_cond_timedwait(&turn, &guard, &t) == 0) {
  }
  CHECK(pthread_mutex_unlock(&guard) == 0);
  return unused;
}
static void take_turns(int me) {
  CHECK(pthread_mutex_lock(&guard) == 0);
  for (int i = 0; i < 100; ++i) {
    while (whose != me) CHECK(pthread_cond_wait(&turn, &guard) == 0);
    whose = !me;
    CHECK(pthread_cond_signal(&turn) == 0);
  }
  CHECK(pthread_mutex_unlock(&guard) == 0);
}
static void* other_turns(void* unused) {
  take_turns(1);
  return unused;
}

// The child's locks are libc's, whatever the parent's have been.
static void child(void) {
  alarm(60);
  locks(&early_mutex);
  locks(&early_owned);
  writes(&early_wrote);
  reads(&early_wrote);
  writes(&early_reads);
  gives_up(NULL);
  pthread_t other;
  CHECK(pthread_create(&other, NULL, other_turns, NULL) == 0);
  take_turns(0);
  CHECK(pthread_join(other, NULL) == 0);
  CHECK(pthread_cond_destroy(&turn) == 0);
  _exit(0);
}

int main(void) {
  alarm(100);
  check_tasks();
  use(&early_wrote, 0);
  use(&early_read, 0);
  join(java(finds_it_written, &early_writes));
  CHECK(pthread_rwlock_wrlock(&early_writes) == EDEADLK);
  use(&early_writes, 1);
  join(java(finds_it_read, &early_reads));
  use(&early_reads, 2);

  pthread_mutex_t* mutexes[] = {&early_mutex, &early_owned};
  for (int i = 0; i < 2; ++i) {
    join(java(cannot_lock, mutexes[i]));
    pthread_t one = java(locks, mutexes[i]), other = java(locks, mutexes[i]);
    sleep_ms(30);
    CHECK(pthread_mutex_unlock(mutexes[i]) == 0);
    join(one);
    join(other);
  }

  pthread_t one = java(meets, &early_met);
  meets(&early_met);
  join(one);
  CHECK(serial == 10);
  CHECK(pthread_barrier_destroy(&early_met) == 0);
  CHECK(pthread_barrier_destroy(&early_parted) == 0);

  join(java(gives_up, NULL));
  pid_t pid = fork();
  if (pid == 0) child();
  int status = -1;
  CHECK(waitpid(pid, &status, 0) == pid);
  CHECK(status == 0);
  return 0;
}
