// See running.h. Raw system calls: ours are interposed and would take the descriptor for the
// program's.
#include "platform/running.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>

#include "platform/kernel.h"
#include "platform/own_descriptors.h"

namespace wisp {

namespace {

// -1: not open. Relaxed: the number says it all.
std::atomic<int> g_file{-1};

}  // namespace

int parse_running(const char* loadavg) {
  int fields = 0;
  const char* at = loadavg;
  for (; *at != '\0' && fields < 3; ++at) fields += *at == ' ';
  if (*at < '0' || *at > '9') return -1;
  int running = 0;
  for (; *at >= '0' && *at <= '9' && running < 1'000'000; ++at)
    running = running * 10 + (*at - '0');
  return *at == '/' ? running : -1;
}

void running_threads_open() {
  if (g_file.load(std::memory_order_relaxed) >= 0) return;
  online_processors();  // libc reads a file for it: not at some wake-up, with a number of its own
  long path = reinterpret_cast<long>("/proc/loadavg");
  int fd = move_up(
      static_cast<int>(kernel::call(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOCTTY)));
  if (fd < 0) return;
  own_descriptor_add(fd);
  g_file.store(fd, std::memory_order_relaxed);
}

int running_threads() {
  int fd = g_file.load(std::memory_order_relaxed);
  if (fd < 0) return -1;
  char text[128];
  long n = kernel::call(SYS_pread64, fd, reinterpret_cast<long>(text), sizeof text - 1, 0);
  if (n <= 0) return -1;
  text[n] = '\0';
  return parse_running(text);
}

int online_processors() {
  static std::atomic<int> known{0};
  int n = known.load(std::memory_order_relaxed);
  if (n == 0) {
    n = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
    known.store(n, std::memory_order_relaxed);
  }
  return n;
}

}  // namespace wisp
