// The library's constructor: is Wisp on in this process, can it work here, and if not, why. Runs
// before main, with one thread. Everything else starts lazily at the first task.
#include "jvm/start.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "coroutine/thread_block.h"
#include "interpose/entry.h"
#include "interpose/process.h"
#include "interpose/threads.h"
#include "io/epoll_set.h"
#include "io/ring.h"
#include "jvm/agent_symbol.h"
#include "jvm/environment.h"
#include "jvm/go_library.h"
#include "jvm/observer.h"
#include "jvm/start_checks.h"
#include "observe/publisher.h"
#include "observe/trace.h"
#include "platform/backoff.h"
#include "platform/clock.h"
#include "platform/kernel.h"
#include "platform/log.h"
#include "scheduler/own_thread.h"
#include "scheduler/trace_ring.h"
#include "signal/task_signals.h"
#include "sync/join.h"

namespace wisp {

std::atomic<bool> g_interposing{false};
Options g_options;

static bool g_java_process = false;  // a JVM lives here, so the environment has been cleaned
static int g_process_id = 0;         // of the process the constructor ran in
static bool g_statistics = false;
static uint32_t g_chaos_seed = 0;
static uintptr_t g_launcher_begin = 0, g_launcher_end = 0;

// libjli's code, if it is there.
static bool in_launcher_library(const void* address) {
  uintptr_t a = reinterpret_cast<uintptr_t>(address);
  return a >= g_launcher_begin && a < g_launcher_end;
}

// libjli: the JDK's launchers are linked with it, on every JDK from 8 on. libjvm: a program that
// is linked with the JVM itself.
static int find_jvm(dl_phdr_info* info, size_t, void* found) {
  if (info->dlpi_name == nullptr) return 0;
  const char* slash = strrchr(info->dlpi_name, '/');
  const char* name = slash != nullptr ? slash + 1 : info->dlpi_name;
  bool jli = strcmp(name, "libjli.so") == 0;
  if (!jli && strcmp(name, "libjvm.so") != 0) return 0;
  *static_cast<bool*>(found) = true;
  if (!jli) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& p = info->dlpi_phdr[i];
    if (p.p_type != PT_LOAD || (p.p_flags & PF_X) == 0) continue;
    g_launcher_begin = info->dlpi_addr + p.p_vaddr;
    g_launcher_end = g_launcher_begin + p.p_memsz;
  }
  return 0;
}

static bool is(const char* name, const char* wanted) {
  const char* value = getenv(name);
  return value != nullptr && strcmp(value, wanted) == 0;
}

// WISP_CHAOS=seed, or another word for a seed of our own choice. For soak tests
// (scheduler/chaos.h).
static uint32_t chaos_seed() {
  const char* value = getenv("WISP_CHAOS");
  if (value == nullptr || value[0] == '\0') return 0;
  if (value[0] >= '0' && value[0] <= '9') return static_cast<uint32_t>(strtoul(value, nullptr, 10));
  return static_cast<uint32_t>(monotonic_ns() >> 10) | 1;
}

// At the first task (interpose/threads.h).
static bool start_scheduler() {
  // 0 not tried, 1 somebody starts it, 2 running, 3 refused.
  static std::atomic<int> state{0};
  int s = state.load(std::memory_order_acquire);
  if (WISP_LIKELY(s == 2)) return true;
  if (s == 0 && state.compare_exchange_strong(s, 1, std::memory_order_acq_rel)) {
    SchedulerConfig config;
    config.carriers = carriers_of(g_options);
    config.sysmon_tick_us = static_cast<uint64_t>(g_options.sysmon_tick_us);
    config.stack_size = g_options.stack_size;
    g_stack_option = g_options.stack_size;
    config.trim_ms = static_cast<uint64_t>(g_options.trim_ms);
    config.chaos_seed = g_chaos_seed;
    io::g_ring_wanted = g_options.disk_ring;
    io::g_epoll_in_kernel.store(!g_options.epoll_runtime, std::memory_order_relaxed);
    if (g_chaos_seed != 0) warn("chaos: WISP_CHAOS=%u", g_chaos_seed);
    g_task_main = &task_main;
    g_task_exiting = &join_exiting;
    stats::publisher_prepare();
    bool ok = scheduler_start(config);
    if (!ok) warn("running on plain threads: cannot start kernel threads: %s", strerror(errno));
    if (ok) setxid_start();
    static_assert(kMinTraceSize == kMinTraceBytes && kMaxTraceSize == kMaxTraceBytes);
    if (ok && g_options.trace_size != 0) stats::trace_by_option(g_options.trace_size);
    stats::publisher_start(ok);
    verbose("on, %d carriers, tick %ld us", config.carriers, g_options.sysmon_tick_us);
    state.store(ok ? 2 : 3, std::memory_order_release);
    return ok;
  }
  // A second creator at the same moment: starting takes about a millisecond.
  for (Backoff backoff; (s = state.load(std::memory_order_acquire)) == 1;) backoff.wait();
  return s == 2;
}

