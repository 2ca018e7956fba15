// Memory protection keys: their rights are a task's from the first key on (platform/memory_keys.h).
// Stacks that a program cuts out of the one it is on: what is below may be in use (trim.cpp).
#include <sys/mman.h>
#include <ucontext.h>

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

// In front of makecontext (tail_calls_*.S), which it returns. A coroutine whose stack lies in its
// thread's own is suspended there while the thread waits, and may lie below where that waits.
extern "C" __attribute__((visibility("hidden"))) void* wisp_before_makecontext(
    const ucontext_t* context) {
  real::ensure();
  if (WispTask* task = calling_task())
    if (stack_holds(task->stack, context->uc_stack.ss_sp))
      task->uses_below.store(true, std::memory_order_relaxed);
  return reinterpret_cast<void*>(real::makecontext);
}
