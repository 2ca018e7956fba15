// Waiting for the end of one child process on a pidfd in the event pump: the task's kernel thread
// does not sit in the kernel meanwhile. On a task, outside any RuntimeEntry.
#pragma once
#include <sys/resource.h>
#include <sys/wait.h>

namespace wisp::io {

// As the system call waitid with type P_PID or P_PIDFD; options: WEXITED and perhaps WNOWAIT.
// 0 or -errno, with everything left in `info` and `usage` (either may be null) that the kernel
// leaves there. kNoPidfd: nothing has been done, make the call itself.
constexpr long kNoPidfd = 1;
long wait_for_child(idtype_t type, id_t id, siginfo_t* info, int options, rusage* usage);

}  // namespace wisp::io
