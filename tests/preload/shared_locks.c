// Locks that libc keeps in the kernel: process-shared ones, robust ones, those with priority
// inheritance or a ceiling. Tasks and a kernel thread hold them over waits of their own, so who
// waits for one must not keep the carrier; with a SysMonitor that looks each ten seconds (see
// CMakeLists.txt, TEST_PATIENCE_MS) that shows. And what they say besides 0 is what libc says.
#include <semaphore.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "preload.h"

enum { SHARED = 1, ROBUST = 2, INHERITS = 4, FOREIGN = 8 };
static const int kKinds[] = {SHARED,
                             ROBUST,
                             SHARED | ROBUST,
                             INHERITS,
                             SHARED | INHERITS,
                             ROBUST | INHERITS,
                             SHARED | ROBUST | INHERITS,
                             SHARED | ROBUST | INHERITS | FOREIGN};

static void* shared_memory(size_t size) {
  void* p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(p != MAP_FAILED);
  return p;
}

static void init(pthread_mutex_t* m, int kind, int type) {
  pthread_mutexattr_t a;
  CHECK(pthread_mutexattr_init(&a) == 0 && pthread_mutexattr_settype(&a, type) == 0);
  if (kind & SHARED) CHECK(pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED) == 0);
  if (kind & ROBUST) CHECK(pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST) == 0);
  int wanted = kind & INHERITS ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE, protocol = -1;
  CHECK(pthread_mutexattr_setprotocol(&a, wanted) == 0);
  CHECK(pthread_mutex_init(m, &a) == 0);
  CHECK(pthread_mutexattr_getprotocol(&a, &protocol) == 0 && protocol == wanted);
  pthread_mutexattr_destroy(&a);
}

