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

constexpr off_t kFilePosition = -1;  // as the offset: at the descriptor's own position

long disk_read(int fd, void* buffer, size_t size, off_t offset);
long disk_read(int fd, const iovec* parts, int count, off_t offset);
long disk_write(int fd, const void* buffer, size_t size, off_t offset);
long disk_write(int fd, const iovec* parts, int count, off_t offset);

// A descriptor was opened with these open(2) flags, or one was closed: what was learned about the
// number is forgotten. Forgetting to say so costs speed, never correctness. Any thread.
void disk_opened(int fd, int flags);

// Around a call that announces itself as slow (fsync, flock, ftruncate...). On a kernel thread and
// inside the runtime it is the call alone. Measured: docs/design.md, "Disk files".
template <typename F>
inline auto disk_wait(F&& call) {
  BlockingRegion region;
  return call();
}

}  // namespace wisp::io
