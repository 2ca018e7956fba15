// Shared by the families that take descriptors: who asks, and how a system call's result is given
// back. Kernel threads always go to libc.
#pragma once
#include <errno.h>

#include "interpose/entry.h"

namespace wisp {

inline bool on_task() { return interposing() && current_task() != nullptr; }

// A result >= 0 or -errno, as libc gives it.
inline long answer(long result) {
  if (WISP_LIKELY(result >= 0)) return result;
  errno = static_cast<int>(-result);
  return -1;
}

}  // namespace wisp
