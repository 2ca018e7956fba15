// pthread_once and spin locks: small objects whose whole protocol is libc's; we only keep a task
// from blocking, or spinning on, the kernel thread of the very task it waits for.
#pragma once
#include <pthread.h>

#include "platform/real.h"
#include "sync/words.h"

namespace wisp {

constexpr uint32_t kOnceInProgress = 1;  // bit 0 of libc's control word
constexpr uint32_t kOnceDone = 2;        // bit 1

inline bool once_done(pthread_once_t* control) {
  // acquire: the caller sees what the init routine did.
  return (word_at<uint32_t>(control, 0).load(std::memory_order_acquire) & kOnceDone) != 0;
}
int once_slow(pthread_once_t* control, void (*init)(void));
int spin_lock(pthread_spinlock_t* lock);

}  // namespace wisp
