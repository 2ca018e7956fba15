// The context switch: one suspended flow of control is one stack pointer. Architecture code is in
// switch_<arch>.S; nothing here knows of tasks or scheduling.
// Invariant: a Context is resumed exactly once per suspension, on any kernel thread, and a thread
// pointer travels with its own stack. The scheduler is the only caller in the runtime.
#pragma once

#include <cstdint>

#include "platform/compiler.h"

namespace wisp {

struct Context {
  void* sp;
};

extern "C" {
// Each saves the caller in *save, continues *resume with `thread_pointer` installed, and returns in
// the resumed context with `arg`. They differ in how the thread pointer is installed.
void* wisp_switch(Context* save, Context* resume, uintptr_t thread_pointer, void* arg);
void* wisp_switch_same_fs(Context* save, Context* resume, uintptr_t thread_pointer, void* arg);
#if defined(__x86_64__)
void* wisp_switch_syscall(Context* save, Context* resume, uintptr_t thread_pointer, void* arg);
#endif
}

// True when the kernel lets user code execute wrfsbase. Written by context_setup() only, before
// the first switch; a predicted branch on it is cheaper than a call through a pointer.
extern bool fs_by_instruction __attribute__((visibility("hidden")));

// Chooses the entry; call once, before the first switch_context().
void context_setup();

// Prepares `context` so that the first switch to it calls entry(arg_of_that_switch, user) on the
// stack that ends at `stack_top`. The floating-point control state is inherited from the caller, as
// a new POSIX thread does. `entry` must never return.
void context_init(Context* context, void* stack_top,
                  void (*entry)(void* arg_of_that_switch, void* user), void* user);

inline void* switch_context(Context* save, Context* resume, uintptr_t thread_pointer, void* arg) {
#if !WISP_SWITCH_FS
  return wisp_switch_same_fs(save, resume, thread_pointer, arg);
#elif defined(__x86_64__)
  if (__builtin_expect(!fs_by_instruction, false))
    return wisp_switch_syscall(save, resume, thread_pointer, arg);
  return wisp_switch(save, resume, thread_pointer, arg);
#else
  return wisp_switch(save, resume, thread_pointer, arg);
#endif
}

// The thread pointer of the running flow. volatile: the compiler may otherwise carry a value read
// on one kernel thread's own stack over a switch.
inline uintptr_t thread_pointer() {
  uintptr_t tp;
#if defined(__x86_64__)
  asm volatile("movq %%fs:0, %0" : "=r"(tp));
#elif defined(__aarch64__)
  asm volatile("mrs %0, tpidr_el0" : "=r"(tp));
#else
#error "no context switch for this architecture"
#endif
  return tp;
}

}  // namespace wisp
