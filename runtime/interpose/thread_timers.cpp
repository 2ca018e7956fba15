// Timers on the CPU clock of a task that signal it (signal/cpu_timers.h). All others are libc's.
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <time.h>

#include "interpose/entry.h"
#include "signal/cpu_timers.h"

using namespace wisp;

// In librt before glibc 2.34: it is there when somebody calls one of them, but not always when the
// others are looked up.
template <typename Function>
static Function in_librt(Function in_libc, const char* name) {
  if (WISP_LIKELY(in_libc != nullptr)) return in_libc;
  void* librt = dlopen("librt.so.1", RTLD_LAZY | RTLD_NOLOAD);
  return reinterpret_cast<Function>(real::libcs_dlsym()(librt, name));
}
#define LIBC(name) in_librt(real::name, #name)

static inline bool is_tasks(timer_t timer) {
  return cpu_timer_is(reinterpret_cast<uint64_t>(timer));
}
static inline int number_of(timer_t timer) {
  return static_cast<int>(reinterpret_cast<uint64_t>(timer));
}

WISP_EXPORT int timer_create(clockid_t clock, sigevent* event, timer_t* timer) noexcept {
  real::ensure();
  int number;
  int error = interposing() ? cpu_timer_create(clock, event, &number) : kNoTasks;
  if (error == kNoTasks) return LIBC(timer_create)(clock, event, timer);
  if (error == 0) *timer = reinterpret_cast<timer_t>(static_cast<uint64_t>(number));
  return error_answer(error);
}

WISP_EXPORT int timer_settime(timer_t timer, int flags, const itimerspec* value,
                              itimerspec* old) noexcept {
  real::ensure();
  if (!is_tasks(timer)) return LIBC(timer_settime)(timer, flags, value, old);
  return error_answer(cpu_timer_set(number_of(timer), flags, *value, old));
}

WISP_EXPORT int timer_gettime(timer_t timer, itimerspec* left) noexcept {
  real::ensure();
  if (!is_tasks(timer)) return LIBC(timer_gettime)(timer, left);
  return error_answer(cpu_timer_get(number_of(timer), left));
}

WISP_EXPORT int timer_getoverrun(timer_t timer) noexcept {
  real::ensure();
  if (!is_tasks(timer)) return LIBC(timer_getoverrun)(timer);
  int overrun = 0;
  int error = cpu_timer_overrun(number_of(timer), &overrun);
  return error != 0 ? error_answer(error) : overrun;
}

WISP_EXPORT int timer_delete(timer_t timer) noexcept {
  real::ensure();
  if (!is_tasks(timer)) return LIBC(timer_delete)(timer);
  return error_answer(cpu_timer_delete(number_of(timer)));
}
