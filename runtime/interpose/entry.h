// What every interposed function starts with. `interposing()` is false while the call must go
// straight to libc: Wisp is off in this process, not started yet, or the thread is one of the
// runtime's own or a vfork child.
#pragma once
#include <errno.h>

#include "platform/real.h"
#include "platform/thread_self.h"
#include "scheduler/scheduler.h"

namespace wisp {

// Set once by the library's constructor (jvm/start.cpp) when this process shall run on Wisp;
// cleared in a forked child. Locks behave the same way in the whole process from then on.
extern std::atomic<bool> g_interposing;

inline bool interposing() {
  return WISP_LIKELY(g_interposing.load(std::memory_order_relaxed)) &&
         WISP_LIKELY(thread_self().straight == 0);
}

// The task that makes an interposed call; null on plain kernel threads, and while the call must go
// straight to libc.
inline WispTask* calling_task() { return interposing() ? current_task() : nullptr; }

// The same, outside the runtime: a handler that runs while its task is inside (a crash report) gets
// libc.
inline WispTask* task_outside_runtime() {
  if (!interposing()) return nullptr;
  ThreadSelf& me = thread_self();
  if (WISP_UNLIKELY(me.depth.load(std::memory_order_relaxed) != 0)) return nullptr;
  return me.task;
}

// The kernel's answer (-4095 to -1 is -errno, all else a result) in the form of libc: -1 and errno.
inline long answer(long result) {
  constexpr long kMaxErrno = 4095;
  if (WISP_LIKELY(result >= 0 || result < -kMaxErrno)) return result;
  errno = static_cast<int>(-result);
  return -1;
}

// 0 or an error's number, as the layers below answer, in the form of most C functions: 0, or -1 and
// errno.
inline int error_answer(int error) {
  if (WISP_LIKELY(error == 0)) return 0;
  errno = error;
  return -1;
}

}  // namespace wisp
