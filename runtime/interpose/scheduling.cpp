// Scheduling of a thread: class, priority, affinity. A task has none of its own: what promises
// nothing is accepted and has no effect, the rest is refused, and it answers for the process
// (bound_as_process, scheduler/placement.h). What its kernel thread has is not the task's
// (scheduler/lent.h, scheduler/placement.h), and what it set there would stay behind with others
// and with every thread that is born of that one.
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "interpose/entry.h"
#include "interpose/threads.h"
#include "platform/kernel.h"
#include "scheduler/placement.h"
#include "scheduler/task_tid.h"

namespace wisp {

namespace {

// A pid_t or id_t of the kernel's calls names a task; 0 is the caller.
bool is_task(int who) {
  if (who == 0) return calling_task() != nullptr;
  return known_tid(who) != nullptr;
}

pid_t process_for_task(pid_t who) { return is_task(who) ? bound_as_process() : who; }

// The kernel's look at the arguments of a call about a thread that it does not know: 0, or the
// error's number that comes before that one, as EFAULT. What it has read may be read.
int kernel_looks_at(long number, long b, long c, long d = 0) {
  long r = kernel::call(number, kFirstTaskTid, b, c, d);
  return r == -ESRCH ? 0 : static_cast<int>(-r);
}

// 0 or an errno. SCHED_RESET_ON_FORK may be or'ed to the class.
int class_for_task(int policy, int priority) {
  policy &= ~SCHED_RESET_ON_FORK;
  long highest =
      kernel::call(SYS_sched_get_priority_max, policy);  // an error: it has no such class
  if (highest < 0 || priority < 0 || priority > highest) return EINVAL;
  // Real-time: a task cannot promise it.
  if (highest > 0) return priority == 0 ? EINVAL : EPERM;
  return policy == SCHED_DEADLINE ? EPERM : 0;
}

int set_class(int policy, const sched_param* param) {
  int error = kernel_looks_at(SYS_sched_setscheduler, policy, reinterpret_cast<long>(param));
  return error != 0 ? error : class_for_task(policy, param->sched_priority);
}

// What sched_setattr(2) takes; libc has it from 2.41 on.
struct ClassAttributes {
  uint32_t size, policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
};
constexpr uint64_t kKeepPolicy = 8;  // SCHED_FLAG_KEEP_POLICY

int set_class_attributes(const ClassAttributes* attributes, long flags) {
  int error = kernel_looks_at(SYS_sched_setattr, reinterpret_cast<long>(attributes), flags);
  if (error != 0 || (attributes->flags & kKeepPolicy) != 0) return error;
  return class_for_task(static_cast<int>(attributes->policy),
                        static_cast<int>(attributes->priority));
}

constexpr int kIoprioWhoProcess = 1;  // ioprio_set(2), which has no header of libc's

int set_io_class(long priority) {
  long r = kernel::call(SYS_ioprio_set, kIoprioWhoProcess, kFirstTaskTid, priority);
  return r == -ESRCH ? 0 : static_cast<int>(-r);
}

bool has_processor(const cpu_set_t* set, long processor) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(set);
  return (bytes[processor / 8] & (1u << (processor % 8))) != 0;
}

// A task runs wherever a carrier does: a wish to bind it is accepted if the kernel would accept it
// from a thread, that is, if it leaves any processor that is there.
int set_affinity(size_t size, const cpu_set_t* set) {
  int error =
      kernel_looks_at(SYS_sched_setaffinity, static_cast<long>(size), reinterpret_cast<long>(set));
  if (error != 0) return error;
  uint64_t of_process[128] = {};  // for as many processors as Linux can have
  long bytes = kernel::call(SYS_sched_getaffinity, bound_as_process(), sizeof of_process,
                            reinterpret_cast<long>(of_process));
  if (bytes < 0) return 0;
  // The kernel has read so much of it.
  long processors = 8 * (static_cast<long>(size) < bytes ? static_cast<long>(size) : bytes);
  for (long i = 0; i < processors; ++i)
    if (has_processor(set, i) && has_processor(reinterpret_cast<cpu_set_t*>(of_process), i))
      return 0;
  // A thread may leave the processors of its process.
  long there = sysconf(_SC_NPROCESSORS_CONF);
  for (long i = 0; i < processors && i < there; ++i)
    if (has_processor(set, i)) return 0;
  return EINVAL;
}

}  // namespace

bool scheduling_call(long number, long a, long b, long c, long d, long* result) {
  switch (number) {
    case SYS_getpriority:
    case SYS_setpriority:
      if (static_cast<int>(a) != PRIO_PROCESS || !is_task(static_cast<int>(b))) return false;
      *result = number == SYS_setpriority ? 0 : kernel::call(number, a, bound_as_process());
      return true;
    case SYS_ioprio_get:
    case SYS_ioprio_set:
      if (static_cast<int>(a) != kIoprioWhoProcess || !is_task(static_cast<int>(b))) return false;
      *result =
          number == SYS_ioprio_set ? -set_io_class(c) : kernel::call(number, a, bound_as_process());
      return true;
    default:
      break;
  }
  switch (number) {
    case SYS_sched_getaffinity:  // it answers otherwise than the function: with a size
    case SYS_sched_getscheduler:
    case SYS_sched_getparam:
    case SYS_sched_getattr:
    case SYS_sched_setaffinity:
    case SYS_sched_setscheduler:
    case SYS_sched_setparam:
    case SYS_sched_setattr:
      if (!is_task(static_cast<int>(a))) return false;
      break;
    default:
      return false;
  }
  const auto* param = reinterpret_cast<const sched_param*>(c);
  if (number == SYS_sched_setaffinity)
    *result = -set_affinity(static_cast<size_t>(b), reinterpret_cast<const cpu_set_t*>(c));
  else if (number == SYS_sched_setscheduler)
    *result = -set_class(static_cast<int>(b), param);
  else if (number == SYS_sched_setparam)
    *result = -set_class(SCHED_OTHER, reinterpret_cast<const sched_param*>(b));
  else if (number == SYS_sched_setattr)
    *result = -set_class_attributes(reinterpret_cast<const ClassAttributes*>(b), c);
  else
    *result = kernel::call(number, bound_as_process(), b, c, d);
  return true;
}

