// libc's own versions of the functions we interpose, found once by dlsym(RTLD_NEXT, ...).
// One list; `real::NAME` is the function to call. resolve() is idempotent and may run before any
// constructor, because an interposed function can be the first thing called in the process.
#pragma once
#include <dirent.h>
#include <dlfcn.h>
#include <grp.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "platform/compiler.h"

namespace wisp::real {

void resolve();
extern bool g_resolved;
inline void ensure() {
  if (WISP_UNLIKELY(!g_resolved)) resolve();
}

// Another preloaded library behind ours stands for libc's function: a connect that goes to a proxy,
// an open that finds other paths, an fsync that does nothing. Then it is to be called, and no
// system call in its place. Known after resolve().
struct Others {
  bool connect, open, sync;
};
extern Others g_others;

#define WISP_REAL(ret, name, args) extern ret(*name) args;
#define WISP_REAL_VERSIONED(ret, name, args, version) extern ret(*name) args;
#include "platform/real.def"
#undef WISP_REAL_VERSIONED
#undef WISP_REAL

// libc's dlsym. A dlsym in here is our own, and gives our functions for libc's to who asks libc's
// handle (interpose/loader.cpp). Ends the process where libc has none.
using Dlsym = void* (*)(void* handle, const char* name);
Dlsym libcs_dlsym();

// The handle of this library, for libcs_dlsym; null (the global scope) if ld.so does not know it.
void* own_handle();

}  // namespace wisp::real