// The decision of pthread_create (interpose/threads.h).
static bool make_task(const void* caller) {
  ThreadSelf& self = thread_self();
  if (self.next_create_is_java) {
    self.next_create_is_java = false;
    return true;
  }
  if (!own_threads_watched() && in_go_library(caller)) own_threads_watch();
  // The launcher's own thread, which becomes the Java thread `main`, the first of all.
  self.next_java_id = 1;
  return in_launcher_library(caller) &&
         rules_convert(g_options.black, g_options.white, "main", "java.lang.Thread", nullptr);
}

// By statx: libc's stat has another symbol version from 2.33 on.
static bool same_file(const char* a, const char* b) {
  struct statx one, other;
  if (statx(AT_FDCWD, a, 0, STATX_INO, &one) != 0) return false;
  if (statx(AT_FDCWD, b, 0, STATX_INO, &other) != 0) return false;
  return one.stx_ino == other.stx_ino && one.stx_dev_major == other.stx_dev_major &&
         one.stx_dev_minor == other.stx_dev_minor;
}

// A JVM that executes itself stays one under Wisp: the launcher on its way to libjvm, and a program
// that starts itself anew (Jenkins). A child that executes the same file is a program of its own.
// The environment to use instead of envp, or envp itself.
static char* const* environment_for_exec(const char* path, char* const envp[]) {
  if (!g_java_process || kernel::getpid() != g_process_id) return envp;
  if (!same_file(path, "/proc/self/exe")) return envp;
  char** complete = environment_put_back(envp);
  return complete != nullptr ? complete : envp;
}

// Once, at the end of the process: the WISP_STATS line.
static void report_statistics() {
  if (!g_statistics || !interposing()) return;
  g_statistics = false;
  SchedulerTotals t = scheduler_totals();
  warn("tasks=%lu switches=%lu handoffs=%lu steals=%lu", t.tasks, t.switches, t.handoffs, t.steals);
}

// After main, by exit(): the last destructor of the process, since we were loaded first.
__attribute__((destructor)) static void at_exit() { report_statistics(); }

// Preloaded behind a library that makes threads its own way (async-profiler's is such a one), what
// JVMs make is not seen here.
static void say_who_is_first() {
  bool has_jvm = is("WISP_ANY", "1");
  dl_iterate_phdr(find_jvm, &has_jvm);
  if (!has_jvm || getauxval(AT_SECURE) != 0 || !(is("WISP", "1") || is("WISP", "always"))) return;
  const char* why = threads_before_ours();
  if (why != nullptr) warn("running on plain threads: %s", why);
}

// Loaded by dlopen (as an agent, perhaps beside a preloaded copy) nothing is interposed by this
// copy: agent_reexec.cpp is at work then.
__attribute__((constructor)) static void start() {
  if (who_else_defines("pthread_create") != nullptr) {
    say_who_is_first();
    return;
  }
  agent_symbol_hide();  // also where Wisp is off
  if (getauxval(AT_SECURE) != 0) return;
  real::ensure();
  g_process_id = kernel::getpid();
  // Without a JVM in sight this may be a shell script between the wish and the JVM: the environment
  // is handed on untouched. WISP=always: a program that loads a JVM later. WISP_ANY=1: for tests.
  bool always = is("WISP", "always"), any = is("WISP_ANY", "1");
  // Executed again by the agent (agent_reexec.cpp): a JVM will come, also where the program loads
  // it by dlopen.
  bool has_jvm = is("WISP_REEXEC", "1");
  dl_iterate_phdr(find_jvm, &has_jvm);
  if (!has_jvm && !any && !always) return;

  options_from_process(&g_options);
  g_verbose = is("WISP_VERBOSE", "1");
  g_statistics = is("WISP_STATS", "1");
  g_chaos_seed = chaos_seed();
  if (!g_options.enabled) return;
  // Always, and no JVM yet: perhaps a shell after all, whose JVM is to find the wish.
  g_java_process = has_jvm || any;
  if (g_java_process) environment_take_out();

  clocks_find();
  const char* why = why_not();
  if (why != nullptr) {
    warn("running on plain threads: %s", why);
    return;
  }
  thread_block_keep_module(&g_interposing);
  g_make_task = &make_task;
  g_start_scheduler = &start_scheduler;
  if (!process_start()) {
    warn("running on plain threads: no memory for a fork handler");
    return;
  }
  signals_start();
  if (any_go_library()) own_threads_watch();
  g_after_dlopen = &late_modules_check;
  g_exec_environment = &environment_for_exec;
  g_before_exit = &report_statistics;
#if WISP_HAS_JAVA
  observer_prepare();
#else
  if (g_options.stall_ms != 0) warn("no stall finder: this library was built without javac");
#endif
  g_interposing.store(true, std::memory_order_release);
}

}  // namespace wisp
