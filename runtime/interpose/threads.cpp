// Life of a thread: pthread_create, exit, join, detach. A task's pthread_t is the thread pointer of
// its block, as for every thread of glibc, so pthread_self and pthread_equal need no help.
#include "interpose/threads.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdlib.h>
#include <threads.h>

#include <algorithm>

#include "coroutine/key_registry.h"
#include "interpose/entry.h"
#include "scheduler/lent.h"
#include "scheduler/own_thread.h"
#include "signal/actions.h"
#include "sync/join.h"
#include "sync/words.h"

namespace wisp {

bool (*g_make_task)(const void* caller) = nullptr;
void (*g_vm_thread_named)(const char* name) = nullptr;
size_t g_stack_option = 0;
bool (*g_start_scheduler)() = nullptr;

// __pthread_register_cancel and its opposite are what compiled pthread_cleanup_push code calls, in
// every libc since 2.3.3. Runs the start routine under the outermost cleanup handler, as glibc's
// own thread start does: libc's pthread_exit (and an accepted cancellation) unwinds the stack, C++
// destructors and C cleanup handlers included, and then jumps here.
static void* call_start_routine(WispTask* self) {
  // What a cancellation leaves, wherever it is accepted. Not at the request: a thread that has
  // ended by itself has given a result of its own.
  self->result = PTHREAD_CANCELED;
  __pthread_unwind_buf_t buffer;
  void* registers = buffer.__cancel_jmp_buf;
  if (__sigsetjmp(static_cast<__jmp_buf_tag*>(registers), 0) == 0) {
    real::__pthread_register_cancel(&buffer);
    self->result = self->start_routine(self->start_argument);
  }
  real::__pthread_unregister_cancel(&buffer);
  return self->result;
}

void task_main(WispTask* self) {
  if (self->block_used)
    thread_block_reset(&self->block);
  else
    thread_block_first_run();
  self->block_used = true;
  void* result = call_start_routine(self);
  if (!interposing()) exit(0);  // a forked child's only thread has ended
  thread_block_exit_hooks(&self->block);
  exit_current(self, result);
}

// The option stands for the JVM's default, which the first thread is made with (`main`), give or
// take pages that HotSpot adds for its guards. A thread whose constructor wants more keeps that.
static size_t stack_by_option(size_t asked) {
  static std::atomic<size_t> g_usual{0};
  size_t usual = 0;
  if (g_usual.compare_exchange_strong(usual, asked, std::memory_order_relaxed)) usual = asked;
  constexpr size_t kGuards = 64 << 10;
  return asked > usual + kGuards ? std::max(asked, g_stack_option) : g_stack_option;
}

// From glibc 2.32 on attributes may have one.
static void mask_at_birth(const pthread_attr_t* attr, uint64_t* mask) {
  sigset_t set;
  if (real::pthread_attr_getsigmask_np == nullptr) return;
  if (real::pthread_attr_getsigmask_np(attr, &set) == 0) *mask = word_of(&set);
}

static int create_task(pthread_t* out, const pthread_attr_t* attr, void* (*start)(void*),
                       void* argument) {
  size_t stack_size = 0, guard_size = 0;
  int detach_state = PTHREAD_CREATE_JOINABLE;
  real::pthread_attr_getstacksize(attr, &stack_size);
  real::pthread_attr_getguardsize(attr, &guard_size);
  real::pthread_attr_getdetachstate(attr, &detach_state);
  int error = affinity_at_birth(attr);
  if (error == 0) error = class_at_birth(attr);
  if (error != 0) return error;
  if (g_stack_option != 0) stack_size = stack_by_option(stack_size);
  RuntimeEntry entry;
  WispTask* task;  // born with its creator's signal mask and name
  bool detached = detach_state == PTHREAD_CREATE_DETACHED;
  error = task_create(&task, start, argument, stack_size, guard_size);
  if (error != 0) return error;
  mask_at_birth(attr, &task->signal_mask);
  task->java_id = thread_self().next_java_id;
  join_init(task, detached);
  *out = thread_block_self(task->block);  // before it can run, as glibc does
  ready(task);
  return 0;
}

// Without attributes it has the process's, which a program may change (the size of the stack).
static int create_usual_task(pthread_t* out, void* (*start)(void*), void* argument) {
  pthread_attr_t usual;
  int error = real::pthread_getattr_default_np(&usual);
  if (error != 0) return error;
  error = create_task(out, &usual, start, argument);
  real::pthread_attr_destroy(&usual);
  return error;
}

// A thread with a stack of the caller's own stays a kernel thread: its memory may be of any kind.
static bool has_own_stack(const pthread_attr_t* attr) {
  if (attr == nullptr) return false;
  void* address = nullptr;
  size_t size = 0;
  // glibc stores the top; a base computed from a zero top is a wrapped, non-canonical number.
  if (real::pthread_attr_getstack(attr, &address, &size) != 0) return false;
  return reinterpret_cast<uintptr_t>(address) + size != 0;
}

// glibc 2.41 and later refuse a time that is none (b371ed2726), and look at it before they see that
// a thread would wait for itself: asked so, libc itself answers.
static bool is_no_time_for_libc(const timespec* abstime) {
  return abstime != nullptr && !valid_nsec(*abstime) &&
         real::pthread_timedjoin_np(pthread_self(), nullptr, abstime) == EINVAL;
}

// For older ones it is no reason to give up: the kernel refuses, and they ask again.
static uint64_t join_deadline(clockid_t clock, const timespec* abstime) {
  if (abstime == nullptr || (abstime->tv_sec >= 0 && !valid_nsec(*abstime))) return kForever;
  return monotonic_deadline(clock, *abstime);
}

}  // namespace wisp

