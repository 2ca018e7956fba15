// POSIX semaphores of this process, in the caller's sem_t with libc's 64-bit layout: value in the
// low half, number of waiting threads in the high half of one word, "shared" at offset 8 (zero for
// ours). sem_open'ed and process-shared semaphores are libc's.
// One word for both, because post must learn whether anybody waits from the very operation that
// makes the unit available: right after it a waiter may return and free the semaphore.
// Functions return 0 or an errno value; setting errno is the C ABI's affair (interpose).
#pragma once
#include <semaphore.h>

#include "platform/real.h"
#include "sync/words.h"

namespace wisp {

static_assert(sizeof(sem_t) == 32);
constexpr uint64_t kSemWaiter = uint64_t{1} << 32;
inline std::atomic<uint64_t>& sem_word(sem_t* s) { return word_at<uint64_t>(s, 0); }
inline uint32_t sem_value(uint64_t word) { return static_cast<uint32_t>(word); }
inline bool sem_is_ours(sem_t* s) {
  return word_at<uint32_t>(s, 8).load(std::memory_order_relaxed) == 0;
}
// Compares what libc's sem_init leaves with the layout above. Call once, at start.
bool semaphore_layout_probe(const char** why);

int semaphore_trywait(sem_t* s);                                              // 0 or EAGAIN
int semaphore_wait(sem_t* s, uint64_t deadline_ns);                           // 0, ETIMEDOUT, EINTR
int semaphore_clockwait(sem_t* s, clockid_t clock, const timespec* abstime);  // or EINVAL
int semaphore_post(sem_t* s);  // 0 or EOVERFLOW; async-signal-safe

}  // namespace wisp
