// See own_descriptors.h.
#include "platform/own_descriptors.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <atomic>

#include "platform/kernel.h"

namespace wisp {

// Number + 1; 0 is an empty place. Relaxed: who tries to close a descriptor of ours while it is
// being made has guessed its number.
static std::atomic<int> g_own[kMostOwnDescriptors];
// No place beyond has ever been taken. Relaxed, as above.
static std::atomic<int> g_places{0};

static void replace(int from, int to) {
  for (int i = 0; i < kMostOwnDescriptors; ++i) {
    int expected = from;
    if (!g_own[i].compare_exchange_strong(expected, to, std::memory_order_relaxed)) continue;
    int places = g_places.load(std::memory_order_relaxed);
    while (places <= i &&
           !g_places.compare_exchange_weak(places, i + 1, std::memory_order_relaxed)) {
    }
    return;
  }
}

void own_descriptor_add(int fd) { replace(0, fd + 1); }
void own_descriptor_remove(int fd) { replace(fd + 1, 0); }

bool own_descriptor_in(int first, int last) {
  for (int i = 0, n = g_places.load(std::memory_order_relaxed); i < n; ++i) {
    int own = g_own[i].load(std::memory_order_relaxed) - 1;
    if (own >= first && own <= last && own >= 0) return true;
  }
  return false;
}

uint64_t descriptor_limit() {
  rlimit limit{0, 0};
  kernel::call(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, reinterpret_cast<long>(&limit));
  return limit.rlim_cur;
}

int high_duplicate(int fd, uint32_t others) {
  // Programs expect the lowest free number for their own descriptors, and what they print to go
  // nowhere when they were started without standard output.
  uint64_t limit = descriptor_limit();
  if (others > limit / 32) return -1;
  long from = limit > 1024 ? 1000 : limit > 64 ? static_cast<long>(limit) / 2 : 3;
  return static_cast<int>(kernel::call(SYS_fcntl, fd, F_DUPFD_CLOEXEC, from));
}

int move_up(int fd) {
  if (fd < 0) return fd;
  int high = high_duplicate(fd);
  if (high < 0) return fd;
  kernel::call(SYS_close, fd);
  return high;
}

}  // namespace wisp
