// Coroutine stacks: mapping, guard page, a bounded cache of released ones.
// Invariant: memory handed out is readable and writable over [base, base + size) whatever its last
// user did to the protections inside. Thread-safe; the scheduler and the interposed pthread_create
// call it. Contents are whatever the last user left, as with glibc's own stack cache.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wisp {

struct Stack {
  char* base;    // lowest usable address, directly above the guard
  size_t size;   // usable bytes
  size_t guard;  // inaccessible bytes below base, may be 0 (HotSpot protects its own zones)
  bool fresh;    // never used: all zero
};

inline bool stack_holds(const Stack& stack, const void* address) {
  auto at = static_cast<const char*>(address);
  return at >= stack.base && at < stack.base + stack.size;
}

// Sizes are rounded up to whole pages. False with errno (ENOMEM, EAGAIN, EINVAL) on refusal.
bool stack_allocate(Stack* stack, size_t size, size_t guard);

// Gives the stack back. Never on the stack itself.
void stack_release(Stack* stack);

// Gives the whole pages below sp back to the kernel. From sp up everything stays: for a flow that
// rests it is where the switch saved its registers (behind a call there is no red zone). Returns
// the bytes that were resident; 0 also when sp is not in this stack (a flow parked on a signal
// stack). Only while nothing runs on the stack. A page costs a microsecond or two to fault in
// again, and the call interrupts other processors: for flows that rest for long.
size_t stack_trim_below(const Stack& stack, const void* sp);

// Of a flow that has ended: gives back what deep calls have left, more than kShallow bytes below
// `top`. (glibc does that for each thread: nptl, advise_stack_range.) One to two microseconds.
constexpr size_t kShallow = size_t{128} << 10;
void stack_drop_deep(const Stack& stack, const void* top);

// Where the first frame goes: `top` (the stack's own, if null) less an offset below 512 bytes that
// differs from stack to stack. Tops lie alike in their pages; without it the hot frames of all
// parked coroutines share a few of the 64 sets of the L1 cache (a ring of 64 coroutines: 7.3
// to 7.6 instead of 9.1 to 9.4 ns a switch). Offsets over the whole page were faster still (9 ns
// where those below 1 KiB took 15), but cost half a page of memory for each stack.
void* stack_start(const Stack& stack, void* top = nullptr);

struct StackCacheLimits {
  size_t stacks = 1024;
  size_t resident_bytes = size_t{64} << 20;
};

// For tests. New limits hold for later releases; stack_cache_trim() applies them to what is cached
// now.
void stack_cache_configure(const StackCacheLimits& limits);
void stack_cache_trim();

struct StackCacheStatistics {
  size_t stacks;
  size_t resident_bytes;
  uint64_t hits;
  uint64_t misses;
};
StackCacheStatistics stack_cache_statistics();

// In a fork child: another thread of the parent may have held the lock.
void stack_cache_after_fork();

}  // namespace wisp
