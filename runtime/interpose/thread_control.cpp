// prctl(2): name and timer slack are the calling thread's, so a task has its own. All else is the
// kernel's, and of that some calls change the kernel thread alone: its namespaces, its user for
// files, its rights. From then on the task stays there (scheduler/own_thread.h). capget(2) and
// capset(2) may name the thread by its number.
//
// The slack is only noted: how late a wait may end is the runtime's to say (kTimerSlackNs), and the
// kernel thread's would be everybody's.
#include <errno.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>

#include "interpose/entry.h"
#include "interpose/threads.h"
#include "platform/kernel.h"
#include "scheduler/own_thread.h"

#ifndef SYS_landlock_restrict_self
#define SYS_landlock_restrict_self 446
#endif

namespace wisp {

// The program's memory is read and written by the kernel, which answers EFAULT where it cannot.

static long set_name(WispTask* task, long name) {
  RuntimeEntry entry;  // on this kernel thread, which gets its own name back
  char own[sizeof task->name];
  kernel::call(SYS_prctl, PR_GET_NAME, reinterpret_cast<long>(own));
  long r = kernel::call(SYS_prctl, PR_SET_NAME, name);
  if (r != 0) return r;
  kernel::call(SYS_prctl, PR_GET_NAME, reinterpret_cast<long>(task->name));
  kernel::call(SYS_prctl, PR_SET_NAME, reinterpret_cast<long>(own));
  return 0;
}

static long get_name(const WispTask* task, long to) {
  long r = kernel::call(SYS_prctl, PR_GET_NAME, to);
  if (r == 0) memcpy(reinterpret_cast<char*>(to), task->name, sizeof task->name);
  return r;
}

bool control_call(int option, long argument, long* result) {
  WispTask* task = calling_task();
  if (task == nullptr) return false;
  switch (option) {
    case PR_SET_NAME:
      *result = set_name(task, argument);
      return true;
    case PR_GET_NAME:
      *result = get_name(task, argument);
      return true;
    case PR_SET_TIMERSLACK:
      task->timer_slack = argument != 0 ? static_cast<uint64_t>(argument) : task->first_timer_slack;
      *result = 0;
      return true;
    case PR_GET_TIMERSLACK:
      *result = static_cast<long>(task->timer_slack);
      return true;
    default:
      return false;
  }
}

// What prctl(2) changes for one thread: filters, rights, and how the kernel treats it. Not
// PR_SET_NO_NEW_PRIVS: a program asks for that early, and what it starts later would be kernel
// threads.
static bool prctl_changes_thread(long option, long a) {
  switch (option) {
    case PR_SET_SECCOMP:
    case PR_CAPBSET_DROP:
    case PR_SET_SECUREBITS:
    case PR_SET_KEEPCAPS:
    case PR_SET_SPECULATION_CTRL:
    case PR_SET_IO_FLUSHER:
    case PR_MCE_KILL:
      return true;
    case PR_CAP_AMBIENT:
      return a != PR_CAP_AMBIENT_IS_SET;
    default:
      return false;
  }
}

// libc's functions tell all threads of a new user or group; its system calls do not.
static bool changes_thread(long number, long a, long b) {
  switch (number) {
    case SYS_unshare:
    case SYS_setns:
    case SYS_setuid:
    case SYS_setgid:
    case SYS_setreuid:
    case SYS_setregid:
    case SYS_setresuid:
    case SYS_setresgid:
    case SYS_setgroups:
    case SYS_landlock_restrict_self:
      return true;
    case SYS_setfsuid:
    case SYS_setfsgid:
      return static_cast<int>(a) != -1;  // a question
    case SYS_seccomp:
      return a == SECCOMP_SET_MODE_STRICT ||
             (a == SECCOMP_SET_MODE_FILTER && (b & SECCOMP_FILTER_FLAG_TSYNC) == 0);
    case SYS_prctl:
      return prctl_changes_thread(a, b);
    default:
      return false;
  }
}

template <typename F>
static auto changing(WispTask* task, F&& call) {
  if (task == nullptr) return call();
  ChangesThread change(task);
  auto result = call();
  change.over(result >= 0);
  return result;
}

bool changing_call(const long (&call)[7], long* result) {
  bool changes = WISP_UNLIKELY(changes_thread(call[0], call[1], call[2]));
  WispTask* task = changes ? task_outside_runtime() : nullptr;
  if (WISP_LIKELY(task == nullptr)) return false;
  *result = changing(task, [&] {
    return kernel::call(call[0], call[1], call[2], call[3], call[4], call[5], call[6]);
  });
  return true;
}

// Asked first, the kernel has read the header before it says that there is no such thread, or that
// another's capabilities are not to be set: so we may read it. Another task has its process's.
static long named_capabilities(long number, long header, long data) {
  long r = kernel::call(number, header, data);
  if (r != (number == SYS_capget ? -ESRCH : -EPERM)) return r;
  __user_cap_header_struct named = *reinterpret_cast<__user_cap_header_struct*>(header);
  const WispTask* task = known_tid(named.pid);
  bool own = task == calling_task();
  if (task == nullptr || (number == SYS_capset && !own)) return r;
  named.pid = own ? 0 : static_cast<int>(kernel::getpid());
  return kernel::call(number, reinterpret_cast<long>(&named), data);
}

long capabilities_call(long number, long header, long data) {
  if (number == SYS_capget) return named_capabilities(number, header, data);
  return changing(task_outside_runtime(), [=] { return named_capabilities(number, header, data); });
}

}  // namespace wisp

