#include "sync/kernel_threads.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

namespace steps {

namespace {

long call(long number, long a, long b, long c, long d = 0) {
#if defined(__x86_64__)
  long result;
  register long r10 __asm__("r10") = d;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
                   : "rcx", "r11", "memory");
  return result;
#else
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
  return x0;
#endif
}

int open_at(int folder, const char* name, int flags) {
  return static_cast<int>(call(SYS_openat, folder, reinterpret_cast<long>(name), flags));
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
  long n = call(SYS_read, fd, reinterpret_cast<long>(text), sizeof text - 1);
  call(SYS_close, fd, 0, 0);
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
    long n = call(SYS_getdents64, folder, reinterpret_cast<long>(list), sizeof list);
    if (n <= 0) break;
    for (long at = 0; at < n;) {
      auto* entry = reinterpret_cast<Entry*>(list + at);
      at += entry->length;
      if (entry->name[0] != '.') count += runnable(folder, entry->name);
    }
  }
  call(SYS_close, folder, 0, 0);
  return count;
}

}  // namespace steps
