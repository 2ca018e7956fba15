// Timers on a thread's CPU clock that signal this thread (SIGEV_THREAD_ID), as Flight Recorder's
// CPU-time samples use them. What a signal and its overrun count, times the period, is the time
// that the thread has computed.
#include <stdatomic.h>
#include <sys/syscall.h>

#include "preload.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum { kPeriodMs = 5, kPatienceMs = 20000 };

struct worker {
  int wants;         // computes until it has had so many periods, or
  long computes_ms;  // so long
  long armed_ms;     // its CPU time then
  _Atomic pid_t tid;
  pthread_t thread;
  timer_t timer;
  atomic_int go, periods, signals, wrong;
  int checks;  // what a signal tells
  int again;   // computes once more
};
static __thread struct worker* g_mine;

static long cpu_ms(void) {
  struct timespec t;
  CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0);
  return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void count(int sig, siginfo_t* info, void* context) {
  (void)sig, (void)context;
  struct worker* w = info->si_value.sival_ptr;
  if (info->si_code != SI_TIMER || w != g_mine) {
    ++w->wrong;
    return;
  }
  ++w->signals;
  w->periods += 1 + info->si_overrun;
  // However late it comes, it brings all that the thread has used.
  long used = cpu_ms() - w->armed_ms, told = (long)w->periods * kPeriodMs;
  if (w->checks && (told > used + kPeriodMs || told < used - 3 * kPeriodMs)) {
    fprintf(stderr, "%ld ms used, %ld told\n", used, told);
    ++w->wrong;
  }
}

static void* computes(void* argument) {
  struct worker* w = argument;
  g_mine = w;
  w->tid = (pid_t)syscall(SYS_gettid);
  while (!w->go) sleep_ms(1);
  // Now and then others run on its carrier; not in step with the ticks, which then never find it.
  unsigned random = (unsigned)w->tid, left = 0;
  do {
    for (long start = cpu_ms(), now = start;
         w->wants != 0 ? w->periods < w->wants && now < start + kPatienceMs
                       : now < start + w->computes_ms;
         now = cpu_ms()) {
      if (left-- != 0) continue;
      sched_yield();
      random = random * 1103515245 + 12345;
      left = 200 + random / 65536 % 2000;
    }
    w->go = 0;
    while (!w->go) sleep_ms(1);
  } while (w->again-- > 0);
  return NULL;
}

// By libc's functions, or as async-profiler does, which has the numbers of the kernel's.
static int g_by_calls;

static int make_timer(struct worker* w, clockid_t clock) {
  struct sigevent event;
  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = SIGPROF;
  event.sigev_value.sival_ptr = w;
  event.sigev_notify_thread_id = w->tid;
  if (!g_by_calls) return timer_create(clock, &event, &w->timer);
  int number = -1;
  int result = (int)syscall(SYS_timer_create, clock, &event, &number);
  w->timer = (timer_t)(long)number;
  return result;
}
static int set_timer(timer_t timer, const struct itimerspec* value) {
  if (!g_by_calls) return timer_settime(timer, 0, value, NULL);
  return (int)syscall(SYS_timer_settime, (int)(long)timer, 0, value, NULL);
}
static int get_timer(timer_t timer, struct itimerspec* left) {
  if (!g_by_calls) return timer_gettime(timer, left);
  return (int)syscall(SYS_timer_gettime, (int)(long)timer, left);
}
static int get_overrun(timer_t timer) {
  return g_by_calls ? (int)syscall(SYS_timer_getoverrun, (int)(long)timer)
                    : timer_getoverrun(timer);
}
static int delete_timer(timer_t timer) {
  return g_by_calls ? (int)syscall(SYS_timer_delete, (int)(long)timer) : timer_delete(timer);
}

static struct itimerspec every(long ms, int again) {
  struct itimerspec its = {{0, again ? ms * 1000000 : 0}, {0, ms * 1000000}};
  return its;
}

