// What a thread says of itself: stack bounds, name, CPU clock, scheduling, affinity. For a task the
// answers are the task's own; libc's would be about a kernel thread that the kernel does not know.
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "interpose/entry.h"
#include "interpose/threads.h"
#include "platform/kernel.h"

namespace wisp {

static inline WispTask* known_task(pthread_t thread) {
  return interposing() && scheduler_running() ? task_of(thread) : nullptr;
}
WispTask* known_tid(int tid) {
  return interposing() && scheduler_running() && tid > 0 ? task_of_tid(tid) : nullptr;
}

static inline WispTask* known_clock(clockid_t clock) {
  return interposing() && scheduler_running() ? task_of_clock(clock) : nullptr;
}

static int copy_name(const char* from, char* to, size_t size) {
  size_t length = strnlen(from, 15) + 1;
  if (length > size) return ERANGE;
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
  real::pthread_attr_setdetachstate(
      attr, task->detached ? PTHREAD_CREATE_DETACHED : PTHREAD_CREATE_JOINABLE);
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

// ---- CPU time
// ------------------------------------------------------------------------------------

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

// ---- scheduling: tasks have no policy or priority of their own
// -----------------------------------

WISP_EXPORT int pthread_getschedparam(pthread_t thread, int* policy, sched_param* param) noexcept {
  real::ensure();
  if (known_task(thread) == nullptr) return real::pthread_getschedparam(thread, policy, param);
  *policy = SCHED_OTHER;
  param->sched_priority = 0;
  return 0;
}

// 0 or an errno. SCHED_RESET_ON_FORK may be or'ed to the class.
static int class_for_task(int policy, const sched_param* param) {
  policy &= ~SCHED_RESET_ON_FORK;
  if (policy == SCHED_OTHER || policy == SCHED_BATCH || policy == SCHED_IDLE)
    return param->sched_priority == 0 ? 0 : EINVAL;
  return EPERM;  // real-time: a task cannot promise it
}

WISP_EXPORT int pthread_setschedparam(pthread_t thread, int policy,
                                      const sched_param* param) noexcept {
  real::ensure();
  if (known_task(thread) == nullptr) return real::pthread_setschedparam(thread, policy, param);
  return class_for_task(policy, param);
}

WISP_EXPORT int pthread_setschedprio(pthread_t thread, int priority) noexcept {
  real::ensure();
  if (known_task(thread) == nullptr) return real::pthread_setschedprio(thread, priority);
  return priority == 0 ? 0 : EINVAL;
}

// -XX:ThreadPriorityPolicy=1 sets nice values by tid: accepted, without effect on a task. Of itself
// a task reads that of the process: its kernel thread's may be another (scheduler/lent.h).
static bool is_task(id_t who) {
  if (who == 0) return interposing() && current_task() != nullptr;
  return known_tid(static_cast<int>(who)) != nullptr;
}

static id_t process_for_task(id_t who) {
  return is_task(who) ? static_cast<id_t>(kernel::getpid()) : who;
}

WISP_EXPORT int setpriority(__priority_which_t which, id_t who, int value) noexcept {
  real::ensure();
  if (which == PRIO_PROCESS && is_task(who)) return 0;
  return real::setpriority(which, who, value);
}

WISP_EXPORT int getpriority(__priority_which_t which, id_t who) noexcept {
  real::ensure();
  return real::getpriority(which, which == PRIO_PROCESS ? process_for_task(who) : who);
}

// By tid, as the above: a class that promises nothing is accepted, a real-time one refused.
WISP_EXPORT int nice(int added) noexcept {
  real::ensure();
  if (!is_task(0)) return real::nice(added);
  if (added < 0 && geteuid() != 0) return error_answer(EPERM);
  int sum = getpriority(PRIO_PROCESS, 0) + added;
  return sum < -20 ? -20 : sum > 19 ? 19 : sum;
}

WISP_EXPORT int sched_getscheduler(pid_t who) noexcept {
  real::ensure();
  return real::sched_getscheduler(static_cast<pid_t>(process_for_task(static_cast<id_t>(who))));
}
WISP_EXPORT int sched_getparam(pid_t who, sched_param* param) noexcept {
  real::ensure();
  return real::sched_getparam(static_cast<pid_t>(process_for_task(static_cast<id_t>(who))), param);
}
WISP_EXPORT int sched_setscheduler(pid_t who, int policy, const sched_param* param) noexcept {
  real::ensure();
  if (!is_task(static_cast<id_t>(who))) return real::sched_setscheduler(who, policy, param);
  return error_answer(param == nullptr ? EINVAL : class_for_task(policy, param));
}
WISP_EXPORT int sched_setparam(pid_t who, const sched_param* param) noexcept {
  real::ensure();
  if (!is_task(static_cast<id_t>(who))) return real::sched_setparam(who, param);
  return error_answer(param == nullptr || param->sched_priority != 0 ? EINVAL : 0);
}

// A task runs wherever a carrier does: it answers with the affinity of the process, and a wish to
// bind one is accepted if it leaves any of those processors.
static int task_affinity(size_t size, cpu_set_t* set) {
  return real::sched_getaffinity(getpid(), size, set);
}

static bool any_processor(size_t size, const cpu_set_t* set) {
  const char* bytes = reinterpret_cast<const char*>(set);
  for (size_t i = 0; i < size; ++i)
    if (bytes[i] != 0) return true;
  return false;
}

WISP_EXPORT int pthread_getaffinity_np(pthread_t thread, size_t size, cpu_set_t* set) noexcept {
  real::ensure();
  if (known_task(thread) == nullptr) return real::pthread_getaffinity_np(thread, size, set);
  int saved = errno;
  int r = task_affinity(size, set) == 0 ? 0 : errno;
  errno = saved;
  return r;
}

WISP_EXPORT int pthread_setaffinity_np(pthread_t thread, size_t size,
                                       const cpu_set_t* set) noexcept {
  real::ensure();
  if (known_task(thread) == nullptr) return real::pthread_setaffinity_np(thread, size, set);
  return any_processor(size, set) ? 0 : EINVAL;
}

WISP_EXPORT int sched_getaffinity(pid_t tid, size_t size, cpu_set_t* set) noexcept {
  real::ensure();
  bool about_task =
      tid == 0 ? interposing() && current_task() != nullptr : known_tid(tid) != nullptr;
  return about_task ? task_affinity(size, set) : real::sched_getaffinity(tid, size, set);
}

WISP_EXPORT int sched_setaffinity(pid_t tid, size_t size, const cpu_set_t* set) noexcept {
  real::ensure();
  bool about_task =
      tid == 0 ? interposing() && current_task() != nullptr : known_tid(tid) != nullptr;
  if (!about_task) return real::sched_setaffinity(tid, size, set);
  if (any_processor(size, set)) return 0;
  errno = EINVAL;
  return -1;
}

WISP_EXPORT pid_t gettid() noexcept {
  if (interposing())
    if (WispTask* task = current_task()) return static_cast<pid_t>(task->tid);
  return kernel::gettid();
}
