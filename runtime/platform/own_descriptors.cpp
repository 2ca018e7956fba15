#include "platform/own_descriptors.h"

#include <atomic>

namespace wisp {

// Number + 1; 0 is an empty place. Relaxed: who tries to close a descriptor of ours while it is
// being made has guessed its number.
static std::atomic<int> g_own[16];

static void replace(int from, int to) {
  for (auto& place : g_own) {
    int expected = from;
    if (place.compare_exchange_strong(expected, to, std::memory_order_relaxed)) return;
  }
}

void own_descriptor_add(int fd) { replace(0, fd + 1); }
void own_descriptor_remove(int fd) { replace(fd + 1, 0); }

bool own_descriptor_in(int first, int last) {
  for (auto& place : g_own) {
    int own = place.load(std::memory_order_relaxed) - 1;
    if (own >= first && own <= last && own >= 0) return true;
  }
  return false;
}

}  // namespace wisp
