// Shared by the families that take descriptors: who asks, and what follows a write. Kernel threads
// always go to libc.
#pragma once
#include "interpose/entry.h"
#include "io/descriptor.h"
#include "scheduler/own_thread.h"
#include "signal/task_signals.h"

namespace wisp {

// A task that stays on its kernel thread waits there for the event itself, not for who sees it in
// the pump.
inline bool on_task() {
  WispTask* task = task_outside_runtime();
  return task != nullptr && !goes_on_alone(task);
}

// What a call that writes has answered, on a task; first of all behind it (keep_pipe_signal).
inline long written(long result) {
  if (WISP_UNLIKELY(result == -EPIPE)) keep_pipe_signal();
  return result;
}
// The same of libc's.
inline ssize_t written_by_libc(ssize_t result) {
  if (WISP_UNLIKELY(result < 0 && errno == EPIPE) && on_task()) keep_pipe_signal();
  return result;
}

// Behind a write on a task, that is where on_task() was true. Who has sent a question is in the
// middle of something, and holds what others may wait for, a connection to the database: it makes
// way only where one carrier does all. (With 256 connections to a servlet and 32 to the database
// some ten of these were held by tasks that had made way so, 6 ms each.)
inline void after_write(int fd) {
  if (WISP_LIKELY(!make_way_is_due())) return;
  const io::Descriptor* d = io::descriptor_find(fd);
  bool asks = d != nullptr && io::is_opened_connection(d->state.load(std::memory_order_relaxed));
  make_way(asks);
}

}  // namespace wisp
