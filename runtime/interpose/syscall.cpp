// syscall(2), the function: programs use it where libc has no wrapper (HotSpot's wait barrier, its
// thread ids, profilers). What names a thread, waits or yields is answered as the libc function
// would; everything else goes to the kernel unchanged. Private futexes are the runtime's on every
// thread, because tasks and kernel threads must meet in one queue.
//
// What binds something to the calling kernel thread is refused to a task, with the error of a
// kernel that does not know it: programs that ask for it can do without (Netty's io_uring probes
// each flag, tcmalloc has another mode). A task would come by on other threads.
#include <errno.h>
#include <linux/io_uring.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

#include "interpose/entry.h"
#include "interpose/threads.h"
#include "io/descriptor.h"
#include "io/epoll_set.h"
#include "platform/kernel.h"
#include "signal/cpu_timers.h"
#include "signal/sent.h"
#include "signal/task_signals.h"
#include "sync/futex.h"
#include "sync/sleep.h"

using namespace wisp;

extern "C" int close_range(unsigned first, unsigned last, int flags) noexcept;  // libc's from 2.34

namespace {

long on_futex(long a, long b, long c, long d, long e, long f) {
  int op = static_cast<int>(b);
  if (futex_is_ours(op))
    return futex(reinterpret_cast<uint32_t*>(a), op, static_cast<uint32_t>(c),
                 static_cast<uintptr_t>(d), reinterpret_cast<uint32_t*>(e),
                 static_cast<uint32_t>(f));
  if (futex_names_owner(op) && current_task() != nullptr) return -ENOSYS;
  int command = op & FUTEX_CMD_MASK;
  if (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET) {
    BlockingRegion region;
    return kernel::call(SYS_futex, a, b, c, d, e, f);
  }
  return kernel::call(SYS_futex, a, b, c, d, e, f);
}

// Linux 6.0 and 6.1; the headers of the build may be older.
constexpr uint32_t kSingleIssuer = 1u << 12, kDeferTaskrun = 1u << 13;  // IORING_SETUP_*
constexpr long kRegisterRingDescriptors = 20;  // IORING_REGISTER_RING_FDS, Linux 5.18

bool ring_of_one_thread(long params) {
  auto* p = reinterpret_cast<const io_uring_params*>(params);
  return p != nullptr && (p->flags & (kSingleIssuer | kDeferTaskrun)) != 0;
}

// Requests are cancelled at the end of the kernel thread that made them.
long on_ring_enter(long fd, long submit, long wanted, long flags, long e, long f) {
  worker_stays();
  if (wanted == 0 || (flags & IORING_ENTER_GETEVENTS) == 0)
    return kernel::call(SYS_io_uring_enter, fd, submit, wanted, flags, e, f);
  BlockingRegion region;
  return kernel::call(SYS_io_uring_enter, fd, submit, wanted, flags, e, f);
}

// The kernel counts by kernel thread, and knows of no task. Refused as where perf_event_paranoid
// forbids it: async-profiler (from 4.0 on) samples by timers then, which know tasks (ctimer).
bool counts_thread_of_ours(int tid) {
  if (tid < 0) return false;  // a processor's
  return tid == 0 || task_of_tid(tid) != nullptr ||
         kernel::call(SYS_tgkill, kernel::getpid(), tid, 0) == 0;
}

// async-profiler's timers (ctimer) are made by system calls.
long on_cpu_timer(long number, int timer, long b, long c, long d) {
  int overrun = 0;
  int error = 0;
  if (number == SYS_timer_settime)
    error = cpu_timer_set(timer, static_cast<int>(b), *reinterpret_cast<itimerspec*>(c),
                          reinterpret_cast<itimerspec*>(d));
  else if (number == SYS_timer_gettime)
    error = cpu_timer_get(timer, reinterpret_cast<itimerspec*>(b));
  else if (number == SYS_timer_getoverrun)
    error = cpu_timer_overrun(timer, &overrun);
  else
    error = cpu_timer_delete(timer);
  return error != 0 ? -error : overrun;
}

// A signal to a task by its tid, as profilers send it. False: not a task's tid.
bool signal_task(long tid, long signal, long* result) {
  WispTask* task = task_of_tid(static_cast<int>(tid));
  if (task == nullptr) return false;
  *result = -pthread_kill(static_cast<pthread_t>(task->block.tp), static_cast<int>(signal));
  return true;
}

// As pthread_sigqueue does. What a kernel would have sent only the thread itself may.
bool queue_to_task(long tid, long signal, const siginfo_t* info, long* result) {
  WispTask* task = task_of_tid(static_cast<int>(tid));
  if (task == nullptr || info == nullptr) return false;
  Sent sent{info->si_code, info->si_value};
  bool forged = (sent.code >= 0 || sent.code == SI_TKILL) && task != current_task();
  *result = forged ? -EPERM : -wisp::signal_task(task, static_cast<int>(signal), &sent);
  return true;
}

}  // namespace

