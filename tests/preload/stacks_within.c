// Coroutines (makecontext(3)) whose stacks are cut out of their thread's own, and others with
// memory from elsewhere: one is suspended for as long as another waits, and finds all that it had.
// Beside threads that come and go, so that SysMonitor looks at stacks.
#include <stdatomic.h>
#include <ucontext.h>

#include "preload.h"

enum { kThreads = 4, kStack = 128 << 10, kHeld = 40000, kLongMs = 3000 };

struct Coroutines {
  ucontext_t thread, keeps, waits;
  int argument_sum;
};
static __thread struct Coroutines* g_mine;
static atomic_int g_left = kThreads;

static void keeps(int a, int b, int c, int d, int e, int f, int g, int h) {
  struct Coroutines* mine = g_mine;
  mine->argument_sum = a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
  volatile char held[kHeld];
  for (int i = 0; i < kHeld; ++i) held[i] = 'h';
  CHECK(swapcontext(&mine->keeps, &mine->thread) == 0);
  for (int i = 0; i < kHeld; ++i) CHECK(held[i] == 'h');
  CHECK(swapcontext(&mine->keeps, &mine->thread) == 0);
}

static void waits(void) {
  struct Coroutines* mine = g_mine;
  sleep_ms(kLongMs);
  CHECK(swapcontext(&mine->waits, &mine->thread) == 0);
}

static void prepare(ucontext_t* context, char* stack) {
  CHECK(getcontext(context) == 0);
  context->uc_stack.ss_sp = stack;
  context->uc_stack.ss_size = kStack;
}

static void* has_coroutines(void* own) {
  char here[2][kStack];
  char* lower = own != NULL ? here[0] : malloc(kStack);
  char* upper = own != NULL ? here[1] : malloc(kStack);
  struct Coroutines mine;
  g_mine = &mine;
  prepare(&mine.keeps, lower);
  makecontext(&mine.keeps, (void (*)(void))keeps, 8, 1, 2, 3, 4, 5, 6, 7, 8);
  prepare(&mine.waits, upper);
  makecontext(&mine.waits, waits, 0);
  CHECK(swapcontext(&mine.thread, &mine.keeps) == 0 && mine.argument_sum == 204);
  CHECK(swapcontext(&mine.thread, &mine.waits) == 0);
  CHECK(swapcontext(&mine.thread, &mine.keeps) == 0);
  if (own == NULL) {
    free(lower);
    free(upper);
  }
  g_mine = NULL;
  --g_left;
  return NULL;
}

static void* nothing(void* unused) { return unused; }

int main(void) {
  check_tasks();
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) threads[i] = java(has_coroutines, i % 2 ? &g_left : NULL);
  while (g_left != 0) {
    join(java(nothing, NULL));
    sleep_ms(5);
  }
  for (int i = 0; i < kThreads; ++i) join(threads[i]);
  puts("ok");
  return 0;
}
