// How programs of tests start "Java" threads: fake_jvm.c. For C and C++.
#pragma once
#include <pthread.h>

struct start_request {
  pthread_t* thread;
  const pthread_attr_t* attr;
  void* (*run)(void*);
  void* argument;
  int result;
};
#ifdef __cplusplus
extern "C"
#endif
    void
    JVM_StartThread(void* env, void* thread);

// A task under Wisp. What pthread_create has said.
static inline int start_java(pthread_t* thread, const pthread_attr_t* attr, void* (*run)(void*),
                             void* argument) {
  struct start_request r = {thread, attr, run, argument, -1};
  JVM_StartThread(NULL, &r);
  return r.result;
}