WISP_EXPORT long syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long);
  long d = va_arg(list, long), e = va_arg(list, long), f = va_arg(list, long);
  va_end(list);
  if (!interposing()) return answer(kernel::call(number, a, b, c, d, e, f));
  switch (number) {
    case SYS_futex:
      return answer(on_futex(a, b, c, d, e, f));
    // The kernel would have waiters of its own on words that others wake in the parking lot.
    case kernel::kFutexWaitv:
    case kernel::kFutexWake:
    case kernel::kFutexWait:
    case kernel::kFutexRequeue:
      return answer(-ENOSYS);
    case SYS_gettid:
      // Not what caller_tid() remembers of a kernel thread: it may be another process's by now.
      if (WispTask* task = current_task()) return task->tid;
      break;
    case SYS_set_tid_address:
      // Where libc looks for the end of the kernel thread, which is not the task's.
      if (WispTask* task = current_task()) return task->tid;
      break;
    case SYS_sched_yield:
      task_yield();
      return 0;
    case SYS_nanosleep:
      if (current_task() == nullptr) break;
      return answer(
          -task_nanosleep(reinterpret_cast<timespec*>(a), reinterpret_cast<timespec*>(b)));
    case SYS_clock_nanosleep:
      if (current_task() == nullptr || !task_sleeps_on(static_cast<clockid_t>(a))) break;
      return answer(-task_clock_nanosleep(static_cast<clockid_t>(a), static_cast<int>(b),
                                          reinterpret_cast<timespec*>(c),
                                          reinterpret_cast<timespec*>(d)));
    case SYS_timer_create: {
      int error = cpu_timer_create(static_cast<clockid_t>(a), reinterpret_cast<sigevent*>(b),
                                   reinterpret_cast<int*>(c));
      if (error == kNoTasks) break;
      return answer(-error);
    }
    case SYS_timer_settime:
    case SYS_timer_gettime:
    case SYS_timer_getoverrun:
    case SYS_timer_delete:
      if (!cpu_timer_is(static_cast<uint32_t>(a))) break;
      return answer(on_cpu_timer(number, static_cast<int>(a), b, c, d));
    case SYS_perf_event_open: {
      if (counts_thread_of_ours(static_cast<int>(b))) return answer(-EACCES);
      // Reads of a counter never wait, but poll(2) does not call it readable: a task would park
      // there for good.
      long fd = kernel::call(number, a, b, c, d, e);
      if (fd >= 0) io::descriptor_created(static_cast<int>(fd), io::kStraight, 0);
      return answer(fd);
    }
    case SYS_epoll_ctl:
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
#endif
    case SYS_epoll_pwait:
    case kernel::kEpollPwait2:
      // Whoever asks the kernel has to find all of it there, a nested instance's events, too.
      io::epoll_surrender(static_cast<int>(a));
      if (number == SYS_epoll_ctl) io::epoll_surrender(static_cast<int>(c));
      break;
    // The runtime's own descriptors stay, and who waits for one of the program's is told.
    case SYS_close:
      return close(static_cast<int>(a));
    case kernel::kCloseRange:
      return close_range(static_cast<unsigned>(a), static_cast<unsigned>(b), static_cast<int>(c));
    case SYS_io_uring_setup: {
      if (current_task() != nullptr && ring_of_one_thread(b)) return answer(-EINVAL);
      long ring = kernel::call(number, a, b);
      if (ring >= 0) io::epoll_leave_to_kernel();
      return answer(ring);
    }
    case SYS_io_uring_register:
      if (current_task() != nullptr && b == kRegisterRingDescriptors) return answer(-EINVAL);
      break;
    case SYS_io_uring_enter:
      if (current_task() == nullptr) break;
      return answer(on_ring_enter(a, b, c, d, e, f));
    case SYS_pkey_alloc:
      return pkey_alloc(static_cast<unsigned>(a), static_cast<unsigned>(b));
    case SYS_rseq:
      if (current_task() != nullptr) return answer(-ENOSYS);
      break;
    case SYS_sigaltstack:
      return sigaltstack(reinterpret_cast<const stack_t*>(a), reinterpret_cast<stack_t*>(b));
    case SYS_rt_sigprocmask:
      if (WispTask* task = current_task(); task != nullptr && d == sizeof(uint64_t))
        return error_answer(task_mask_change(task, static_cast<int>(a),
                                             reinterpret_cast<const sigset_t*>(b),
                                             reinterpret_cast<sigset_t*>(c)));
      break;
    case SYS_rt_sigpending:
      if (current_task() == nullptr || static_cast<unsigned long>(b) != sizeof(uint64_t)) break;
      return sigpending(reinterpret_cast<sigset_t*>(a));
    case SYS_kill:
      return kill(static_cast<pid_t>(a), static_cast<int>(b));
    case SYS_rt_sigqueueinfo:
      if (known_tid(static_cast<int>(a)) != nullptr) a = kernel::getpid();  // as kill
      break;
    case SYS_tgkill:
      if (long result; a == kernel::getpid() && signal_task(b, c, &result)) return answer(result);
      break;
    case SYS_rt_tgsigqueueinfo:
      if (long result; a == kernel::getpid() &&
                       queue_to_task(b, c, reinterpret_cast<const siginfo_t*>(d), &result))
        return answer(result);
      break;
    case SYS_tkill:
      if (long result; signal_task(a, b, &result)) return answer(result);
      break;
    case SYS_prctl:
      if (long result; control_call(static_cast<int>(a), b, &result)) return answer(result);
      break;
    case SYS_capget:
    case SYS_capset:
      return answer(capabilities_call(number, a, b));
    default:
      if (long result; scheduling_call(number, a, b, c, d, &result)) return answer(result);
      break;
  }
  if (long result; changing_call({number, a, b, c, d, e, f}, &result)) return answer(result);
  return answer(kernel::call(number, a, b, c, d, e, f));
}

// glibc's from 2.30 on; its own does not come to the above.
WISP_EXPORT int tgkill(pid_t process, pid_t tid, int sig) {
  return static_cast<int>(syscall(SYS_tgkill, process, tid, sig));
}
