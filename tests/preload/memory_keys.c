// What a thread may do with the pages of a memory protection key is its own (pkeys(7)): a child
// inherits it, a thread that was there before the key may do nothing, and one that takes its own
// right away still has none after others have run. By system call too. A machine without keys has
// nothing to show.
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "preload.h"

enum { kRounds = 2000 };

static int g_key, g_second;
static atomic_int g_allocated, g_left;
static char* g_page;

static void* was_there_before(void* unused) {
  while (!g_allocated) usleep(100);
  for (int i = 0; i < kRounds; ++i) {
    CHECK(pkey_get(g_key) == PKEY_DISABLE_ACCESS && pkey_get(g_second) == PKEY_DISABLE_ACCESS);
    sched_yield();
  }
  --g_left;
  return unused;
}

static void* inherits(void* unused) {
  for (int i = 0; i < kRounds; ++i) {
    CHECK(pkey_get(g_key) == PKEY_DISABLE_WRITE && *g_page == 'k');
    sched_yield();
  }
  --g_left;
  return unused;
}

static void* allocates(void* unused) {
  g_key = pkey_alloc(0, 0);
  if (g_key < 0) {
    puts("no protection keys here");
    exit(0);
  }
  g_second = (int)syscall(SYS_pkey_alloc, 0, PKEY_DISABLE_WRITE);
  CHECK(g_second > 0 && pkey_get(g_second) == PKEY_DISABLE_WRITE);
  g_page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(g_page != MAP_FAILED);
  CHECK(pkey_mprotect(g_page, 4096, PROT_READ | PROT_WRITE, g_key) == 0);
  *g_page = 'k';
  CHECK(pkey_set(g_key, PKEY_DISABLE_WRITE) == 0);
  pthread_t child = java(inherits, NULL);
  g_allocated = 1;
  for (int i = 0; g_left != 0; ++i) {
    unsigned right = i % 2 != 0 ? 0 : PKEY_DISABLE_WRITE;
    CHECK(pkey_set(g_key, right) == 0);
    if (i % 3 == 0)
      usleep(50);
    else
      sched_yield();
    CHECK(pkey_get(g_key) == (int)right && *g_page == 'k');
    if (right == 0) *g_page = 'k';
  }
  join(child);
  return unused;
}

int main(void) {
  alarm(60);
  check_tasks();
  g_left = 2;
  pthread_t before = java(was_there_before, NULL);
  join(java(allocates, NULL));
  join(before);
  puts("ok");
  return 0;
}
