// What a frame of ours has to undo although no destructor of it runs: a signal handler above it may
// never come back (siglongjmp, pthread_exit). libc calls cleanup buffers of the old kind then,
// those whose frames are given up and no others (glibc, __pthread_cleanup_upto and unwind_stop).
// Not for a handler on a signal stack above the thread's stack: there libc takes them for given up
// already.
#pragma once
#include <pthread.h>

#include "platform/compiler.h"

extern "C" {
void _pthread_cleanup_push(_pthread_cleanup_buffer* buffer, void (*routine)(void*), void* argument);
void _pthread_cleanup_pop(_pthread_cleanup_buffer* buffer, int execute);
}

namespace wisp {

// The list is the thread's: begin and end nest, and nothing switches tasks under a sanitizer's one
// record of the thread.
class Cleanup {
 public:
  void begin(void (*routine)(void*), void* argument) {
    if (WISP_SWITCH_FS) _pthread_cleanup_push(&buffer_, routine, argument);
  }
  void end() {
    if (WISP_SWITCH_FS) _pthread_cleanup_pop(&buffer_, 0);
  }

 private:
  _pthread_cleanup_buffer buffer_;
};

// routine(argument) when the scope is given up, not at its end.
class CleanupScope {
 public:
  CleanupScope(void (*routine)(void*), void* argument) { cleanup_.begin(routine, argument); }
  ~CleanupScope() { cleanup_.end(); }
  CleanupScope(const CleanupScope&) = delete;
  CleanupScope& operator=(const CleanupScope&) = delete;

 private:
  Cleanup cleanup_;
};

}  // namespace wisp
