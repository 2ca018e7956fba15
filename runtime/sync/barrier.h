// pthread barriers of this process. libc's pthread_barrier_init has stored count and "shared" where
// it wants them (probed at start); the rest of the caller's memory is ours. Process-shared barriers
// are libc's.
#pragma once
#include <pthread.h>

#include "platform/real.h"
#include "sync/words.h"

namespace wisp {

// Compares what libc's init leaves with the layout below. Call once, at start.
bool barrier_layout_probe(const char** why);

bool barrier_is_ours(pthread_barrier_t* b);
int barrier_wait(pthread_barrier_t* b);  // 0 or PTHREAD_BARRIER_SERIAL_THREAD
// Waits until everybody who was released has left, as libc's does.
int barrier_destroy(pthread_barrier_t* b);

}  // namespace wisp
