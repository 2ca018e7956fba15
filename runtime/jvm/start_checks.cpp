// See start_checks.h. The cheapest checks first; each names one missing thing.
#include "jvm/start_checks.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "coroutine/context.h"
#include "coroutine/thread_block.h"
#include "platform/kernel.h"
#include "signal/task_signals.h"
#include "sync/barrier.h"
#include "sync/condition.h"
#include "sync/early.h"
#include "sync/rwlock.h"
#include "sync/semaphore.h"

namespace wisp {

// Private expedited membarrier is in 4.14 (membarrier(2)).
constexpr int kMajor = 4, kMinor = 14;

static bool kernel_too_old() {
  utsname name;
  int major = 0, minor = 0;
  if (uname(&name) != 0 || sscanf(name.release, "%d.%d", &major, &minor) != 2) return false;
  return major < kMajor || (major == kMajor && minor < kMinor);
}

// A user shadow stack follows one flow of returns per kernel thread; our switches would fault.
// arch_prctl(ARCH_SHSTK_STATUS): Documentation/arch/x86/shstk.rst.
static bool shadow_stack_on() {
#if defined(__x86_64__)
  constexpr long kShstkStatus = 0x5005;
  unsigned long features = 0;
  return kernel::call(SYS_arch_prctl, kShstkStatus, reinterpret_cast<long>(&features)) == 0 &&
         features != 0;
#else
  return false;
#endif
}

// The JDK's library for chaining signal handlers, between us and libc: to it we would look like the
// program, and the JVM's handlers would go to the program's instead.
static bool signal_chaining_behind_us() {
  return dlsym(RTLD_NEXT, "JVM_begin_signal_setting") != nullptr;
}

// The linker's: begin and end of this library.
extern "C" __attribute__((visibility("hidden"))) const char __ehdr_start[], _end[];

const void* who_else_defines(const char* function) {
  const char* first = static_cast<const char*>(dlsym(RTLD_DEFAULT, function));
  return first >= __ehdr_start && first < _end ? nullptr : first;
}

static const char* comes_before_ours(const char* library, const char* function) {
  static char why[512];
  snprintf(why, sizeof why,
           "%s with a %s of its own comes before libwisp.so: name libwisp.so first in LD_PRELOAD",
           library, function);
  return why;
}

const char* threads_before_ours() {
  const void* first = who_else_defines("pthread_create");
  Dl_info info, own;
  if (first == nullptr || dladdr(first, &info) == 0 || dladdr(__ehdr_start, &own) == 0)
    return nullptr;
  // A copy of ours that was preloaded has taken its name out of the environment by now.
  const char* preloaded = getenv("LD_PRELOAD");
  if (preloaded == nullptr || strstr(preloaded, own.dli_fname) == nullptr) return nullptr;
  return comes_before_ours(info.dli_fname, "pthread_create");
}

// A library before ours whose waits are what others find, and that calls libc's by version (dlvsym,
// which does not find ours): who waits there is never woken by us. libfaketimeMT does so.
static const char* waits_before_ours() {
  for (const char* function : {"pthread_cond_timedwait", "pthread_cond_wait", "pthread_mutex_lock",
                               "pthread_mutex_unlock"}) {
    Dl_info info;
    ElfW(Sym)* symbol = nullptr;
    const void* first = who_else_defines(function);
    if (first == nullptr ||
        dladdr1(first, &info, reinterpret_cast<void**>(&symbol), RTLD_DL_SYMENT) == 0)
      continue;
    // The program's own way to ours, where it was linked for a fixed address.
    if (symbol != nullptr && symbol->st_shndx == SHN_UNDEF) continue;
    return comes_before_ours(info.dli_fname, function);
  }
  return nullptr;
}

// Calls that stand for older ones of the program's (ppoll for poll, accept4 for accept...): under a
// seccomp filter that allows only what plain threads were seen to need, each of them would fail, or
// wait for ever. Asked with arguments that do nothing.
static const char* refused_call() {
  timespec at_once = {};
  const struct {
    const char* name;
    long number, first, second, third;
  } calls[] = {{"ppoll", SYS_ppoll, 0, 0, reinterpret_cast<long>(&at_once)},
               {"accept4", SYS_accept4, -1, 0, 0},
               {"dup3", SYS_dup3, -1, -2, 0},
               {"writev", SYS_writev, -1, 0, 0},
               {"sendto", SYS_sendto, -1, 0, 0},
               {"sendmsg", SYS_sendmsg, -1, 0, 0},
               {"recvfrom", SYS_recvfrom, -1, 0, 0},
               {"getsockopt", SYS_getsockopt, -1, 0, 0},
               {"waitid", SYS_waitid, -1, 0, 0}};
  for (const auto& call : calls) {
    long r = kernel::call(call.number, call.first, call.second, call.third);
    if (r != -ENOSYS && r != -EPERM && r != -EACCES) continue;
    static char why[64];
    snprintf(why, sizeof why, "the kernel refuses %s(2)", call.name);
    return why;
  }
  return nullptr;
}

const char* why_not() {
  if (signal_chaining_behind_us())
    return "libjsig.so comes behind libwisp.so: name it first in LD_PRELOAD";
  const char* why = waits_before_ours();
  if (why != nullptr) return why;
  if (kernel_too_old()) return "the kernel is older than 4.14";
  if (!kernel::membarrier_register()) return "the kernel refuses membarrier(2)";
  if (!signals_can_be_directed()) return "the kernel refuses rt_tgsigqueueinfo(2)";
  why = refused_call();
  if (why != nullptr) return why;
  if (shadow_stack_on()) return "the process has a shadow stack (CET)";
  early_threads_find();  // before the probe makes a thread
  if (!thread_block_probe(&why)) return why;
  if (!condition_layout_probe(&why) || !semaphore_layout_probe(&why) ||
      !barrier_layout_probe(&why) || !rwlock_layout_probe(&why))
    return why;
  context_setup();
  return nullptr;
}

}  // namespace wisp
