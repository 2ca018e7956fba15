// What hangs or is lost if it is taken for ordinary: an allocator that waits for mutexes within the
// runtime, a condition that is process-shared with a mutex that is not, stacks of threads that have
// ended after deep calls.
#include <malloc.h>
#include <stdatomic.h>

#include "preload.h"

// ---- an allocator with a mutex, as jemalloc's

void* __libc_calloc(size_t count, size_t size);

static pthread_mutex_t g_allocating = PTHREAD_MUTEX_INITIALIZER;
static atomic_int g_by_mutex, g_calls;

void* calloc(size_t count, size_t size) {
  if (!g_by_mutex) return __libc_calloc(count, size);
  ++g_calls;
  pthread_mutex_lock(&g_allocating);
  void* p = __libc_calloc(count, size);
  pthread_mutex_unlock(&g_allocating);
  return p;
}

static atomic_int g_handled, g_held, g_killed;

static void handler(int sig) {
  (void)sig;
  ++g_handled;
}
static void* nothing(void* unused) { return unused; }
static void* holds(void* unused) {
  pthread_mutex_lock(&g_allocating);
  g_held = 1;
  while (!g_killed) sleep_ms(1);
  sleep_ms(30);
  pthread_mutex_unlock(&g_allocating);
  return unused;
}
static void* creates(void* unused) {
  while (!g_held) sleep_ms(1);
  g_by_mutex = 1;
  pthread_attr_t attr;
  pthread_t thread;
  CHECK(pthread_attr_init(&attr) == 0);
  CHECK(pthread_attr_setstacksize(&attr, 777 * 4096) == 0);  // none is kept of this size
  CHECK(start_java(&thread, &attr, nothing, NULL) == 0);
  g_by_mutex = 0;
  join(thread);
  while (!g_killed) sleep_ms(1);
  return unused;
}
static _Atomic pthread_t g_creator;
static void* kills_in_allocator(void* unused) {
  while (g_creator == 0) sleep_ms(1);
  // Where libc has a block at hand nothing is allocated, and the creator waits for us.
  for (int i = 0; i < 200 && g_calls == 0; ++i) sleep_ms(1);
  sleep_ms(20);
  CHECK(pthread_kill(g_creator, SIGUSR1) == 0);
  g_killed = 1;
  return unused;
}

// The signal comes while the creator waits for the allocator's mutex.
static void signalled_in_allocator(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  // Nobody else is made while making waits.
  pthread_t killer = java(kills_in_allocator, NULL);
  pthread_t creator = java(creates, NULL), holder = java(holds, NULL);
  g_creator = creator;
  join(killer);
  join(holder);
  join(creator);
  CHECK(g_handled == 1);
}

// ---- a process-shared condition

static pthread_mutex_t g_private = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t g_shared;
static int g_waiting, g_flag;

static void* waits(void* unused) {
  CHECK(pthread_mutex_lock(&g_private) == 0);
  g_waiting = 1;
  while (!g_flag) CHECK(pthread_cond_wait(&g_shared, &g_private) == 0);
  CHECK(pthread_mutex_unlock(&g_private) == 0);
  return unused;
}
static void* waits_for_time(void* unused) {
  struct timespec end;
  CHECK(clock_gettime(CLOCK_REALTIME, &end) == 0);
  end.tv_nsec = (end.tv_nsec + 50000000) % 1000000000;
  end.tv_sec += end.tv_nsec < 50000000;
  CHECK(pthread_mutex_lock(&g_private) == 0);
  g_waiting = 1;
  sleep_ms(20);  // the other comes for the mutex
  while (pthread_cond_timedwait(&g_shared, &g_private, &end) == 0) {
  }
  CHECK(pthread_mutex_unlock(&g_private) == 0);
  return unused;
}
static void* locks(void* unused) {
  CHECK(pthread_mutex_lock(&g_private) == 0);
  CHECK(pthread_mutex_unlock(&g_private) == 0);
  return unused;
}
static void until_waiting(void) {
  for (int waiting = 0; !waiting; sleep_ms(1)) {
    CHECK(pthread_mutex_lock(&g_private) == 0);
    waiting = g_waiting;
    CHECK(pthread_mutex_unlock(&g_private) == 0);
  }
  g_waiting = 0;
}

static void shared_condition(void) {
  pthread_condattr_t attr;
  CHECK(pthread_condattr_init(&attr) == 0);
  CHECK(pthread_condattr_setpshared(&attr, PTHREAD_PROCESS_SHARED) == 0);
  CHECK(pthread_cond_init(&g_shared, &attr) == 0);
  for (int i = 0; i < 6; ++i) {
    g_flag = 0;
    // Waiter and waker are tasks or plain threads, in turn.
    pthread_t waiter;
    if (i % 2 == 0)
      waiter = java(waits, NULL);
    else
      CHECK(pthread_create(&waiter, NULL, waits, NULL) == 0);
    until_waiting();
    CHECK(pthread_mutex_lock(&g_private) == 0);
    g_flag = 1;
    CHECK((i < 3 ? pthread_cond_signal : pthread_cond_broadcast)(&g_shared) == 0);
    sleep_ms(10);  // it is on its way to the mutex
    CHECK(pthread_mutex_unlock(&g_private) == 0);
    join(waiter);

    waiter = java(waits_for_time, NULL);
    until_waiting();
    join(java(locks, NULL));
    join(waiter);
  }
  CHECK(pthread_cond_destroy(&g_shared) == 0);
}

// ---- deep calls

enum { kDeep = 40 };  // MB

static int dive(int frames) {
  volatile char frame[4096];
  frame[0] = (char)frames;
  frame[4095] = (char)(frames > 0 ? dive(frames - 1) : 0);
  return frame[0] + frame[4095];
}
static void* dives(void* unused) {
  dive(kDeep * 256);
  return unused;
}

static long resident_mb(void) {
  long size, resident;
  FILE* f = fopen("/proc/self/statm", "r");
  CHECK(f != NULL && fscanf(f, "%ld %ld", &size, &resident) == 2);
  fclose(f);
  return resident / 256;
}

static void ended_after_deep_calls(void) {
  enum { kThreads = 5 };
  long before = resident_mb();
  pthread_t threads[kThreads];
  pthread_attr_t attr;
  CHECK(pthread_attr_init(&attr) == 0);
  CHECK(pthread_attr_setstacksize(&attr, (kDeep + 20) << 20) == 0);
  for (int i = 0; i < kThreads; ++i) CHECK(start_java(&threads[i], &attr, dives, NULL) == 0);
  for (int i = 0; i < kThreads; ++i) join(threads[i]);
  long after = 0;
  for (int i = 0; i < 600; ++i, sleep_ms(10)) {
    after = resident_mb();
    if (after < before + kDeep) return;
  }
  fprintf(stderr, "%ld MB resident before, %ld after\n", before, after);
  CHECK(0);
}

int main(void) {
  signalled_in_allocator();
  shared_condition();
  ended_after_deep_calls();
  return 0;
}
