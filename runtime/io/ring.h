// Requests to disk files by io_uring: the kernel works on them while the task is parked, and no
// kernel thread of ours waits. One ring per carrier, made at its first request; completions come
// through the event pump. Plain system calls instead of liburing, which has to hold a lock over
// submission (ours needs none) and is not there for cross builds.
#pragma once
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

namespace wisp::io {

// Nothing has been done: the caller makes the call itself, in a BlockingRegion.
constexpr long kNoRing = -100001;

// On a task, outside any RuntimeEntry. Results are the kernel's: bytes or -errno. `at` < 0: at the
// file's position, for callers that nobody else moves it under. Like calls that wait for a disk
// these cannot be interrupted: the memory is the kernel's until the completion is there, and signal
// handlers run after it.
long ring_read(int fd, const iovec* parts, int count, off_t at);
long ring_write(int fd, const iovec* parts, int count, off_t at);
long ring_sync(int fd, bool data_only);

// Set before the first task: false = never, as it is unless the user asks (docs/performance-io.md).
extern bool g_ring_wanted;

// For the pump: takes the completions of a ring and wakes their tasks. Inside the runtime.
int ring_reap(uint32_t index);
// True if a ring's own descriptor is in [first, last].
bool ring_owns(int first, int last);

// For tests.
struct RingCounts {
  uint64_t requests, refused;
};
RingCounts ring_counts();

}  // namespace wisp::io
