// Timers on the CPU clock of a task that signal it (signal/cpu_timers.h). All others are libc's.
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <time.h>

#include "interpose/entry.h"
#include "interpose/threads.h"
#include "signal/cpu_timers.h"

using namespace wisp;

// In librt before glibc 2.34: it is there when somebody calls one of them, but not always when the
// others are looked up.
template <typename Function>
static Function in_librt(Function in_libc, const char* name) {
  if (WISP_LIKELY(in_libc != nullptr)) return in_libc;
  return reinterpret_cast<Function>(dlsym(dlopen("librt.so.1", RTLD_LAZY | RTLD_NOLOAD), name));
}
#define LIBC(name) in_librt(real::name, #name)

WISP_EXPORT int timer_create(clockid_t clock, sigevent* event, timer_t* timer) noexcept {
  real::ensure();
  if (event == nullptr || event->sigev_notify != SIGEV_THREAD_ID || !interposing())
    return LIBC(timer_create)(clock, event, timer);
  WispTask* task = known_tid(event->sigev_notify_thread_id);
  if (task == nullptr) return LIBC(timer_create)(clock, event, timer);
  // Another clock could signal a kernel thread only.
  if (task_of_clock(clock) != task) return error_answer(EINVAL);
  return error_answer(cpu_timer_create(task, event->sigev_signo, event->sigev_value, timer));
}

WISP_EXPORT int timer_settime(timer_t timer, int flags, const itimerspec* value,
                              itimerspec* old) noexcept {
  real::ensure();
  if (!cpu_timer_is(timer)) return LIBC(timer_settime)(timer, flags, value, old);
  return error_answer(cpu_timer_set(timer, flags, *value, old));
}

WISP_EXPORT int timer_gettime(timer_t timer, itimerspec* left) noexcept {
  real::ensure();
  if (!cpu_timer_is(timer)) return LIBC(timer_gettime)(timer, left);
  return error_answer(cpu_timer_get(timer, left));
}

WISP_EXPORT int timer_getoverrun(timer_t timer) noexcept {
  real::ensure();
  if (!cpu_timer_is(timer)) return LIBC(timer_getoverrun)(timer);
  int overrun = 0;
  int error = cpu_timer_overrun(timer, &overrun);
  return error != 0 ? error_answer(error) : overrun;
}

WISP_EXPORT int timer_delete(timer_t timer) noexcept {
  real::ensure();
  if (!cpu_timer_is(timer)) return LIBC(timer_delete)(timer);
  return error_answer(cpu_timer_delete(timer));
}
