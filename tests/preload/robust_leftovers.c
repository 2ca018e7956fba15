// A thread ends with a robust mutex that it holds in memory which is no longer there, or whose
// links were overwritten: who walks the list stops there, as the kernel does, and what it has met
// before is marked.
#include <string.h>
#include <sys/mman.h>

#include "preload.h"

static void init(pthread_mutex_t* m) {
  pthread_mutexattr_t a;
  CHECK(pthread_mutexattr_init(&a) == 0);
  CHECK(pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST) == 0);
  CHECK(pthread_mutex_init(m, &a) == 0);
}

static pthread_mutex_t g_later;
enum { UNMAPPED, READ_ONLY, OVERWRITTEN, HOWS };

static void* leaves(void* how) {
  const size_t size = 4096;
  pthread_mutex_t* m = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(m != MAP_FAILED);
  init(m);
  CHECK(pthread_mutex_lock(m) == 0 && pthread_mutex_lock(&g_later) == 0);
  if ((long)how == UNMAPPED) CHECK(munmap(m, size) == 0);
  if ((long)how == READ_ONLY) CHECK(mprotect(m, size, PROT_READ) == 0);
  if ((long)how == OVERWRITTEN) memset(m, 0, sizeof *m);
  return NULL;
}

int main(void) {
  alarm(60);
  check_tasks();
  for (long how = 0; how < HOWS; ++how) {
    init(&g_later);
    join(java(leaves, (void*)how));
    CHECK(pthread_mutex_lock(&g_later) == EOWNERDEAD);
    CHECK(pthread_mutex_consistent(&g_later) == 0 && pthread_mutex_unlock(&g_later) == 0);
  }
  return 0;
}
