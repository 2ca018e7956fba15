// prctl(2): name and timer slack are the calling thread's, so a task has its own. All else is the
// kernel's.
//
// The slack is only noted: how late a wait may end is the runtime's to say (kTimerSlackNs), and the
// kernel thread's would be everybody's.
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>

#include "interpose/entry.h"
#include "interpose/threads.h"
#include "platform/kernel.h"

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

}  // namespace wisp

using namespace wisp;

WISP_EXPORT int prctl(int option, ...) noexcept {
  va_list list;
  va_start(list, option);
  unsigned long a = va_arg(list, unsigned long), b = va_arg(list, unsigned long);
  unsigned long c = va_arg(list, unsigned long), d = va_arg(list, unsigned long);
  va_end(list);
  real::ensure();
  long result;
  if (!control_call(option, static_cast<long>(a), &result)) return real::prctl(option, a, b, c, d);
  return result < 0 && result >= -4095 ? error_answer(static_cast<int>(-result))
                                       : static_cast<int>(result);
}
