// Waiting for child processes, and starting them in one call: the carrier goes to others meanwhile.
// A kernel thread waits per call, as on plain threads (the JDK keeps one reaper thread per child).
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "interpose/entry.h"

using namespace wisp;

namespace {

template <typename F>
inline auto waiting(int options, F&& call) {
  real::ensure();
  bool waits = (options & WNOHANG) == 0 && interposing() && current_task() != nullptr &&
               thread_self().depth.load(std::memory_order_relaxed) == 0;
  if (!waits) return call();
  BlockingRegion region;
  return call();
}

}  // namespace

WISP_EXPORT pid_t waitpid(pid_t pid, int* status, int options) {
  return waiting(options, [=] { return real::waitpid(pid, status, options); });
}
WISP_EXPORT pid_t wait(int* status) { return waitpid(-1, status, 0); }
WISP_EXPORT pid_t wait4(pid_t pid, int* status, int options, rusage* usage) noexcept {
  return waiting(options, [=] { return real::wait4(pid, status, options, usage); });
}
WISP_EXPORT pid_t wait3(int* status, int options, rusage* usage) noexcept {
  return wait4(-1, status, options, usage);
}
WISP_EXPORT int waitid(idtype_t type, id_t id, siginfo_t* info, int options) {
  return waiting(options, [=] { return real::waitid(type, id, info, options); });
}

// The caller stands still until its child has executed the program (the kernel's vfork), which
// takes as long as the program's file takes to be read. libc's child calls nothing that is
// interposed.
WISP_EXPORT int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                            const posix_spawnattr_t* attributes, char* const argv[],
                            char* const envp[]) {
  return waiting(0, [=] { return real::posix_spawn(pid, path, actions, attributes, argv, envp); });
}
WISP_EXPORT int posix_spawnp(pid_t* pid, const char* file,
                             const posix_spawn_file_actions_t* actions,
                             const posix_spawnattr_t* attributes, char* const argv[],
                             char* const envp[]) {
  return waiting(0, [=] { return real::posix_spawnp(pid, file, actions, attributes, argv, envp); });
}
WISP_EXPORT int system(const char* command) {
  return waiting(0, [=] { return real::system(command); });
}
WISP_EXPORT FILE* popen(const char* command, const char* mode) {
  return waiting(0, [=] { return real::popen(command, mode); });
}
WISP_EXPORT int pclose(FILE* stream) {
  return waiting(0, [=] { return real::pclose(stream); });
}