// Started, with a timer that is not armed.
static void start(struct worker* w, int wants, long computes_ms) {
  memset(w, 0, sizeof *w);
  w->wants = wants;
  w->computes_ms = computes_ms;
  w->thread = java(computes, w);
  while (w->tid == 0) sleep_ms(1);
  clockid_t clock;
  CHECK(pthread_getcpuclockid(w->thread, &clock) == 0);
  CHECK(make_timer(w, clock) == 0);
  struct timespec now;
  CHECK(clock_gettime(clock, &now) == 0);
  w->armed_ms = now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
static void finish(struct worker* w) {
  while (w->go) sleep_ms(5);
  CHECK(delete_timer(w->timer) == 0);
  w->go = 1;
  join(w->thread);
  CHECK(w->wrong == 0);
}

static void by_periods(void) {
  enum { kWorkers = 6 };
  struct worker workers[kWorkers];
  struct itimerspec its = every(kPeriodMs, 1), left;
  // The last one has nothing to compute.
  for (int i = 0; i < kWorkers; ++i) {
    start(&workers[i], (kWorkers - 1 - i) * 10, 0);
    workers[i].checks = 1;
  }
  for (int i = 0; i < kWorkers; ++i) {
    CHECK(set_timer(workers[i].timer, &its) == 0);
    CHECK(get_timer(workers[i].timer, &left) == 0);
    CHECK(left.it_interval.tv_nsec == kPeriodMs * 1000000);
    CHECK(left.it_value.tv_nsec > 0 && left.it_value.tv_nsec <= kPeriodMs * 1000000);
  }
  for (int i = 0; i < kWorkers; ++i) workers[i].go = 1;
  for (int i = 0; i < kWorkers; ++i) {
    struct worker* w = &workers[i];
    while (w->go) sleep_ms(5);
    if (w->periods < w->wants) fprintf(stderr, "thread %d: %d periods\n", i, w->periods);
    CHECK(w->periods >= w->wants);
    CHECK(get_overrun(w->timer) >= 0);
    finish(w);
  }
}

static void once(void) {
  struct worker w;
  struct itimerspec its = every(20, 0), left;
  start(&w, 1, 0);
  CHECK(set_timer(w.timer, &its) == 0);
  w.go = 1;
  while (w.go) sleep_ms(5);
  w.wants = 0;
  w.computes_ms = 100;
  w.again = 1;
  w.go = 1;
  while (w.go) sleep_ms(5);
  CHECK(w.signals == 1 && w.periods == 1);
  CHECK(get_timer(w.timer, &left) == 0);
  CHECK(left.it_value.tv_sec == 0 && left.it_value.tv_nsec == 0);
  finish(&w);
}

// Disarmed, deleted, of a thread that has ended, of another clock.
static void refused(void) {
  struct worker w;
  struct itimerspec its = every(5, 1), none = every(0, 0);
  struct itimerspec wrong = {{0, 1000000000}, {0, 1}};
  start(&w, 0, 50);
  CHECK(set_timer(w.timer, &wrong) == -1 && errno == EINVAL);
  CHECK(set_timer(w.timer, &its) == 0);
  CHECK(set_timer(w.timer, &none) == 0);
  w.go = 1;
  while (w.go) sleep_ms(5);
  CHECK(w.signals == 0);
  CHECK(delete_timer(w.timer) == 0);
  CHECK(set_timer(w.timer, &its) == -1 && errno == EINVAL);
  CHECK(delete_timer(w.timer) == -1 && errno == EINVAL);
  CHECK(make_timer(&w, 12345) == -1 && errno == EINVAL);
  clockid_t clock;
  CHECK(pthread_getcpuclockid(w.thread, &clock) == 0);
  CHECK(make_timer(&w, clock) == 0);
  CHECK(set_timer(w.timer, &its) == 0);
  w.go = 1;
  join(w.thread);
  // The kernel gives either, and a moment later than the join.
  while (set_timer(w.timer, &its) == 0) sleep_ms(1);
  CHECK(errno == ESRCH || errno == EINVAL);
  CHECK(delete_timer(w.timer) == 0);
}

// The kernel's own, of threads that are none of Wisp's and of the process.
static void of_others(void) {
  struct worker w;
  memset(&w, 0, sizeof w);
  g_mine = &w;
  w.tid = (pid_t)syscall(SYS_gettid);
  CHECK(make_timer(&w, CLOCK_THREAD_CPUTIME_ID) == 0);
  struct itimerspec its = every(5, 1), left;
  CHECK(set_timer(w.timer, &its) == 0);
  CHECK(get_timer(w.timer, &left) == 0 && left.it_interval.tv_nsec == 5000000);
  w.armed_ms = cpu_ms();
  w.checks = 1;
  for (long start = cpu_ms(); w.periods < 5 && cpu_ms() < start + kPatienceMs;) {
  }
  CHECK(w.periods >= 5 && w.wrong == 0);
  CHECK(get_overrun(w.timer) >= 0);
  CHECK(delete_timer(w.timer) == 0);
}

int main(void) {
  struct sigaction act;
  memset(&act, 0, sizeof act);
  act.sa_sigaction = count;
  act.sa_flags = SA_SIGINFO | SA_RESTART;
  CHECK(sigaction(SIGPROF, &act, NULL) == 0);
  for (; g_by_calls < 2; ++g_by_calls) {
    of_others();
    by_periods();
    once();
    refused();
  }
  g_by_calls = 0;
  by_periods();
  return 0;
}
