// See proc_files.h.
// /proc/self/task/<tid>/stat of a task, for which the kernel has no such file. HotSpot reads a
// thread's user time there (ThreadMXBean.getThreadUserTime), by fopen.
// /proc/sys/kernel/pid_max: async-profiler (event=cpu, ctimer) makes a table of so many entries,
// and indexes it by gettid() without a further look: with the kernel's number it crashed.
#include "interpose/proc_files.h"

#include <fcntl.h>
#include <linux/memfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "interpose/entry.h"
#include "platform/kernel.h"
#include "scheduler/task_pool.h"

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

// Room for twelve million threads in the life of the process, and small enough for a table.
constexpr char kPidMax[] = "16777216\n";
static_assert(kFirstTaskTid < 1u << 24);

int open_pid_max(const char* path, int flags) {
  if (strcmp(path, "/proc/sys/kernel/pid_max") != 0 || (flags & O_ACCMODE) != O_RDONLY ||
      !interposing() || !scheduler_running())
    return -1;
  long cloexec = (flags & O_CLOEXEC) != 0 ? MFD_CLOEXEC : 0;
  long fd = kernel::call(SYS_memfd_create, reinterpret_cast<long>("pid_max"), cloexec);
  if (fd < 0) return -1;
  constexpr long kSize = sizeof kPidMax - 1;
  if (kernel::call(SYS_pwrite64, fd, reinterpret_cast<long>(kPidMax), kSize, 0) == kSize)
    return static_cast<int>(fd);
  kernel::call(SYS_close, fd);
  return -1;
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
