// libwisp.so's constructor, run by a dlopen of a library that comes before it
// (opened_early_module.c): whoever waits there for a thread must not let it ask ld.so.
#include "preload.h"

int libraries_opened(void);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn;

static void* takes_turns(void* number) {
  int mine = (int)(long)number;
  for (int i = 0; i < 100; ++i) {
    CHECK(pthread_mutex_lock(&lock) == 0);
    while (turn % 4 != mine) CHECK(pthread_cond_wait(&changed, &lock) == 0);
    ++turn;
    CHECK(pthread_cond_broadcast(&changed) == 0 && pthread_mutex_unlock(&lock) == 0);
  }
  return NULL;
}

int main(void) {
  CHECK(libraries_opened() > 0);
  pthread_t threads[4];
  for (long i = 0; i < 4; ++i) threads[i] = java(takes_turns, (void*)i);
  for (int i = 0; i < 4; ++i) join(threads[i]);
  CHECK(turn == 400);
  return 0;
}
