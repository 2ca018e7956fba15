// For programs that run twice, plain and with libwisp.so preloaded, and must not see a difference.
#pragma once
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "by_kernel.h"
#include "fake_jvm.h"

#define CHECK(what)                                                                \
  do {                                                                             \
    if (!(what)) {                                                                 \
      fprintf(stderr, "%s:%d: %s (errno %d)\n", __FILE__, __LINE__, #what, errno); \
      _exit(1);                                                                    \
    }                                                                              \
  } while (0)

static inline pthread_t java(void* (*run)(void*), void* argument) {
  pthread_t thread;
  CHECK(start_java(&thread, NULL, run, argument) == 0);
  return thread;
}
static inline void join(pthread_t thread) { CHECK(pthread_join(thread, NULL) == 0); }

static inline void sleep_ms(long ms) {
  struct timespec t = {ms / 1000, ms % 1000 * 1000000};
  while (nanosleep(&t, &t) != 0 && errno == EINTR) {
  }
}

// Bodies of threads: after a moment a signal to the thread given, or a byte into the descriptor.
static inline void* kills_later(void* thread) {
  sleep_ms(50);
  CHECK(pthread_kill((pthread_t)thread, SIGUSR1) == 0);
  return NULL;
}
static inline void* writes_later(void* fd) {
  sleep_ms(50);
  CHECK(write((int)(long)fd, "x", 1) == 1);
  return NULL;
}

// Children are ordinary: before one executes itself, Wisp has to be asked for again.
static inline void ask_for_wisp(void) {
  if (getenv("TEST_PRELOAD") == NULL) return;
  setenv("LD_PRELOAD", getenv("TEST_PRELOAD"), 1);
  setenv("WISP", "1", 1);
  setenv("WISP_ANY", "1", 1);
}

static inline long ms_since(const struct timespec* start) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (now.tv_sec - start->tv_sec) * 1000 + (now.tv_nsec - start->tv_nsec) / 1000000;
}

static inline struct timespec started(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t;
}

// A signal again and again until it is told to stop: on a busy machine the first may come before
// the thread has got into the call that it is to end.
struct nagging {
  pthread_t target, by;
  int signal, over;
};
static inline void* nags(void* argument) {
  struct nagging* n = argument;
  while (!__atomic_load_n(&n->over, __ATOMIC_SEQ_CST)) {
    CHECK(pthread_kill(n->target, n->signal) == 0);
    sleep_ms(50);
  }
  return NULL;
}
// Of the calling thread.
static inline void begin_nagging(struct nagging* n, int signal) {
  n->target = pthread_self();
  n->signal = signal;
  n->over = 0;
  n->by = java(nags, n);
}
static inline void end_nagging(struct nagging* n) {
  __atomic_store_n(&n->over, 1, __ATOMIC_SEQ_CST);
  join(n->by);
}

// Fails when Wisp should be on and is not, so that a test never passes for the wrong reason.
static void* report_tid(void* out) {
  *(pid_t*)out = gettid();
  return NULL;
}
static inline void check_tasks(void) {
  pid_t tid = 0;
  join(java(report_tid, &tid));
  int is_task = tid >= 4 * 1024 * 1024;  // beyond what the kernel gives out
  CHECK(is_task == (getenv("EXPECT_TASKS") != NULL));
}
