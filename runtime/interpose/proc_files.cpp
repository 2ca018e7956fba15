// /proc/self/task/<tid>/stat of a task, for which the kernel has no such file. HotSpot reads a
// thread's user time there (ThreadMXBean.getThreadUserTime), by fopen.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/entry.h"
#include "platform/kernel.h"

namespace wisp {

// The task a path speaks of, or null.
static WispTask* task_of_stat_path(const char* path) {
  static const char kStart[] = "/proc/self/task/";
  if (strncmp(path, kStart, sizeof kStart - 1) != 0 || !interposing() || !scheduler_running())
    return nullptr;
  char* end;
  long tid = strtol(path + sizeof kStart - 1, &end, 10);
  return strcmp(end, "/stat") == 0 ? task_of_tid(static_cast<int>(tid)) : nullptr;
}

// A line in the form of proc(5). All CPU time counts as user time: the runtime does not see which
// part of it the kernel spent.
static FILE* open_stat(WispTask* task) {
  uint64_t ticks = task_cpu_ns(task) / (1000000000u / static_cast<uint64_t>(sysconf(_SC_CLK_TCK)));
  TaskState state = task->state.load(std::memory_order_relaxed);
  char letter = state == TaskState::Parked ? 'S' : 'R';
  char line[256];
  int pid = kernel::getpid();
  int length =
      snprintf(line, sizeof line, "%u (%s) %c %d %d 0 0 -1 0 0 0 0 0 %lu 0 0 0 20 0 1 0 0 0 0\n",
               task->tid, task->name, letter, pid, pid, ticks);
  FILE* file = fmemopen(nullptr, static_cast<size_t>(length) + 1, "w+");
  if (file == nullptr) return nullptr;
  fwrite(line, 1, static_cast<size_t>(length), file);
  rewind(file);
  return file;
}

}  // namespace wisp

using namespace wisp;

WISP_EXPORT FILE* fopen(const char* path, const char* mode) {
  real::ensure();
  if (path != nullptr && mode != nullptr && mode[0] == 'r' && path[0] == '/' && path[1] == 'p')
    if (WispTask* task = task_of_stat_path(path)) return open_stat(task);
  return real::fopen(path, mode);
}

WISP_EXPORT FILE* fopen64(const char* path, const char* mode) { return fopen(path, mode); }