// By another process: a forked child is an ordinary program. With `dies` it ends as the owner.
static pthread_mutex_t* new_mutex(int kind, int type, bool dies) {
  pthread_mutex_t* m = shared_memory(sizeof *m);
  if ((kind & FOREIGN) == 0) {
    init(m, kind, type);
    return m;
  }
  pid_t child = fork();
  if (child == 0) {
    init(m, kind, type);
    _exit(dies ? pthread_mutex_lock(m) : 0);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  return m;
}

static struct timespec in_ms(clockid_t clock, long ms) {
  struct timespec t;
  clock_gettime(clock, &t);
  t.tv_sec += ms / 1000;
  t.tv_nsec += ms % 1000 * 1000000;
  if (t.tv_nsec >= 1000000000) ++t.tv_sec, t.tv_nsec -= 1000000000;
  return t;
}

// --- many holders, each of whom waits inside
static pthread_mutex_t* g_mutex;
static sem_t* g_sem;
static pthread_rwlock_t* g_rw;
static int g_inside, g_held;
// With inheritance libc asks the kernel for the other clock, which Linux has since 5.14.
static bool g_other_clock;

static int lock(int turn) {
  struct timespec real = in_ms(CLOCK_REALTIME, 60000), mono = in_ms(CLOCK_MONOTONIC, 60000);
  if (g_mutex != NULL && turn % 3 == 0) return pthread_mutex_lock(g_mutex);
  if (g_mutex != NULL && (turn % 3 == 1 || !g_other_clock))
    return pthread_mutex_timedlock(g_mutex, &real);
  if (g_mutex != NULL) return pthread_mutex_clocklock(g_mutex, CLOCK_MONOTONIC, &mono);
  if (g_sem != NULL && turn % 3 == 0) return sem_wait(g_sem);
  if (g_sem != NULL && turn % 3 == 1) return sem_timedwait(g_sem, &real);
  if (g_sem != NULL) return sem_clockwait(g_sem, CLOCK_MONOTONIC, &mono);
  if (turn % 3 == 0) return pthread_rwlock_wrlock(g_rw);
  if (turn % 3 == 1) return pthread_rwlock_timedwrlock(g_rw, &real);
  return pthread_rwlock_clockwrlock(g_rw, CLOCK_MONOTONIC, &mono);
}
static int unlock(void) {
  if (g_mutex != NULL) return pthread_mutex_unlock(g_mutex);
  return g_sem != NULL ? sem_post(g_sem) : pthread_rwlock_unlock(g_rw);
}

static void* holds(void* unused) {
  (void)unused;
  for (int turn = 0; turn < 9; ++turn) {
    errno = 77;
    CHECK(lock(turn) == 0);
    CHECK(errno == 77);
    CHECK(g_inside++ == 0);
    sleep_ms(1);
    CHECK(g_inside-- == 1);
    ++g_held;
    CHECK(unlock() == 0);
  }
  return NULL;
}

static void check_patience(const struct timespec* start) {
  if (getenv("TEST_PATIENCE_MS") != NULL) CHECK(ms_since(start) < atol(getenv("TEST_PATIENCE_MS")));
}

static void many_hold(void) {
  struct timespec start = started();
  g_held = 0;
  pthread_t t[3];
  for (int i = 0; i < 3; ++i) t[i] = java(holds, NULL);
  holds(NULL);
  for (int i = 0; i < 3; ++i) join(t[i]);
  CHECK(g_held == 4 * 9);
  check_patience(&start);
}

// --- readers, conditions and barriers of several processes
static struct both {
  pthread_rwlock_t rw;
  pthread_mutex_t m;
  pthread_cond_t c;
  pthread_barrier_t b;
  sem_t s;
} * g_both;
static int g_turn;

static void* takes_turns(void* me) {
  CHECK(pthread_mutex_lock(&g_both->m) == 0);
  for (int n = 0; n < 9; ++n) {
    struct timespec real = in_ms(CLOCK_REALTIME, 60000), mono = in_ms(CLOCK_MONOTONIC, 60000);
    while (g_turn % 2 != (int)(long)me) {
      int e = n % 3 == 0   ? pthread_cond_wait(&g_both->c, &g_both->m)
              : n % 3 == 1 ? pthread_cond_timedwait(&g_both->c, &g_both->m, &real)
                           : pthread_cond_clockwait(&g_both->c, &g_both->m, CLOCK_MONOTONIC, &mono);
      CHECK(e == 0);
    }
    ++g_turn;
    CHECK(pthread_cond_broadcast(&g_both->c) == 0);
    sleep_ms(5);  // the other has to wait for the mutex as well
  }
  CHECK(pthread_mutex_unlock(&g_both->m) == 0);
  for (int n = 0; n < 5; ++n) {
    int e = pthread_barrier_wait(&g_both->b);
    CHECK(e == 0 || e == PTHREAD_BARRIER_SERIAL_THREAD);
    sleep_ms(me == NULL ? 1 : 0);
  }
  return NULL;
}

static void* writes(void* unused) {
  (void)unused;
  CHECK(pthread_rwlock_wrlock(&g_both->rw) == 0);
  CHECK(sem_post(&g_both->s) == 0);
  sleep_ms(20);
  CHECK(pthread_rwlock_unlock(&g_both->rw) == 0);
  return NULL;
}
static void* reads(void* way) {
  struct timespec start = started();
  struct timespec real = in_ms(CLOCK_REALTIME, 60000), mono = in_ms(CLOCK_MONOTONIC, 60000);
  pthread_t writer = java(writes, NULL);
  CHECK(sem_wait(&g_both->s) == 0);
  long n = (long)way;
  CHECK((n == 0   ? pthread_rwlock_rdlock(&g_both->rw)
         : n == 1 ? pthread_rwlock_timedrdlock(&g_both->rw, &real)
                  : pthread_rwlock_clockrdlock(&g_both->rw, CLOCK_MONOTONIC, &mono)) == 0);
  CHECK(pthread_rwlock_unlock(&g_both->rw) == 0);
  join(writer);
  check_patience(&start);
  return NULL;
}

static void init_both(void) {
  g_both = shared_memory(sizeof *g_both);
  pthread_rwlockattr_t r;
  pthread_condattr_t c;
  pthread_barrierattr_t b;
  CHECK(pthread_rwlockattr_init(&r) == 0 && pthread_rwlockattr_setpshared(&r, 1) == 0);
  CHECK(pthread_condattr_init(&c) == 0 && pthread_condattr_setpshared(&c, 1) == 0);
  CHECK(pthread_barrierattr_init(&b) == 0 && pthread_barrierattr_setpshared(&b, 1) == 0);
  CHECK(pthread_rwlock_init(&g_both->rw, &r) == 0);
  CHECK(pthread_cond_init(&g_both->c, &c) == 0);
  CHECK(pthread_barrier_init(&g_both->b, &b, 2) == 0);
  CHECK(sem_init(&g_both->s, 1, 0) == 0);
  init(&g_both->m, SHARED | ROBUST | INHERITS, PTHREAD_MUTEX_NORMAL);
}

// --- what they say besides 0
static void* dies_with(void* m) {
  CHECK(pthread_mutex_lock(m) == 0);
  return NULL;
}
static void* finds_it_busy(void* m) {
  struct timespec real = in_ms(CLOCK_REALTIME, 20), bad = {1, 1000000000};
  CHECK(pthread_mutex_trylock(m) == EBUSY);
  CHECK(pthread_mutex_timedlock(m, &bad) == EINVAL);
  CHECK(pthread_mutex_timedlock(m, &real) == ETIMEDOUT);
  return NULL;
}

static void* mutex_answers(void* argument) {
  int kind = (int)(long)argument;
  struct timespec real = in_ms(CLOCK_REALTIME, 60000), bad = {1, 1000000000};
  pthread_mutex_t* m = new_mutex(kind, PTHREAD_MUTEX_ERRORCHECK, false);
  CHECK(pthread_mutex_timedlock(m, &bad) == 0);  // free: had at once
  CHECK(pthread_mutex_lock(m) == EDEADLK);
  join(java(finds_it_busy, m));
  CHECK(pthread_mutex_unlock(m) == 0 && pthread_mutex_unlock(m) == EPERM);
  m = new_mutex(kind, PTHREAD_MUTEX_RECURSIVE, false);
  CHECK(pthread_mutex_lock(m) == 0 && pthread_mutex_lock(m) == 0);
  CHECK(pthread_mutex_trylock(m) == 0 && pthread_mutex_timedlock(m, &real) == 0);
  for (int i = 0; i < 4; ++i) CHECK(pthread_mutex_unlock(m) == 0);
  CHECK(pthread_mutex_unlock(m) == EPERM);
  if ((kind & ROBUST) == 0) return NULL;
  for (int way = 0; way < 3; ++way) {
    m = new_mutex(kind, PTHREAD_MUTEX_NORMAL, true);
    if ((kind & FOREIGN) == 0) join(java(dies_with, m));
    int e = way == 0   ? pthread_mutex_lock(m)
            : way == 1 ? pthread_mutex_trylock(m)
                       : pthread_mutex_timedlock(m, &real);
    CHECK(e == EOWNERDEAD);
    CHECK(pthread_mutex_consistent(m) == 0 && pthread_mutex_unlock(m) == 0);
    CHECK(pthread_mutex_lock(m) == 0 && pthread_mutex_unlock(m) == 0);
    m = new_mutex(kind, PTHREAD_MUTEX_NORMAL, true);
    if ((kind & FOREIGN) == 0) join(java(dies_with, m));
    CHECK(pthread_mutex_lock(m) == EOWNERDEAD && pthread_mutex_unlock(m) == 0);
    for (int i = 0; i < 2; ++i) {
      CHECK(pthread_mutex_lock(m) == ENOTRECOVERABLE);
      CHECK(pthread_mutex_timedlock(m, &real) == ENOTRECOVERABLE);
    }
    CHECK(pthread_mutex_trylock(m) == ENOTRECOVERABLE);  // libc leaves it locked
  }
  return NULL;
}

static void* other_answers(void* unused) {
  (void)unused;
  struct timespec soon = in_ms(CLOCK_REALTIME, 20), bad = {1, 1000000000};
  CHECK(pthread_rwlock_wrlock(&g_both->rw) == 0);
  CHECK(pthread_rwlock_rdlock(&g_both->rw) == EDEADLK);
  CHECK(pthread_rwlock_wrlock(&g_both->rw) == EDEADLK);
  CHECK(pthread_rwlock_timedrdlock(&g_both->rw, &soon) == EDEADLK);
  CHECK(pthread_rwlock_tryrdlock(&g_both->rw) == EBUSY);
  CHECK(pthread_rwlock_unlock(&g_both->rw) == 0);
  CHECK(pthread_rwlock_timedwrlock(&g_both->rw, &bad) == EINVAL);  // though it is free
  CHECK(pthread_rwlock_rdlock(&g_both->rw) == 0);
  CHECK(pthread_rwlock_timedwrlock(&g_both->rw, &soon) == ETIMEDOUT);
  CHECK(pthread_rwlock_unlock(&g_both->rw) == 0);
  CHECK(sem_post(&g_both->s) == 0);
  CHECK(sem_timedwait(&g_both->s, &bad) == -1 && errno == EINVAL);  // though there is one
  CHECK(sem_wait(&g_both->s) == 0);
  CHECK(sem_timedwait(&g_both->s, &soon) == -1 && errno == ETIMEDOUT);
  pthread_mutexattr_t a;
  pthread_mutex_t ceiling;
  CHECK(pthread_mutexattr_init(&a) == 0);
  CHECK(pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_PROTECT) == 0);
  CHECK(pthread_mutexattr_setprioceiling(&a, 10) == 0);
  CHECK(pthread_mutex_init(&ceiling, &a) == 0);
  // It is for real-time threads. libc keeps count of the failure until the unlock.
  CHECK(pthread_mutex_lock(&ceiling) == EINVAL && pthread_mutex_unlock(&ceiling) == 0);
  CHECK(pthread_mutex_trylock(&ceiling) == EINVAL && pthread_mutex_unlock(&ceiling) == 0);
  return NULL;
}