int affinity_at_birth(const pthread_attr_t* attr) {
  cpu_set_t set, all;
  memset(&all, -1, sizeof all);  // what libc says of attributes without
  if (real::pthread_attr_getaffinity_np(attr, sizeof set, &set) != 0 || CPU_EQUAL(&set, &all))
    return 0;
  return set_affinity(sizeof set, &set);
}

int class_at_birth(const pthread_attr_t* attr) {
  int inherited = PTHREAD_INHERIT_SCHED, policy = SCHED_OTHER;
  sched_param param{};
  if (real::pthread_attr_getinheritsched(attr, &inherited) != 0 ||
      inherited != PTHREAD_EXPLICIT_SCHED)
    return 0;
  real::pthread_attr_getschedpolicy(attr, &policy);
  real::pthread_attr_getschedparam(attr, &param);
  return class_for_task(policy, param.sched_priority);
}

}  // namespace wisp

using namespace wisp;

// ---- classes ---------------------------------------------------------------------------------

WISP_EXPORT int pthread_getschedparam(pthread_t thread, int* policy, sched_param* param) noexcept {
  real::ensure();
  if (known_task(thread) == nullptr) return real::pthread_getschedparam(thread, policy, param);
  *policy = SCHED_OTHER;
  param->sched_priority = 0;
  return 0;
}

WISP_EXPORT int pthread_setschedparam(pthread_t thread, int policy,
                                      const sched_param* param) noexcept {
  real::ensure();
  if (known_task(thread) == nullptr) return real::pthread_setschedparam(thread, policy, param);
  return class_for_task(policy, param->sched_priority);
}

WISP_EXPORT int pthread_setschedprio(pthread_t thread, int priority) noexcept {
  real::ensure();
  if (known_task(thread) == nullptr) return real::pthread_setschedprio(thread, priority);
  return priority == 0 ? 0 : EINVAL;
}

WISP_EXPORT int sched_getscheduler(pid_t who) noexcept {
  real::ensure();
  return real::sched_getscheduler(process_for_task(who));
}
WISP_EXPORT int sched_getparam(pid_t who, sched_param* param) noexcept {
  real::ensure();
  return real::sched_getparam(process_for_task(who), param);
}
WISP_EXPORT int sched_setscheduler(pid_t who, int policy, const sched_param* param) noexcept {
  real::ensure();
  if (!is_task(who)) return real::sched_setscheduler(who, policy, param);
  return error_answer(set_class(policy, param));
}
WISP_EXPORT int sched_setparam(pid_t who, const sched_param* param) noexcept {
  real::ensure();
  if (!is_task(who)) return real::sched_setparam(who, param);
  return error_answer(set_class(SCHED_OTHER, param));
}

// ---- nice values: -XX:ThreadPriorityPolicy=1 sets them by tid --------------------------------

WISP_EXPORT int setpriority(__priority_which_t which, id_t who, int value) noexcept {
  real::ensure();
  if (which == PRIO_PROCESS && is_task(static_cast<int>(who))) return 0;
  return real::setpriority(which, who, value);
}

WISP_EXPORT int getpriority(__priority_which_t which, id_t who) noexcept {
  real::ensure();
  if (which == PRIO_PROCESS) who = static_cast<id_t>(process_for_task(static_cast<int>(who)));
  return real::getpriority(which, who);
}

WISP_EXPORT int nice(int added) noexcept {
  real::ensure();
  if (!is_task(0)) return real::nice(added);
  if (added < 0 && geteuid() != 0) return error_answer(EPERM);
  int sum = getpriority(PRIO_PROCESS, 0) + added;
  return sum < -20 ? -20 : sum > 19 ? 19 : sum;
}

// ---- affinity --------------------------------------------------------------------------------

static int task_affinity(size_t size, cpu_set_t* set) {
  return real::sched_getaffinity(bound_as_process(), size, set);
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
  return set_affinity(size, set);
}

WISP_EXPORT int sched_getaffinity(pid_t tid, size_t size, cpu_set_t* set) noexcept {
  real::ensure();
  return is_task(tid) ? task_affinity(size, set) : real::sched_getaffinity(tid, size, set);
}

WISP_EXPORT int sched_setaffinity(pid_t tid, size_t size, const cpu_set_t* set) noexcept {
  real::ensure();
  if (!is_task(tid)) return real::sched_setaffinity(tid, size, set);
  return error_answer(set_affinity(size, set));
}
