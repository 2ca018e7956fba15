// Small compiler words used everywhere in the runtime. No state, no dependencies.
#pragma once
#include <stddef.h>
#include <stdint.h>

#define WISP_LIKELY(x) __builtin_expect(!!(x), 1)
#define WISP_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define WISP_NOINLINE __attribute__((noinline))
#define WISP_EXPORT extern "C" __attribute__((visibility("default")))

// Sanitizer builds keep every task on its worker's thread pointer: a sanitizer's own
// thread-locals cannot follow a change of the fs register.
#ifndef WISP_SWITCH_FS
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define WISP_SWITCH_FS 0
#else
#define WISP_SWITCH_FS 1
#endif
#endif

namespace wisp {

constexpr size_t kCacheLine = 64;

// Forbids the compiler (not the processor) to move memory accesses across this point.
inline void compiler_barrier() { asm volatile("" ::: "memory"); }

inline void cpu_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

}  // namespace wisp
