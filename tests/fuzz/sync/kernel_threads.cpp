#include "sync/kernel_threads.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

#include "by_kernel.h"

namespace steps {

namespace {

int open_at(int folder, const char* name, int flags) {
  return static_cast<int>(by_kernel(SYS_openat, folder, reinterpret_cast<long>(name), flags));
}

struct Entry {
  uint64_t number;
  int64_t offset;
  uint16_t length;
  uint8_t type;
  char name[];
};

bool runnable(int folder, const char* tid) {
  char path[32], text[512];
  strcpy(path, tid);
  strcat(path, "/stat");
  int fd = open_at(folder, path, O_RDONLY);
  if (fd < 0) return false;
  long n = by_kernel(SYS_read, fd, reinterpret_cast<long>(text), sizeof text - 1);
  by_kernel(SYS_close, fd, 0, 0);
  if (n <= 0) return false;
  text[n] = 0;
  const char* end = strrchr(text, ')');
  return end != nullptr && (end[2] == 'R' || end[2] == 'D');
}

}  // namespace

int runnable_threads() {
  int folder = open_at(AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY);
  if (folder < 0) return 0;
  int count = 0;
  alignas(Entry) char list[4096];
  for (;;) {
    long n = by_kernel(SYS_getdents64, folder, reinterpret_cast<long>(list), sizeof list);
    if (n <= 0) break;
    for (long at = 0; at < n;) {
      auto* entry = reinterpret_cast<Entry*>(list + at);
      at += entry->length;
      if (entry->name[0] != '.') count += runnable(folder, entry->name);
    }
  }
  by_kernel(SYS_close, folder, 0, 0);
  return count;
}

}  // namespace steps