using namespace wisp;

WISP_EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attr, void* (*start)(void*),
                               void* argument) noexcept {
  real::ensure();
  bool java = thread_self().next_create_is_java;
  // One that is born of a changed thread inherits that, as only a kernel thread can.
  if (interposing() && g_make_task != nullptr && g_make_task(__builtin_return_address(0)) &&
      !has_own_stack(attr) && !thread_is_changed(calling_task()) && g_start_scheduler()) {
    int error = attr != nullptr ? create_task(thread, attr, start, argument)
                                : create_usual_task(thread, start, argument);
    // HotSpot tries again (os::create_thread; seen in JDK 25).
    if (error == EAGAIN) thread_self().next_create_is_java = java;
    return error;
  }
  FullWeight inherited(calling_task());
  return real::pthread_create(thread, attr, start, argument);
}

WISP_EXPORT int pthread_join(pthread_t thread, void** result) {
  real::ensure();
  if (WispTask* task = known_task(thread)) return join_task(task, result, kForever);
  if (!interposing() || current_task() == nullptr) return real::pthread_join(thread, result);
  BlockingRegion region;
  return real::pthread_join(thread, result);
}

WISP_EXPORT int pthread_tryjoin_np(pthread_t thread, void** result) noexcept {
  real::ensure();
  if (WispTask* task = known_task(thread)) return join_try(task, result);
  return real::pthread_tryjoin_np(thread, result);
}

WISP_EXPORT int pthread_timedjoin_np(pthread_t thread, void** result, const timespec* abstime) {
  real::ensure();
  if (WispTask* task = known_task(thread)) {
    if (WISP_UNLIKELY(is_no_time_for_libc(abstime))) return EINVAL;
    return join_task(task, result, join_deadline(CLOCK_REALTIME, abstime));
  }
  if (!interposing() || current_task() == nullptr)
    return real::pthread_timedjoin_np(thread, result, abstime);
  BlockingRegion region;
  return real::pthread_timedjoin_np(thread, result, abstime);
}

WISP_EXPORT int pthread_clockjoin_np(pthread_t thread, void** result, clockid_t clock,
                                     const timespec* abstime) {
  real::ensure();
  if (WispTask* task = known_task(thread)) {
    if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) return EINVAL;
    if (WISP_UNLIKELY(is_no_time_for_libc(abstime))) return EINVAL;
    return join_task(task, result, join_deadline(clock, abstime));
  }
  if (real::pthread_clockjoin_np == nullptr) return ENOSYS;  // glibc before 2.31
  if (!interposing() || current_task() == nullptr)
    return real::pthread_clockjoin_np(thread, result, clock, abstime);
  BlockingRegion region;
  return real::pthread_clockjoin_np(thread, result, clock, abstime);
}

WISP_EXPORT int pthread_detach(pthread_t thread) noexcept {
  real::ensure();
  if (WispTask* task = known_task(thread)) return join_detach(task);
  return real::pthread_detach(thread);
}

WISP_EXPORT void pthread_exit(void* result) {
  real::ensure();
  if (interposing())
    if (WispTask* task = current_task()) task->result = result;
  real::pthread_exit(result);  // unwinds; on a task it arrives in call_start_routine
  __builtin_unreachable();
}

WISP_EXPORT int pthread_cancel(pthread_t thread) {
  real::ensure();
  WispTask* task = known_task(thread);
  if (task == nullptr) return real::pthread_cancel(thread);
  // libc marks the request in the thread's block and then signals a tid that the kernel does not
  // know: the task acts on the mark at its next cancellation point inside libc, which is all that
  // deferred cancellation promises; it is not woken from a wait, and never cancelled
  // asynchronously.
  real::pthread_cancel(thread);
  return 0;
}

// ---- keys: the end of a task runs the destructors (coroutine/key_registry.h) --------------------

WISP_EXPORT int pthread_key_create(pthread_key_t* key, void (*destructor)(void*)) noexcept {
  real::ensure();
  int r = real::pthread_key_create(key, destructor);
  if (r == 0) key_created(*key, destructor);
  return r;
}

WISP_EXPORT int pthread_key_delete(pthread_key_t key) noexcept {
  real::ensure();
  // First forgotten here: the number may be given out again as soon as libc has it back.
  key_deleted(key);
  return real::pthread_key_delete(key);
}

// C11's names for the same keys (glibc, nptl/tss_create.c), with errors of their own.
WISP_EXPORT int tss_create(tss_t* key, tss_dtor_t destructor) {
  static_assert(sizeof(tss_t) == sizeof(pthread_key_t));
  int r = pthread_key_create(key, destructor);
  return r == 0 ? thrd_success : r == ENOMEM ? thrd_nomem : thrd_error;
}

WISP_EXPORT void tss_delete(tss_t key) { pthread_key_delete(key); }
