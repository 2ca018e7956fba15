// Reads and writes of disk files for tasks: cached data at the price of the plain system call, what
// must wait for the disk away from the carrier. Results are the kernel's: bytes or -errno. To be
// called on a task outside any RuntimeEntry; with kFilePosition only for regular files and block
// devices (the positional forms fit any descriptor).
#pragma once
#include <sys/types.h>
#include <sys/uio.h>

#include "platform/compiler.h"
#include "scheduler/scheduler.h"

namespace wisp::io {

constexpr size_t kMostPerCall = 0x7ffff000;  // bytes: the kernel's MAX_RW_COUNT, for one call
constexpr off_t kFilePosition = -1;          // as the offset: at the descriptor's own position

long disk_read(int fd, void* buffer, size_t size, off_t offset);
long disk_read(int fd, const iovec* parts, int count, off_t offset);
long disk_write(int fd, const void* buffer, size_t size, off_t offset);
long disk_write(int fd, const iovec* parts, int count, off_t offset);
long disk_sync(int fd, bool data_only);  // fsync, fdatasync: any descriptor

// A descriptor was opened with these open(2) flags, or one was closed: what was learned about the
// number is forgotten. Forgetting to say so costs speed, never correctness. Any thread.
void disk_opened(int fd, int flags);

// Around a call that announces itself as slow (msync, flock, ftruncate...); nothing on a kernel
// thread, not to be used inside the runtime. Cost of the region: 75-90 ns while nobody waits for
// the carrier, about 2 us when somebody does (a worker is woken). No pool stands behind it: the
// task's own kernel thread waits, as on plain threads, so a bounded pool would only add a queue,
// and a deadlock where a pool full of lock waiters keeps the lock's holder out.
template <typename F>
inline auto disk_wait(F&& call) {
  BlockingRegion region;
  return call();
}

}  // namespace wisp::io
