// Start of Wisp in a process: what the constructor found out, for the rest of jvm/ and for
// interpose/process.cpp.
#pragma once
#include <stdint.h>

#include "jvm/options.h"

namespace wisp {

extern Options g_options;    // as read by the constructor; constant afterwards
extern bool g_java_process;  // a JVM lives here, so the environment has been cleaned
extern int g_process_id;     // of the process the constructor ran in

// True when `address` lies in libjli, the JDK's launcher library.
bool in_launcher_library(const void* address);

// The decision of pthread_create and the scheduler's lazy start (interpose/threads.h).
bool make_task(const void* caller);
bool start_scheduler();

// exec of the very same program by a launcher that has no task yet (libjli does it to change
// LD_LIBRARY_PATH): the environment to use instead of envp, or envp itself.
char* const* environment_for_exec(const char* path, char* const envp[]);

// Once, at the end of the process: the WISP_STATS line.
void report_statistics();

}  // namespace wisp
