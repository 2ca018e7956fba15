// Stands in for libjvm: its JVM_StartThread does what HotSpot's does for our purpose, one
// pthread_create. Under libwisp.so the call comes through Wisp's hook, and the thread is a task.
#include "preload.h"

__attribute__((visibility("default"))) void JVM_StartThread(void* env, void* thread) {
  (void)env;
  struct start_request* r = thread;
  r->result = pthread_create(r->thread, r->attr, r->run, r->argument);
}
