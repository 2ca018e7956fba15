// Which waits a signal ends: those without a time limit go on after a handler with SA_RESTART,
// sleeps and timed ones never, and nothing ends for an ignored signal (signal(7)).
#include <linux/futex.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "preload.h"

static atomic_int g_handled;
static void handler(int sig) {
  (void)sig;
  ++g_handled;
}
static void install(int sig, void (*function)(int), int flags) {
  struct sigaction act = {0};
  act.sa_handler = function;
  act.sa_flags = flags;
  CHECK(sigaction(sig, &act, NULL) == 0);
}

enum { kRestarting = SIGUSR1, kEnding = SIGUSR2, kIgnored = SIGWINCH, kDefaultIgnored = SIGURG };

static sem_t g_semaphore;
static uint32_t g_word;
static atomic_int g_running;
static int g_result, g_error;

static struct timespec in_seconds(clockid_t clock, int s) {
  struct timespec t;
  clock_gettime(clock, &t);
  t.tv_sec += s;
  return t;
}

static void* waits(void* argument) {
  static struct timespec second = {1, 0}, minute = {60, 0};
  g_running = 1;
  errno = 0;
  switch (*(char*)argument) {
    case 's':
      g_result = sem_wait(&g_semaphore);
      break;
    case 't': {
      struct timespec until = in_seconds(CLOCK_REALTIME, 60);
      g_result = sem_timedwait(&g_semaphore, &until);
      break;
    }
    case 'f':
      g_result = (int)syscall(SYS_futex, &g_word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
      break;
    case 'g':
      g_result = (int)syscall(SYS_futex, &g_word, FUTEX_WAIT_PRIVATE, 0, &minute, NULL, 0);
      break;
    case 'n':
      g_result = nanosleep(&second, NULL);
      break;
    case 'a': {
      struct timespec until = in_seconds(CLOCK_MONOTONIC, 1);
      g_result = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
      errno = g_result;
      break;
    }
  }
  g_error = errno;
  g_running = 0;
  return NULL;
}

static int within_ms(long ms, int (*seen)(int), int what) {
  struct timespec start = started();
  while (!seen(what))
    if (ms_since(&start) > ms)
      return 0;
    else
      sleep_ms(1);
  return 1;
}
static int handled(int times) { return g_handled >= times; }
static int over(int unused) {
  (void)unused;
  return !g_running;
}

// A thread in that wait gets the signal three times. ends: the wait is over then, with EINTR.
// Nobody sees whether the thread has begun to wait, so a signal that ends nothing is sent again.
static void expect(const char* wait, int sig, int ends) {
  g_handled = 0;
  g_word = 0;
  struct timespec start = started();
  pthread_t t = java(waits, (void*)wait);
  while (!g_running) sleep_ms(1);
  sleep_ms(100);
  int sleeps = *wait == 'n' || *wait == 'a';  // these end by themselves
  for (int i = 1; i <= 3 && !(ends && over(0)); ++i) {
    CHECK(pthread_kill(t, sig) == 0);
    if (ends) {
      within_ms(5000, over, 0);
    } else if (sig == kRestarting) {
      CHECK(within_ms(20000, handled, i));
    }
    if (!ends) sleep_ms(30);
  }
  if (!ends) {
    CHECK(g_running || sleeps);
    CHECK(g_handled == (sig == kRestarting ? 3 : 0));
    g_word = 1;
    syscall(SYS_futex, &g_word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    if (*wait == 's' || *wait == 't') CHECK(sem_post(&g_semaphore) == 0);
  }
  if (ends) CHECK(over(0));
  join(t);
  if (ends) {
    CHECK(g_error == EINTR && g_handled >= 1);
  } else {
    // A futex that is looked at after its word was set, by a thread that came to it late.
    int late = (*wait == 'f' || *wait == 'g') && g_error == EAGAIN;
    CHECK(g_result == 0 || late);
    CHECK(!sleeps || ms_since(&start) >= 1000);
  }
  int left = -1;
  CHECK(sem_getvalue(&g_semaphore, &left) == 0 && left == 0);
}

// A futex whose word a handler has changed is compared anew, whoever waits.
static void sets_word(int sig) {
  handler(sig);
  g_word = 1;
}
static void* signals_the_first(void* first) {
  sleep_ms(100);
  CHECK(pthread_kill((pthread_t)first, kRestarting) == 0);
  sleep_ms(100);
  CHECK(pthread_kill((pthread_t)first, kRestarting) == 0);
  return NULL;
}
static void compares_anew(int on_task) {
  g_word = g_handled = 0;
  install(kRestarting, handler, SA_RESTART);
  pthread_t waiter = pthread_self();
  char how[] = "f";
  if (on_task) waiter = java(waits, how);
  pthread_t other = java(signals_the_first, (void*)waiter);
  sleep_ms(150);
  install(kRestarting, sets_word, SA_RESTART);
  if (on_task)
    join(waiter);
  else
    waits(how);
  CHECK(g_result == -1 && g_error == EAGAIN);
  join(other);
  install(kRestarting, handler, SA_RESTART);
}

// siginterrupt(3) is for the handler that is there and for those that signal(3) sets later.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static void with_siginterrupt(int ends) {
  struct sigaction now;
  for (int later = 0; later < 2; ++later) {
    if (later)
      CHECK(signal(kRestarting, handler) == handler);
    else
      CHECK(siginterrupt(kRestarting, ends) == 0);
    CHECK(sigaction(kRestarting, NULL, &now) == 0 && now.sa_handler == handler);
    CHECK((now.sa_flags & SA_RESTART) == (ends ? 0 : SA_RESTART));
    expect("s", kRestarting, ends);
  }
}

int main(void) {
  alarm(100);
  check_tasks();
  CHECK(sem_init(&g_semaphore, 0, 0) == 0);
  install(kRestarting, handler, SA_RESTART);
  install(kEnding, handler, 0);
  install(kIgnored, SIG_IGN, 0);

  const char* waits[] = {"s", "t", "f", "g", "n", "a"};
  for (unsigned i = 0; i < sizeof waits / sizeof *waits; ++i) {
    int untimed = *waits[i] == 's' || *waits[i] == 'f';
    expect(waits[i], kRestarting, !untimed);
    expect(waits[i], kEnding, 1);
    expect(waits[i], kIgnored, 0);
    expect(waits[i], kDefaultIgnored, 0);
  }
  compares_anew(0);
  compares_anew(1);
  with_siginterrupt(1);
  with_siginterrupt(0);
  CHECK(siginterrupt(SIGKILL, 1) == -1 && siginterrupt(0, 1) == -1 && errno == EINVAL);
  return 0;
}
