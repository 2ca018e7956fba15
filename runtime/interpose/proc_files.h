// Files of /proc whose content is another one for tasks than for kernel threads.
#pragma once

namespace wisp {

// open(2) of /proc/sys/kernel/pid_max: what gettid() may say at most in this process, plus one. A
// descriptor, or -1: another file, or none of our business.
int open_pid_max(const char* path, int flags);

}  // namespace wisp
