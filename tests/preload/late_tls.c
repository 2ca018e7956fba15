// dlopen of a library with static TLS while tasks exist: parked ones, running ones, cached ones.
#include <dlfcn.h>

#include "preload.h"

static int (*g_next)(void);
static volatile int g_loaded;
static pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t g_cond = PTHREAD_COND_INITIALIZER;

static void* parked(void* a) {
  pthread_mutex_lock(&g_mutex);
  while (!g_loaded) pthread_cond_wait(&g_cond, &g_mutex);
  pthread_mutex_unlock(&g_mutex);
  CHECK(g_next() == 12345 && g_next() == 12346);
  return a;
}
static void* running(void* a) {
  while (!g_loaded) sched_yield();
  CHECK(g_next() == 12345 && g_next() == 12346);
  return a;
}
static void* uses(void* a) {
  CHECK(g_next() == 12345 && g_next() == 12346);
  return a;
}
static void* loads(void* path) {
  CHECK(dlopen("libdoes-not-exist.so", RTLD_NOW) == NULL && dlerror() != NULL);
  void* library = dlopen(path, RTLD_NOW);
  if (library == NULL) fprintf(stderr, "%s\n", dlerror());
  CHECK(library != NULL);
  CHECK(dlopen(NULL, RTLD_NOW) != NULL);
  int (*next)(void) = (int (*)(void))dlsym(library, "next_value");
  CHECK(next() == 12345);
  pthread_mutex_lock(&g_mutex);
  g_next = next;
  g_loaded = 1;
  pthread_cond_broadcast(&g_cond);
  pthread_mutex_unlock(&g_mutex);
  return NULL;
}

int main(int argc, char** argv) {
  check_tasks();
  char path[4096];
  snprintf(path, sizeof path, "%s", argc > 1 ? argv[1] : LATE_TLS_MODULE);
  pthread_t t[8];
  for (int i = 0; i < 8; ++i) t[i] = java(i % 2 ? parked : running, NULL);
  sleep_ms(20);
  join(java(loads, path));
  for (int i = 0; i < 8; ++i) join(t[i]);
  for (int i = 0; i < 8; ++i) join(java(uses, NULL));
  return 0;
}
