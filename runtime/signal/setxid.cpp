// setuid(2) and its like change one kernel thread; glibc makes them the process's: it marks the
// record of each thread, sends signal 33 until no record is marked, and its handler makes the
// system call and unmarks the record of the thread it runs in, which it finds by fs (glibc,
// nptl/nptl_setxid.c). While a task runs fs is the task's, whose record is not among those. So our
// handler comes first and puts the kernel thread's own fs there for as long as libc's runs.
#include <signal.h>

#include "coroutine/context.h"
#include "platform/kernel.h"
#include "scheduler/internal.h"
#include "signal/task_signals.h"

#if defined(__x86_64__)
#include <asm/prctl.h>
#endif

namespace wisp {

#if WISP_SWITCH_FS

constexpr int kSetxid = 33;  // glibc's SIGSETXID; its sigaction() refuses the number

// As rt_sigaction(2) has it; x86-64 and aarch64 alike.
struct KernelAction {
  void (*handler)(int, siginfo_t*, void*);
  unsigned long flags;
  void* restorer;
  uint64_t mask;
};

static KernelAction g_libc;  // written before our handler is installed, then only read

static void set_thread_pointer(uintptr_t tp) {
#if defined(__x86_64__)
  if (fs_by_instruction)
    asm volatile("wrfsbase %0" : : "r"(tp) : "memory");
  else
    kernel::call(SYS_arch_prctl, ARCH_SET_FS, static_cast<long>(tp));
#else
  asm volatile("msr tpidr_el0, %0" : : "r"(tp) : "memory");
#endif
}

// 0 for a kernel thread that runs no tasks. By its number: the signal may come between two stacks,
// where what the thread-local says may be a moment old.
static uintptr_t native_tp_here() {
  if (!in_scheduler_process()) return 0;  // a forked child: none of these is there
  int tid = kernel::gettid();
  Worker* w = g_scheduler.all_workers.load(std::memory_order_acquire);
  while (w != nullptr && w->tid.load(std::memory_order_relaxed) != tid) w = w->all_next;
  return w != nullptr ? w->native_tp : 0;
}

// Every signal is blocked in here.
static void on_setxid(int sig, siginfo_t* info, void* context) {
  uintptr_t running = thread_pointer();
  uintptr_t own = native_tp_here();
  if (own != 0) set_thread_pointer(own);
  g_libc.handler(sig, info, context);
  if (own != 0) set_thread_pointer(running);
}

void setxid_start() {
  // glibc has its handler in place since the first pthread_create at the latest.
  if (kernel::call(SYS_rt_sigaction, kSetxid, 0, reinterpret_cast<long>(&g_libc), 8) != 0 ||
      (g_libc.flags & SA_SIGINFO) == 0)
    return;
  KernelAction ours = g_libc;
  ours.handler = &on_setxid;
  ours.mask = ~0ull;
  kernel::call(SYS_rt_sigaction, kSetxid, reinterpret_cast<long>(&ours), 0, 8);
}

#else

void setxid_start() {}  // tasks run with their kernel thread's fs

#endif

}  // namespace wisp
