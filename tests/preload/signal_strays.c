// A wait for signals ends by what is sent to its own thread, not by what was meant for another one
// that has just run on the same kernel thread.
#include <semaphore.h>

#include "preload.h"

enum { kMs = 1500 };
static volatile int g_over;
static volatile long g_asked;
static sem_t g_turn;

static void nothing(int sig) { (void)sig; }
static void counts(int sig) { (void)sig, ++g_asked; }

static sigset_t only(int sig) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, sig);
  return set;
}

// It gets all the signals, and never stays where it is.
static void* moves(void* unused) {
  while (!g_over) {
    sem_post(&g_turn);
    sched_yield();
    usleep(1);
  }
  sem_post(&g_turn);
  return unused;
}

static void* waits(void* unused) {
  sigset_t set = only(SIGUSR2);
  CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
  struct timespec moment = {0, 200000};
  while (!g_over) {
    while (sem_wait(&g_turn) != 0) {
    }
    CHECK(sigtimedwait(&set, NULL, &moment) == -1 && errno == EAGAIN);
  }
  return unused;
}

static void* suspends(void* unused) {
  sigset_t set = only(SIGUSR2), none;
  CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
  sigemptyset(&none);
  while (!g_over) {
    while (sem_wait(&g_turn) != 0) {
    }
    long before = g_asked;
    CHECK(sigsuspend(&none) == -1 && errno == EINTR);
    CHECK(g_asked != before);
  }
  return unused;
}

static void* collects(void* unused) {
  sigset_t set = only(SIGUSR2);
  CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
  while (!g_over) {
    while (sem_wait(&g_turn) != 0) {
    }
    CHECK(sigwaitinfo(&set, NULL) == SIGUSR2);
  }
  return unused;
}

static void bombard(void* (*run)(void*), int asks) {
  g_over = 0;
  CHECK(sem_init(&g_turn, 0, 0) == 0);
  pthread_t target = java(moves, NULL), waiting = java(run, NULL);
  struct timespec start = started();
  while (ms_since(&start) < kMs) {
    for (int i = 0; i < 20; ++i) CHECK(pthread_kill(target, SIGUSR1) == 0);
    if (asks) CHECK(pthread_kill(waiting, SIGUSR2) == 0);
  }
  g_over = 1;
  join(target);
  if (asks) CHECK(pthread_kill(waiting, SIGUSR2) == 0);
  join(waiting);
}

int main(void) {
  check_tasks();
  struct sigaction action = {.sa_handler = nothing, .sa_flags = SA_RESTART};
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  action.sa_handler = counts;
  CHECK(sigaction(SIGUSR2, &action, NULL) == 0);
  bombard(waits, 0);
  bombard(suspends, 1);
  bombard(collects, 1);
  return 0;
}
