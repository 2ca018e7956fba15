// Threads that wait inside a callback of dl_iterate_phdr, where they hold ld.so's lock, while
// others start threads, load libraries and look for symbols.
#include <dlfcn.h>
#include <link.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <unwind.h>

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

// ---- a callback that is left by unwinding, as an exception does: the thread is one like others
static sem_t g_ping, g_pong;
enum { kTrips = 2000 };
static void* answers(void* unused) {
  for (int i = 0; i < kTrips; ++i) CHECK(sem_wait(&g_ping) == 0 && sem_post(&g_pong) == 0);
  return unused;
}
static jmp_buf g_caught;
static struct _Unwind_Exception g_thrown;
static _Unwind_Reason_Code until_caught(int version, _Unwind_Action actions,
                                        _Unwind_Exception_Class kind,
                                        struct _Unwind_Exception* thrown,
                                        struct _Unwind_Context* frame, void* catcher) {
  (void)version, (void)actions, (void)kind, (void)thrown;
  if (_Unwind_GetCFA(frame) > (_Unwind_Word)catcher) longjmp(g_caught, 1);
  return _URC_NO_REASON;
}
static int throws(struct dl_phdr_info* info, size_t size, void* catcher) {
  (void)info, (void)size;
  _Unwind_ForcedUnwind(&g_thrown, until_caught, catcher);
  CHECK(!"unwound");
  return 0;
}
static void* left_by_unwinding(void* one_carrier) {
  char here;
  if (setjmp(g_caught) == 0) CHECK(dl_iterate_phdr(throws, &here) == 0 && !"thrown");
  sem_init(&g_ping, 0, 0);
  sem_init(&g_pong, 0, 0);
  struct rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  pthread_t other = java(answers, NULL);
  for (int i = 0; i < kTrips; ++i) CHECK(sem_post(&g_ping) == 0 && sem_wait(&g_pong) == 0);
  join(other);
  getrusage(RUSAGE_SELF, &after);
  // On its kernel thread it would sleep in the kernel each time.
  if (one_carrier != NULL) CHECK(after.ru_nvcsw - before.ru_nvcsw < kTrips / 2);
  return NULL;
}

int main(void) {
  check_tasks();
  const char* carriers = getenv("TEST_CARRIERS");
  bool one = carriers != NULL && strcmp(carriers, "1") == 0;
  join(java(left_by_unwinding, one ? (void*)carriers : NULL));
  pthread_t t[12];
  for (long i = 0; i < 12; ++i) t[i] = java(keeps_the_loader_busy, (void*)i);
  for (int i = 0; i < 12; ++i) join(t[i]);
  return 0;
}
