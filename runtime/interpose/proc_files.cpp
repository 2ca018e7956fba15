// See proc_files.h. Who asks for them:
// - /proc/self/task/<tid>/stat: HotSpot for a thread's user time (ThreadMXBean.getThreadUserTime),
//   by fopen; with status and comm OSHI and libraries that tell of their threads, by open.
// - /proc/<tid>/maps: HotSpot for the dynamic libraries, in crash reports and for VM.dynlibs (it
//   takes gettid() for the process, os::print_dll_info).
// - /proc/sys/kernel/pid_max: async-profiler (event=cpu, ctimer) makes a table of so many entries,
//   and indexes it by gettid() without a further look: with the kernel's number it crashed.
// - /proc/<pid>/exe: ProcessHandle for the command of a process, by readlink.
#include "interpose/proc_files.h"

#include <fcntl.h>
#include <linux/memfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "interpose/entry.h"
#include "platform/kernel.h"
#include "platform/proc.h"
#include "scheduler/task_tid.h"

namespace wisp {

namespace {

constexpr size_t kTextSize = 2048;  // status has some 1,500 bytes

struct TaskFile {
  WispTask* task = nullptr;  // null: no task's file
  const char* name = nullptr;
  bool in_process = false;  // in /proc/<tid>: files that the task has not are the process's
};

bool skip(const char*& at, const char* word) {
  size_t length = strlen(word);
  if (strncmp(at, word, length) != 0) return false;
  at += length;
  return true;
}

// `at` is behind "/proc/".
TaskFile task_file(const char* at) {
  if (skip(at, "thread-self/")) return {current_task(), at};
  char* end;
  WispTask* task = nullptr;
  if (!skip(at, "self/")) {
    long id = strtol(at, &end, 10);
    if (*end != '/') return {};
    if (id != kernel::getpid() && (task = task_of_tid(static_cast<int>(id))) == nullptr) return {};
    at = end + 1;
  }
  const char* name = at;
  if (skip(at, "task/")) {
    long tid = strtol(at, &end, 10);
    WispTask* other = task_of_tid(static_cast<int>(tid));
    if (*end == '/' && other != nullptr) return {other, end + 1};
  }
  return {task, name, task != nullptr};
}

// What is put together, never more than there is room for.
struct Text {
  char text[kTextSize];
  size_t length = 0;