using namespace wisp;

#define WISP_CHANGING(name, parameters, arguments)                                 \
  WISP_EXPORT int name parameters noexcept {                                       \
    real::ensure();                                                                \
    return changing(task_outside_runtime(), [&] { return real::name arguments; }); \
  }
WISP_CHANGING(unshare, (int flags), (flags))
WISP_CHANGING(setns, (int fd, int type), (fd, type))
#undef WISP_CHANGING

// These return the id before, also where they are refused; -1 only asks.
#define WISP_CHANGING(name, id)                                                         \
  WISP_EXPORT int name(id new_one) noexcept {                                           \
    real::ensure();                                                                     \
    WispTask* task = new_one != static_cast<id>(-1) ? task_outside_runtime() : nullptr; \
    return changing(task, [=] { return real::name(new_one); });                         \
  }
WISP_CHANGING(setfsuid, uid_t)
WISP_CHANGING(setfsgid, gid_t)
#undef WISP_CHANGING

WISP_EXPORT int prctl(int option, ...) noexcept {
  va_list list;
  va_start(list, option);
  unsigned long a = va_arg(list, unsigned long), b = va_arg(list, unsigned long);
  unsigned long c = va_arg(list, unsigned long), d = va_arg(list, unsigned long);
  va_end(list);
  real::ensure();
  if (prctl_changes_thread(option, static_cast<long>(a)))
    return changing(task_outside_runtime(), [=] { return real::prctl(option, a, b, c, d); });
  long result;
  if (!control_call(option, static_cast<long>(a), &result)) return real::prctl(option, a, b, c, d);
  return result < 0 && result >= -4095 ? error_answer(static_cast<int>(-result))
                                       : static_cast<int>(result);
}

WISP_EXPORT int capget(cap_user_header_t header, cap_user_data_t data) noexcept {
  return static_cast<int>(answer(
      capabilities_call(SYS_capget, reinterpret_cast<long>(header), reinterpret_cast<long>(data))));
}
WISP_EXPORT int capset(cap_user_header_t header, const cap_user_data_t data) noexcept {
  return static_cast<int>(answer(
      capabilities_call(SYS_capset, reinterpret_cast<long>(header), reinterpret_cast<long>(data))));
}
