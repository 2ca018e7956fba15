// Files of /proc whose content is another one for tasks than for kernel threads.
#pragma once

namespace wisp {

// open(2) of a file of /proc that says something else in this process than the kernel's, or that
// the kernel has not:
// - /proc/sys/kernel/pid_max: what gettid() may say at most in this process, plus one;
// - stat, status, comm of a task, in /proc/self/task/TID, /proc/PID/task/TID, /proc/thread-self;
// - /proc/TID of a task: these and the process's other files.
// To be read only: a task's are a copy of the moment. A descriptor, or -1: another file, or none of
// our business. On any thread. Such files are there for open and fopen only, not for stat(2)
// and access(2). The list of tasks: proc_lists.cpp.
int open_proc_file(const char* path, int flags);

}  // namespace wisp
