// A program linked for a fixed address: a function of libc's whose address it takes has that of its
// own way there, which is no library before ours.
#include "preload.h"

static int __attribute__((noinline)) calls(int (*f)(pthread_mutex_t*), pthread_mutex_t* m) {
  __asm__ volatile("" : "+r"(f));
  return f(m);
}

int main(void) {
  check_tasks();
  pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
  CHECK(calls(pthread_mutex_lock, &m) == 0 && calls(pthread_mutex_unlock, &m) == 0);
  return 0;
}
