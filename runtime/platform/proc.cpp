#include "platform/proc.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "platform/kernel.h"

namespace wisp {

bool read_proc(int tid, const char* file, char* to, size_t size) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/%s", tid, file);
  long fd = kernel::call(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  long n = kernel::call(SYS_read, fd, reinterpret_cast<long>(to), static_cast<long>(size) - 1);
  kernel::call(SYS_close, fd);
  if (n <= 0) return false;
  to[n] = '\0';
  return true;
}

}  // namespace wisp