static void on_signal(int number) { (void)number; }
static void* is_interrupted(void* unused) {
  struct nagging n;
  begin_nagging(&n, SIGUSR1);
  CHECK(sem_wait(&g_both->s) == -1 && errno == EINTR);
  end_nagging(&n);
  return unused;
}

int main(void) {
  alarm(200);
  check_tasks();
  struct sigaction action = {.sa_handler = on_signal};
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  init_both();
  for (size_t i = 0; i < sizeof kKinds / sizeof *kKinds; ++i) {
    g_mutex = new_mutex(kKinds[i], PTHREAD_MUTEX_NORMAL, false);
    g_other_clock = (kKinds[i] & INHERITS) == 0;
    many_hold();
    join(java(mutex_answers, (void*)(long)kKinds[i]));
    mutex_answers((void*)(long)kKinds[i]);
  }
  g_mutex = NULL;
  g_sem = &g_both->s;
  CHECK(sem_post(g_sem) == 0);
  many_hold();
  CHECK(sem_wait(g_sem) == 0);
  g_sem = NULL;
  g_rw = &g_both->rw;
  many_hold();
  struct timespec start = started();
  pthread_t t[2] = {java(takes_turns, NULL), java(takes_turns, (void*)1)};
  join(t[0]), join(t[1]);
  check_patience(&start);
  for (long way = 0; way < 3; ++way) join(java(reads, (void*)way));
  join(java(other_answers, NULL));
  join(java(is_interrupted, NULL));
  return 0;
}
