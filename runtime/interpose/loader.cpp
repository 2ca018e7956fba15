// dlopen: a library with static TLS that arrives late is initialised by ld.so only in threads that
// ld.so knows, so the blocks of tasks need the same done to them.
//
// A wrapper around dlopen would hide who calls it: libc takes the caller's $ORIGIN, RUNPATH and,
// for what the library needs itself, RPATH from the return address. So our dlopen only leaves a
// mark and jumps on. The mark makes the thread look for new modules when it next leaves the
// runtime, which it does before another task can learn of the library through a lock, a queue or a
// wake-up; and at its next dlsym, hence before it calls into the library itself. A library whose
// constructors enter the runtime uses the mark up earlier, but after ld.so has listed the library,
// which is all we need.
#include <link.h>
#include <string.h>
#include <unwind.h>

#include "coroutine/thread_block.h"
#include "interpose/entry.h"
#include "interpose/process.h"
#include "platform/log.h"
#include "scheduler/own_thread.h"

namespace wisp {

static int read_adds(dl_phdr_info* info, size_t, void* adds) {
  *static_cast<unsigned long long*>(adds) = info->dlpi_adds;
  return 1;
}

// Every thread that loaded something does this itself: another's look, begun earlier, may not have
// come to all blocks yet when this thread goes on and shows the library to their tasks. Looks may
// overlap; under ld.so's lock each block gets each image once.
void late_modules_check() {
  WispTask* self = current_task();
  if (self != nullptr) thread_block_init_late_modules(&self->block, true);
  // Most dlopens find a library that is there. release/acquire: a look that is over has reached
  // every block; the lock orders what it did there.
  static std::atomic<unsigned long long> looked{0};
  unsigned long long adds = 0;
  dl_iterate_phdr(read_adds, &adds);
  if (looked.load(std::memory_order_acquire) == adds) return;
  // Also the dead ones: their blocks wait for the next task. A block made meanwhile is complete: it
  // is filled under the lock, after the library was listed.
  for (WispTask* t = all_tasks(); t != nullptr; t = t->all_next)
    thread_block_init_late_modules(&t->block, false);
  looked.store(adds, std::memory_order_release);
}

static void before(const char* path) {
  real::ensure();
  if (path == nullptr || !interposing() || !scheduler_running()) return;
  ThreadSelf& self = thread_self();
  if (self.task != nullptr) thread_block_before_dlopen(&self.task->block);
  self.pending_signals.fetch_or(kLoaderMark, std::memory_order_relaxed);
}

static bool is_interposed(const char* name) {
  static constexpr const char* kNames[] = {
#define WISP_INTERPOSED(name, family, policy) #name,
#include "interpose/functions.def"
#undef WISP_INTERPOSED
  };
  for (const char* known : kNames)
    if (strcmp(known, name) == 0) return true;
  return false;
}

// libc's function for ours, if `handle` gave that one: libc's own handle, which java.lang.foreign
// and jnr-ffi ask, sees libc alone, so their reads would keep a carrier. Not where a library behind
// ours stands for that function: it may look for libc's so. In dlsym's place: has its arguments and
// its answer.
static void* find_by_handle(void* handle, const char* name) {
  real::Dlsym find = real::libcs_dlsym();
  void* libcs = find(RTLD_NEXT, name);
  void* found = find(handle, name);  // the last one if it is the answer: so is dlerror's
  if (found == nullptr || found != libcs) return found;
  void* ours = find(real::own_handle(), name);
  return ours != nullptr ? ours : found;
}

extern "C" __attribute__((visibility("hidden"))) void* wisp_before_dlsym(void* handle,
                                                                         const char* name) {
  ThreadSelf& self = thread_self();
  if (WISP_UNLIKELY((self.pending_signals.load(std::memory_order_relaxed) & kLoaderMark) != 0) &&
      interposing() && self.depth.load(std::memory_order_relaxed) == 0) {
    self.pending_signals.fetch_and(~kLoaderMark, std::memory_order_relaxed);
    late_modules_check();
  }
  bool by_handle = handle != RTLD_DEFAULT && handle != RTLD_NEXT;
  if (by_handle && g_interposing.load(std::memory_order_relaxed) && is_interposed(name))
    return reinterpret_cast<void*>(find_by_handle);
  return reinterpret_cast<void*>(real::libcs_dlsym());
}

extern "C" __attribute__((visibility("hidden"))) void* wisp_before_dlopen(const char* path, int) {
  before(path);
  return reinterpret_cast<void*>(real::dlopen);
}

extern "C" __attribute__((visibility("hidden"))) void* wisp_before_dlmopen(long, const char* path,
                                                                           int) {
  before(path);
  return reinterpret_cast<void*>(real::dlmopen);
}

}  // namespace wisp

using namespace wisp;

// An exception that leaves the callback (or pthread_exit in it) unwinds our frame, too: libc gives
// up its lock, and the task is free to move again. Built without exceptions we have no destructors
// then, but the unwinder asks this of the frame that names it.
extern "C" __attribute__((visibility("hidden"))) _Unwind_Reason_Code wisp_leaves_callback(
    int, _Unwind_Action actions, _Unwind_Exception_Class, _Unwind_Exception*, _Unwind_Context*) {
  WispTask* self = (actions & _UA_CLEANUP_PHASE) != 0 ? calling_task() : nullptr;
  if (self != nullptr) --self->stays_here;
  return _URC_CONTINUE_UNWIND;
}

// The callback runs under ld.so's lock, which starting a thread takes, and a dlopen while it holds
// what starting a thread takes: a task that waits in there must not need a worker to come back.
WISP_EXPORT int dl_iterate_phdr(int (*callback)(dl_phdr_info*, size_t, void*), void* data) {
  real::ensure();
  asm volatile(".cfi_personality 0x1b, wisp_leaves_callback");  // its place, relative, 4 bytes
  StaysHere here(calling_task());
  return real::dl_iterate_phdr(callback, data);
}
