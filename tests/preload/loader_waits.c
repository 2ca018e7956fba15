// Threads that wait inside a callback of dl_iterate_phdr, where they hold ld.so's lock, while
// others start threads, load libraries and look for symbols.
#include <dlfcn.h>
#include <link.h>

#include "preload.h"

static int waits_inside(struct dl_phdr_info* info, size_t size, void* kind) {
  (void)info;
  (void)size;
  switch ((long)kind % 4) {
    case 0:
      sleep_ms(1);
      break;
    case 1:
      CHECK(usleep(20) == 0);
      break;
    case 2:
      sched_yield();
      break;
    default: {
      int fds[2];
      char byte;
      CHECK(pipe(fds) == 0);
      CHECK(write(fds[1], "x", 1) == 1 && read(fds[0], &byte, 1) == 1);
      close(fds[0]);
      close(fds[1]);
    }
  }
  return 0;
}

static void* does_nothing(void* unused) {
  sched_yield();
  return unused;
}

static void* keeps_the_loader_busy(void* number) {
  long me = (long)number;
  for (long i = 0; i < 25; ++i) {
    switch ((me + i) % 4) {
      case 0:
        CHECK(dl_iterate_phdr(waits_inside, (void*)(me + i / 4)) == 0);
        break;
      case 1:
        join(java(does_nothing, NULL));
        break;
      case 2: {
        void* library = dlopen(LATE_TLS_MODULE, RTLD_NOW);
        CHECK(library != NULL && dlsym(library, "next_value") != NULL);
        CHECK(dlclose(library) == 0);
        break;
      }
      default: {
        pthread_t plain;
        CHECK(pthread_create(&plain, NULL, does_nothing, NULL) == 0);
        join(plain);
      }
    }
  }
  return NULL;
}

int main(void) {
  check_tasks();
  pthread_t t[12];
  for (long i = 0; i < 12; ++i) t[i] = java(keeps_the_loader_busy, (void*)i);
  for (int i = 0; i < 12; ++i) join(t[i]);
  return 0;
}
