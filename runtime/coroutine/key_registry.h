// Destructors of pthread keys, which glibc runs only for threads it created itself.
// Invariant: mirrors glibc's table as far as calls pass the interposed pthread_key_create and
// pthread_key_delete, which tell it here. Lock-free; any thread may call.
#pragma once

#include <pthread.h>

namespace wisp {

void key_created(pthread_key_t key, void (*destructor)(void*));
void key_deleted(pthread_key_t key);

// Runs the destructors for the calling task's values, as at the end of a thread: rounds until no
// value with a destructor is left, at most PTHREAD_DESTRUCTOR_ITERATIONS.
void key_run_destructors();

}  // namespace wisp
