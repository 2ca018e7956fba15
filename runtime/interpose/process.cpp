// Processes: fork, vfork, exec, the end. Waiting for children is in wait.cpp.
//
// A forked child has one thread and may do little before it executes something else: Wisp is off in
// it, all calls are libc's. Unless nothing has begun yet: a daemon's launcher forks first, and its
// child loads the JVM (jsvc). A vfork child shares our memory, thread-local data included: its
// parent thread's `straight` is set until the parent goes on.
#include "interpose/process.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include <new>

#include "coroutine/stack.h"
#include "coroutine/thread_block.h"
#include "interpose/entry.h"
#include "io/epoll_set.h"
#include "io/kept.h"
#include "platform/kernel.h"
#include "scheduler/lent.h"
#include "signal/task_signals.h"
#include "sync/words.h"

namespace wisp {

char* const* (*g_exec_environment)(const char* path, char* const envp[]) = nullptr;
void (*g_before_exit)() = nullptr;

// Before every fork, also of those that libc makes itself (forkpty, daemon), after the handlers of
// who registered later. What another thread registers meanwhile the child may or may not see.
// Inside the runtime only a crash forks (-XX:OnError): its thread may hold the locks needed here.
static void before_fork() {
  if (!interposing() || thread_self().depth.load(std::memory_order_relaxed) != 0) return;
  io::epoll_surrender_all();
  signals_before_fork();
}

// In the child of each of them, before those handlers. (_Fork runs none: its child may call little,
// and execs.)
static void in_forked_child() {
  caller_forget_tid();
  if (!g_interposing.load(std::memory_order_relaxed) || !scheduler_running()) {
    signals_after_fork();
    return;
  }
  g_interposing.store(false, std::memory_order_relaxed);
  stack_cache_after_fork();
  io::kept_after_fork();
  if (WispTask* task = current_task()) thread_block_after_fork(task_worker_tp(task));
  signals_stop();
}

bool process_start() {
  return pthread_atfork(&before_fork, &signals_after_fork, &in_forked_child) == 0;
}

}  // namespace wisp

using namespace wisp;

// ---- children --------------------------------------------------------------------------------

WISP_EXPORT pid_t fork() noexcept {
  real::ensure();
  FullWeight inherited(calling_task());
  return real::fork();
}

// The two halves of vfork around the system call, see tail_calls_*.S.
extern "C" __attribute__((visibility("hidden"))) void wisp_vfork_enter() {
  if (WispTask* task = calling_task()) {
    FullWeight::begin(task);
    // Others go on while this kernel thread waits for its child. Not ended here: the region would
    // take the carrier back. A region begun and ended in wisp_vfork_leave does that.
    alignas(BlockingRegion) char region[sizeof(BlockingRegion)];
    new (region) BlockingRegion();
  }
  ThreadSelf& self = thread_self();
  self.in_vfork = true;
  ++self.straight;
}

extern "C" __attribute__((visibility("hidden"))) long wisp_vfork_leave(long result) {
  ThreadSelf& self = thread_self();
  --self.straight;
  self.in_vfork = false;
  if (WispTask* task = calling_task()) {
    BlockingRegion region;
    FullWeight::end(task);
  } else if (interposing()) {
    RuntimeEntry deliver;  // what was put off, when this ends
  }
  return answer(result);
}

// ---- exec: only the environment of what executes itself matters ------------------------------

static char* const* environment_of_exec(const char* path, char* const envp[]) {
  vfork_child_unblock();
  if (!interposing() || g_exec_environment == nullptr) return envp;
  return g_exec_environment(path, envp);
}

// What executes itself does so by its path; a bare name is somebody else.
static char* const* environment_of_search(const char* file, char* const envp[]) {
  if (strchr(file, '/') != nullptr) return environment_of_exec(file, envp);
  vfork_child_unblock();
  return envp;
}

WISP_EXPORT int execve(const char* path, char* const argv[], char* const envp[]) noexcept {
  real::ensure();
  FullWeight inherited(calling_task());
  return real::execve(path, argv, environment_of_exec(path, envp));
}

WISP_EXPORT int execv(const char* path, char* const argv[]) noexcept {
  return execve(path, argv, environ);
}

// libc's own also with a path: a file that is no program is a script to it (ENOEXEC).
WISP_EXPORT int execvpe(const char* file, char* const argv[], char* const envp[]) noexcept {
  real::ensure();
  FullWeight inherited(calling_task());
  return real::execvpe(file, argv, environment_of_search(file, envp));
}

WISP_EXPORT int execvp(const char* file, char* const argv[]) noexcept {
  real::ensure();
  FullWeight inherited(calling_task());
  char* const* envp = environment_of_search(file, environ);
  return envp == environ ? real::execvp(file, argv) : real::execvpe(file, argv, envp);
}

WISP_EXPORT int fexecve(int fd, char* const argv[], char* const envp[]) noexcept {
  real::ensure();
  vfork_child_unblock();
  FullWeight inherited(calling_task());
  return real::fexecve(fd, argv, envp);
}

// libc's own forms with a list do not come to the above. No memory but the stack: it may be a vfork
// child's. `list` stands behind the null.
#define WISP_LISTED_ARGUMENTS(first)                                            \
  va_list list;                                                                 \
  size_t n = 0;                                                                 \
  va_start(list, first);                                                        \
  for (const char* a = first; a != nullptr; a = va_arg(list, const char*)) ++n; \
  va_end(list);                                                                 \
  char** argv = static_cast<char**>(__builtin_alloca((n + 1) * sizeof(char*))); \
  argv[0] = const_cast<char*>(first);                                           \
  va_start(list, first);                                                        \
  for (size_t i = 1; i <= n; ++i) argv[i] = va_arg(list, char*);

WISP_EXPORT int execl(const char* path, const char* arg, ...) noexcept {
  WISP_LISTED_ARGUMENTS(arg)
  va_end(list);
  return execve(path, argv, environ);
}

WISP_EXPORT int execlp(const char* file, const char* arg, ...) noexcept {
  WISP_LISTED_ARGUMENTS(arg)
  va_end(list);
  return execvp(file, argv);
}

WISP_EXPORT int execle(const char* path, const char* arg, ...) noexcept {
  WISP_LISTED_ARGUMENTS(arg)
  char* const* envp = va_arg(list, char* const*);
  va_end(list);
  return execve(path, argv, envp);
}
#undef WISP_LISTED_ARGUMENTS

// ---- debuggers: the kernel's tracer is the thread that has attached (ptrace(2)) ---------------

WISP_EXPORT long ptrace(__ptrace_request request, ...) noexcept {
  va_list list;
  va_start(list, request);
  pid_t pid = va_arg(list, pid_t);
  void* address = va_arg(list, void*);
  void* data = va_arg(list, void*);
  va_end(list);
  real::ensure();
  // From now on it stays where it is, until it ends (task_main).
  WispTask* task = calling_task();
  if (task != nullptr && task->stays_here == 0) ++task->stays_here;
  return real::ptrace(request, pid, address, data);
}

// ---- the end ---------------------------------------------------------------------------------

// exit() needs no help: it runs on the calling task, other tasks go on until the kernel ends them,
// as other threads would, and nothing of ours is freed. The statistics line is a destructor's.
static void before_exit() {
  if (interposing() && g_before_exit != nullptr) g_before_exit();
}

extern "C" __attribute__((noreturn, visibility("default"))) void _exit(int status) {
  real::ensure();
  before_exit();
  real::_exit(status);
  __builtin_unreachable();
}

extern "C" __attribute__((noreturn, visibility("default"))) void _Exit(int status) noexcept {
  _exit(status);
}
