// Waiting for child processes, and starting them in one call: the carrier goes to others meanwhile.
// The end of one child is waited for in the event pump (the JDK keeps one reaper thread per child).
// Other waits (any child, a group, stops) and the calls that start one keep their kernel thread.
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "interpose/descriptor_entry.h"
#include "io/child_wait.h"
#include "scheduler/lent.h"

using namespace wisp;

namespace {

template <typename F>
inline auto waiting(int options, F&& call) {
  real::ensure();
  if ((options & WNOHANG) != 0 || !on_task()) return call();
  BlockingRegion region;
  return call();
}

// What wait4 reports of a child that ended, or, traced by the caller, stopped.
int status_of(const siginfo_t& info) {
  if (info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED)
    return (info.si_status & 0xffff) << 8 | 0x7f;
  if (info.si_code == CLD_EXITED) return (info.si_status & 0xff) << 8;
  return info.si_status | (info.si_code == CLD_DUMPED ? WCOREFLAG : 0);
}

}  // namespace

WISP_EXPORT pid_t wait4(pid_t pid, int* status, int options, rusage* usage) noexcept {
  if (pid > 0 && options == 0 && on_task()) {
    siginfo_t info;
    long r = io::wait_for_child(P_PID, static_cast<id_t>(pid), &info, WEXITED, usage);
    if (r < 0) return static_cast<pid_t>(answer(r));
    if (r == 0) {
      if (status != nullptr) *status = status_of(info);
      return info.si_pid;
    }
  }
  return waiting(options, [=] { return real::wait4(pid, status, options, usage); });
}
WISP_EXPORT pid_t waitpid(pid_t pid, int* status, int options) {
  return wait4(pid, status, options, nullptr);
}
WISP_EXPORT pid_t wait(int* status) { return wait4(-1, status, 0, nullptr); }
WISP_EXPORT pid_t wait3(int* status, int options, rusage* usage) noexcept {
  return wait4(-1, status, options, usage);
}
WISP_EXPORT int waitid(idtype_t type, id_t id, siginfo_t* info, int options) {
  if ((options & WEXITED) != 0 && (options & ~(WEXITED | WNOWAIT)) == 0 && on_task()) {
    long r = io::wait_for_child(type, id, info, options, nullptr);
    if (r <= 0) return static_cast<int>(answer(r));
  }
  return waiting(options, [=] { return real::waitid(type, id, info, options); });
}

// The caller stands still until its child has executed the program (the kernel's vfork), which
// takes as long as the program's file takes to be read. libc's child calls nothing that is
// interposed.
WISP_EXPORT int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                            const posix_spawnattr_t* attributes, char* const argv[],
                            char* const envp[]) {
  FullWeight inherited(calling_task());
  return waiting(0, [=] { return real::posix_spawn(pid, path, actions, attributes, argv, envp); });
}
WISP_EXPORT int posix_spawnp(pid_t* pid, const char* file,
                             const posix_spawn_file_actions_t* actions,
                             const posix_spawnattr_t* attributes, char* const argv[],
                             char* const envp[]) {
  FullWeight inherited(calling_task());
  return waiting(0, [=] { return real::posix_spawnp(pid, file, actions, attributes, argv, envp); });
}
WISP_EXPORT int system(const char* command) {
  FullWeight inherited(calling_task());
  return waiting(0, [=] { return real::system(command); });
}
WISP_EXPORT FILE* popen(const char* command, const char* mode) {
  FullWeight inherited(calling_task());
  return waiting(0, [=] { return real::popen(command, mode); });
}
WISP_EXPORT int pclose(FILE* stream) {
  return waiting(0, [=] { return real::pclose(stream); });
}
