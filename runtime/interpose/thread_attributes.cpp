// What a thread says of itself: stack bounds, name, CPU clock. For a task the answers are the
// task's own; libc's would be about a kernel thread that the kernel does not know.
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "interpose/entry.h"
#include "interpose/threads.h"
#include "platform/kernel.h"
#include "sync/join.h"

namespace wisp {

static inline WispTask* known_clock(clockid_t clock) {
  return interposing() && scheduler_running() ? task_of_clock(clock) : nullptr;
}

static int copy_name(const char* from, char* to, size_t size) {
  if (size < 16) return ERANGE;  // whatever the name (glibc, nptl/pthread_getname.c)
  size_t length = strnlen(from, 15) + 1;
  memcpy(to, from, length - 1);
  to[length - 1] = '\0';
  return 0;
}

}  // namespace wisp

using namespace wisp;

WISP_EXPORT int pthread_getattr_np(pthread_t thread, pthread_attr_t* attr) noexcept {
  real::ensure();
  WispTask* task = known_task(thread);
  if (task == nullptr) return real::pthread_getattr_np(thread, attr);
  int r = real::pthread_attr_init(attr);
  if (r != 0) return r;
  real::pthread_attr_setstack(attr, task->stack.base, task->stack.size);
  // Zero: our guard lies below what we report. HotSpot before JDK 21 takes the guard size off the
  // bottom (glibc before 2.27 counted the guard in), later ones do not; zero is right for both.
  real::pthread_attr_setguardsize(attr, 0);
  bool detached = task->join_state.load(std::memory_order_relaxed) == kDetached;
  real::pthread_attr_setdetachstate(attr,
                                    detached ? PTHREAD_CREATE_DETACHED : PTHREAD_CREATE_JOINABLE);
  return 0;
}

WISP_EXPORT int pthread_setname_np(pthread_t thread, const char* name) noexcept {
  real::ensure();
  WispTask* task = known_task(thread);
  if (task == nullptr) {
    if (interposing() && g_vm_thread_named != nullptr) g_vm_thread_named(name);
    return real::pthread_setname_np(thread, name);
  }
  size_t length = strnlen(name, 16);
  if (length > 15) return ERANGE;
  // Readers may see a mixture, as with the kernel's own comm; the last byte stays 0.
  strncpy(task->name, name, 15);
  return 0;
}

WISP_EXPORT int pthread_getname_np(pthread_t thread, char* buffer, size_t size) noexcept {
  real::ensure();
  WispTask* task = known_task(thread);
  if (task == nullptr) return real::pthread_getname_np(thread, buffer, size);
  return copy_name(task->name, buffer, size);
}

// ---- CPU time --------------------------------------------------------------------------------

WISP_EXPORT int pthread_getcpuclockid(pthread_t thread, clockid_t* clock) noexcept {
  real::ensure();
  WispTask* task = known_task(thread);
  if (task == nullptr) return real::pthread_getcpuclockid(thread, clock);
  *clock = thread_cpu_clock(task->tid);
  return 0;
}

WISP_EXPORT int clock_gettime(clockid_t clock, timespec* ts) noexcept {
  // Called millions of times a second (System.nanoTime): all but the CPU clocks of threads go on
  // after two compares.
  if (WISP_UNLIKELY(clock < 0 || clock == CLOCK_THREAD_CPUTIME_ID)) {
    if (WispTask* task = known_clock(clock)) {
      uint64_t ns = task_cpu_ns(task);
      ts->tv_sec = static_cast<time_t>(ns / 1000000000u);
      ts->tv_nsec = static_cast<long>(ns % 1000000000u);
      return 0;
    }
  }
  real::ensure();
  return real::clock_gettime(clock, ts);
}

// HotSpot asks whether a thread's clock is fine-grained before it uses it (JDK 8 and 11).
WISP_EXPORT int clock_getres(clockid_t clock, timespec* resolution) noexcept {
  real::ensure();
  if (clock < 0 && known_clock(clock) != nullptr) {
    if (resolution != nullptr) *resolution = timespec{0, 1};
    return 0;
  }
  return real::clock_getres(clock, resolution);
}

// What the kernel counts of a thread besides, faults and switches, it counts by kernel thread: 0.
WISP_EXPORT int getrusage(__rusage_who_t who, rusage* usage) noexcept {
  real::ensure();
  WispTask* task = who == RUSAGE_THREAD ? calling_task() : nullptr;
  if (task == nullptr) return real::getrusage(who, usage);
  rusage of_process;
  if (real::getrusage(RUSAGE_SELF, &of_process) != 0) return -1;
  uint64_t us = task_cpu_ns(task) / 1000;
  *usage = rusage{};
  usage->ru_utime.tv_sec = static_cast<time_t>(us / 1000000);
  usage->ru_utime.tv_usec = static_cast<suseconds_t>(us % 1000000);
  usage->ru_maxrss = of_process.ru_maxrss;  // the process's for threads, too
  return 0;
}

WISP_EXPORT pid_t gettid() noexcept {
  if (interposing())
    if (WispTask* task = current_task()) return static_cast<pid_t>(task->tid);
  return kernel::gettid();
}
