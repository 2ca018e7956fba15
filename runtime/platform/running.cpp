// See running.h. Raw system calls: ours are interposed and would take the descriptor for the
// program's.
#include "platform/running.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <atomic>

#include "platform/kernel.h"
#include "platform/own_descriptors.h"

namespace wisp {

namespace {

// Of ours, open for good.
class File {
 public:
  void open(const char* path) {
    if (fd_.load(std::memory_order_relaxed) >= 0) return;
    int fd = move_up(static_cast<int>(kernel::call(
        SYS_openat, AT_FDCWD, reinterpret_cast<long>(path), O_RDONLY | O_CLOEXEC | O_NOCTTY)));
    if (fd < 0) return;
    own_descriptor_add(fd);
    fd_.store(fd, std::memory_order_relaxed);
  }
  // Its first bytes as a string; false: there are none.
  template <size_t N>
  bool read(char (&text)[N]) const {
    int fd = fd_.load(std::memory_order_relaxed);
    if (fd < 0) return false;
    long n = kernel::call(SYS_pread64, fd, reinterpret_cast<long>(text), N - 1, 0);
    if (n <= 0) return false;
    text[n] = '\0';
    return true;
  }

 private:
  // -1: not open. Relaxed: the number says it all.
  std::atomic<int> fd_{-1};
};

constinit File g_loadavg, g_uptime;

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
  online_processors();  // libc reads a file for it: not at some wake-up, with a number of its own
  g_loadavg.open("/proc/loadavg");
  g_uptime.open("/proc/uptime");
}

int running_threads() {
  char text[128];
  return g_loadavg.read(text) ? parse_running(text) : -1;
}

uint64_t parse_idle(const char* uptime) {
  const char* at = strchr(uptime, ' ');
  if (at == nullptr) return 0;
  uint64_t hundredths = 0;
  int behind = -1;  // the point
  for (++at; behind < 2; ++at) {
    if (*at == '.' && behind < 0) {
      behind = 0;
    } else if (*at >= '0' && *at <= '9' && hundredths < ~0ull / 1'000'000) {
      hundredths = hundredths * 10 + static_cast<uint64_t>(*at - '0');
      if (behind >= 0) ++behind;
    } else {
      return 0;
    }
  }
  return hundredths * 10'000;
}

uint64_t machine_idle_us() {
  char text[128];
  return g_uptime.read(text) ? parse_idle(text) : 0;
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
