// Memory protection keys (pkeys(7)): what a thread may do with the pages of each key stands in a
// register of its own, PKRU, which the kernel keeps per kernel thread and a child inherits. V8
// takes the right to write its code away and gives it back with it. So each task has its rights,
// from the first pkey_alloc in the process on: a switch reads and writes the register then. x86-64;
// the like of ARM (POE) is not known here.
#pragma once
#include <stdint.h>

#include <atomic>

#include "platform/compiler.h"

namespace wisp {

// Before a key is allocated: none but key 0 (Linux's init_pkru_value, arch/x86/mm/pkeys.c).
constexpr uint32_t kNoKeys = 0x55555554;

// Some key has been allocated. relaxed: who has rights to lose has allocated a key, or got them
// from such a one, and comes to another worker by way of a queue.
inline std::atomic<bool> g_memory_keys{false};
inline bool memory_keys() { return WISP_UNLIKELY(g_memory_keys.load(std::memory_order_relaxed)); }

// Only where there are keys: else the instruction is none.
#ifdef __x86_64__
inline uint32_t key_rights() {
  uint32_t rights, zero;
  asm volatile("rdpkru" : "=a"(rights), "=d"(zero) : "c"(0));
  return rights;
}
inline void set_key_rights(uint32_t rights) {
  asm volatile("wrpkru" : : "a"(rights), "c"(0), "d"(0) : "memory");
}
#else
inline uint32_t key_rights() { return kNoKeys; }
inline void set_key_rights(uint32_t) {}
#endif

}  // namespace wisp