  void add(const char* from, size_t bytes) {
    if (bytes > sizeof text - length) bytes = sizeof text - length;
    memcpy(text + length, from, bytes);
    length += bytes;
  }
  void add(const char* from) { add(from, strlen(from)); }
};

bool asleep(const WispTask* task) {
  return task->state.load(std::memory_order_relaxed) == TaskState::Parked;
}

// proc(5): number, name, fields from the third. The process's own line, but for the state, faults
// and CPU time; all of that counts as user time: the runtime does not see which part of it the
// kernel spent. The time of start stays the process's.
void add_stat(Text& to, const WispTask* task, const char* of_process) {
  constexpr int kState = 3, kFaults = 10, kUserTime = 14, kSystemTime = 15;
  char own[64];
  uint64_t hz = static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
  snprintf(own, sizeof own, "%u (%s)", task->tid, task->name);
  to.add(own);
  const char* at = strrchr(of_process, ')');
  if (at == nullptr) return;
  ++at;
  for (int field = kState; *at == ' '; ++field) {
    ++at;
    size_t length = strcspn(at, " \n");
    to.add(" ");
    if (field == kState) {
      to.add(asleep(task) ? "S" : "R");
    } else if (field == kUserTime) {
      snprintf(own, sizeof own, "%lu", task_cpu_ns(task) / (1000000000u / hz));
      to.add(own);
    } else if (field >= kFaults && field <= kSystemTime) {
      to.add("0");
    } else {
      to.add(at, length);
    }
    at += length;
  }
  to.add("\n");
}

// The process's lines, but for those that are about one thread. Switches are not counted by task.
void add_status(Text& to, const WispTask* task, const char* of_process) {
  char own[64];
  for (const char* at = of_process; *at != '\0';) {
    const char* line = at;
    size_t length = strcspn(at, "\n");
    at += length + (at[length] == '\n' ? 1 : 0);
    if (strncmp(line, "Name:", 5) == 0)
      snprintf(own, sizeof own, "Name:\t%s\n", task->name);
    else if (strncmp(line, "State:", 6) == 0)
      snprintf(own, sizeof own, "State:\t%s\n", asleep(task) ? "S (sleeping)" : "R (running)");
    else if (strncmp(line, "Pid:", 4) == 0)
      snprintf(own, sizeof own, "Pid:\t%u\n", task->tid);
    else if (memmem(line, length, "voluntary_ctxt_switches", 23) != nullptr)
      own[0] = '\0';
    else {
      to.add(line, static_cast<size_t>(at - line));
      continue;
    }
    to.add(own);
  }
}

// False: a file that tasks do not have.
bool add_file(Text& to, const TaskFile& file) {
  if (strcmp(file.name, "comm") == 0) {
    to.add(file.task->name);
    to.add("\n");
    return true;
  }
  bool stat = strcmp(file.name, "stat") == 0;
  char of_process[kTextSize];
  if (!stat && strcmp(file.name, "status") != 0) return false;
  if (!read_proc(kernel::getpid(), file.name, of_process, sizeof of_process)) return false;
  (stat ? add_stat : add_status)(to, file.task, of_process);
  return true;
}

// A descriptor to read it from, or -1.
int open_text(const Text& text, int flags) {
  long cloexec = (flags & O_CLOEXEC) != 0 ? MFD_CLOEXEC : 0;
  long fd = kernel::call(SYS_memfd_create, reinterpret_cast<long>("proc"), cloexec);
  if (fd < 0) return -1;
  long size = static_cast<long>(text.length);
  if (kernel::call(SYS_pwrite64, fd, reinterpret_cast<long>(text.text), size, 0) == size)
    return static_cast<int>(fd);
  kernel::call(SYS_close, fd);
  return -1;
}

// /proc/<tid>/<name>, for a task, is the process's.
int open_of_process(const char* name, int flags) {
  char path[128];
  int length = snprintf(path, sizeof path, "/proc/%d/%s", kernel::getpid(), name);
  if (length < 0 || static_cast<size_t>(length) >= sizeof path) return -1;
  long fd = kernel::call(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path), flags);
  return fd < 0 ? -1 : static_cast<int>(fd);
}

// A link /proc/<pid>/exe, by number.
bool is_program_of(const char* path) {
  if (!skip(path, "/proc/")) return false;
  const char* digits = path;
  while (*path >= '0' && *path <= '9') ++path;
  return path != digits && strcmp(path, "/exe") == 0;
}

// In a home made by `wisp jdk` the stock launcher is .wisp/bin/java. Who starts JVMs by the name of
// his own shall get what he was started by: bin/java. Returns the new length.
ssize_t as_started(char* program, ssize_t length) {
  constexpr char kStock[] = "/.wisp/bin/java", kStarted[] = "/bin/java";
  constexpr ssize_t kLength = sizeof kStock - 1, kFewer = sizeof kStock - sizeof kStarted;
  if (length < kLength || memcmp(program + length - kLength, kStock, kLength) != 0) return length;
  memcpy(program + length - kLength, kStarted, sizeof kStarted - 1);
  memset(program + length - kFewer, 0, kFewer);  // for callers who rely on a buffer of zeros
  return length - kFewer;
}

}  // namespace

// Room for twelve million threads in the life of the process, and small enough for a table.
constexpr char kPidMax[] = "16777216\n";
static_assert(kFirstTaskTid < 1u << 24);

int open_proc_file(const char* path, int flags) {
  if (!skip(path, "/proc/") || (flags & O_ACCMODE) != O_RDONLY || !interposing() ||
      !scheduler_running())
    return -1;
  Text text;
  if (strcmp(path, "sys/kernel/pid_max") == 0) {
    text.add(kPidMax);
  } else {
    TaskFile file = task_file(path);
    if (file.task == nullptr) return -1;
    if (!add_file(text, file)) return file.in_process ? open_of_process(file.name, flags) : -1;
  }
  return open_text(text, flags);
}

}  // namespace wisp

using namespace wisp;

WISP_EXPORT FILE* fopen(const char* path, const char* mode) {
  real::ensure();
  if (path != nullptr && mode != nullptr && mode[0] == 'r' && strchr(mode, '+') == nullptr &&
      path[0] == '/' && path[1] == 'p') {
    int fd = open_proc_file(path, strchr(mode, 'e') != nullptr ? O_CLOEXEC : 0);
    if (fd >= 0) {
      FILE* stream = fdopen(fd, mode);
      if (stream == nullptr) kernel::call(SYS_close, fd);  // no memory; errno stays fdopen's
      return stream;
    }
  }
  return real::fopen(path, mode);
}

WISP_EXPORT FILE* fopen64(const char* path, const char* mode) { return fopen(path, mode); }

WISP_EXPORT ssize_t readlink(const char* path, char* target, size_t size) noexcept {
  real::ensure();
  ssize_t length = real::readlink(path, target, size);
  // Not libjli's: it looks for the JDK from there, on no task.
  if (length <= 0 || calling_task() == nullptr || !is_program_of(path)) return length;
  return static_cast<size_t>(length) < size ? as_started(target, length) : length;
}
