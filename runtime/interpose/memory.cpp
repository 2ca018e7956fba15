// Memory protection keys: their rights are a task's from the first key on (platform/memory_keys.h).
#include <sys/mman.h>

#include "interpose/entry.h"
#include "platform/memory_keys.h"
#include "platform/real.h"

using namespace wisp;

WISP_EXPORT int pkey_alloc(unsigned flags, unsigned rights) noexcept {
  real::ensure();
  int key = real::pkey_alloc(flags, rights);
  if (key >= 0) g_memory_keys.store(true, std::memory_order_relaxed);
  return key;
}
