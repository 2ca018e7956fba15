// Makes threads by a function of its own, as async-profiler's library does.
#include <dlfcn.h>
#include <pthread.h>

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                   void* argument) {
  int (*next)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*) = 0;
  *(void**)&next = dlsym(RTLD_NEXT, "pthread_create");
  return next(thread, attributes, run, argument);
}
