// What AddressSanitizer and ThreadSanitizer must be told around a switch; empty otherwise.
// Order of calls, all by the scheduler: fiber_adopt_thread() once per worker, fiber_create() per
// coroutine, fiber_leave() directly before the switch, fiber_enter() as the first thing in the
// resumed flow (also at its very first start).
// Always inline: TSan counts calls per fiber, so no instrumented function may be entered on one
// fiber and left on another.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

#define WISP_INLINE inline __attribute__((always_inline))

namespace wisp {

struct Fiber {
#if defined(__SANITIZE_THREAD__)
  void* tsan = nullptr;
#endif
#if defined(__SANITIZE_ADDRESS__)
  void* fake_stack = nullptr;
  const void* base = nullptr;
  size_t size = 0;
#endif
};

// The fiber of the calling kernel thread's own stack.
WISP_INLINE void fiber_adopt_thread([[maybe_unused]] Fiber* fiber) {
#if defined(__SANITIZE_THREAD__)
  fiber->tsan = __tsan_get_current_fiber();
#endif
#if defined(__SANITIZE_ADDRESS__)
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    void* base = nullptr;
    pthread_attr_getstack(&attributes, &base, &fiber->size);
    fiber->base = base;
    pthread_attr_destroy(&attributes);
  }
#endif
}

WISP_INLINE void fiber_create([[maybe_unused]] Fiber* fiber, [[maybe_unused]] const void* base,
                              [[maybe_unused]] size_t size) {
#if defined(__SANITIZE_THREAD__)
  fiber->tsan = __tsan_create_fiber(0);
#endif
#if defined(__SANITIZE_ADDRESS__)
  fiber->fake_stack = nullptr;
  fiber->base = base;
  fiber->size = size;
#endif
}

// Before the stack is released. Never for the running fiber, never for an adopted one.
WISP_INLINE void fiber_destroy([[maybe_unused]] Fiber* fiber) {
#if defined(__SANITIZE_THREAD__)
  __tsan_destroy_fiber(fiber->tsan);
  fiber->tsan = nullptr;
#endif
#if defined(__SANITIZE_ADDRESS__)
  // Frames that never returned left their red zones in the shadow of memory that has a next user.
  __asan_unpoison_memory_region(const_cast<void*>(fiber->base), fiber->size);
#endif
}

// `last`: the flow that leaves will never be resumed, ASan may free its fake stack.
WISP_INLINE void fiber_leave([[maybe_unused]] Fiber* from, [[maybe_unused]] Fiber* to,
                             [[maybe_unused]] bool last) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(last ? nullptr : &from->fake_stack, to->base, to->size);
#endif
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(to->tsan, 0);
#endif
}

WISP_INLINE void fiber_enter([[maybe_unused]] Fiber* self) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(self->fake_stack, nullptr, nullptr);
#endif
}

}  // namespace wisp
