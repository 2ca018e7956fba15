// Where the kernel has no room for what signals bring along (RLIMIT_SIGPENDING), each comes all the
// same, to a thread that computes, to one that waits and to the thread itself. Once; in a task
// twice, if it was handled while it was sent.
#include <sys/resource.h>

#include "preload.h"

enum { kSent = 5 };
static volatile int g_ran, g_over, g_ready;

static void counts(int sig) { (void)sig, ++g_ran; }

static void* computes(void* unused) {
  for (g_ready = 1; !g_over;) {
  }
  return unused;
}
static void* sleeps(void* unused) {
  for (g_ready = 1; !g_over;) sleep_ms(1000);
  return unused;
}
static void* blocks_and_takes(void* unused) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
  for (g_ready = 1; !g_over;) {
    int sig;
    CHECK(sigwait(&set, &sig) == 0 && sig == SIGUSR1);
    ++g_ran;
  }
  return unused;
}

static void send_to(void* (*run)(void*)) {
  g_over = g_ready = g_ran = 0;
  pthread_t thread = java(run, NULL);
  while (!g_ready) sleep_ms(1);
  for (int i = 1; i <= kSent; ++i) {
    CHECK(pthread_kill(thread, SIGUSR1) == 0);
    for (struct timespec now = started(); g_ran < i; sleep_ms(1)) CHECK(ms_since(&now) < 20000);
    sleep_ms(20);
    CHECK(g_ran <= (getenv("EXPECT_TASKS") != NULL ? 2 * i : i));
  }
  g_over = 1;
  CHECK(pthread_kill(thread, SIGUSR1) == 0);
  join(thread);
}

static void* sends_to_itself(void* unused) {
  g_ran = 0;
  for (int i = 1; i <= kSent; ++i) CHECK(raise(SIGUSR1) == 0 && g_ran == i);
  return unused;
}

int main(void) {
  alarm(100);
  check_tasks();
  struct sigaction action = {.sa_handler = counts};
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  struct rlimit none = {0, 0};
  CHECK(setrlimit(RLIMIT_SIGPENDING, &none) == 0);
  send_to(computes);
  send_to(sleeps);
  send_to(blocks_and_takes);
  join(java(sends_to_itself, NULL));
  return 0;
}
