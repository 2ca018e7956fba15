// Does what Go's runtime does in a shared library: makes a thread when it is loaded, and gives the
// threads that call it signal stacks by system calls of its own.
#include <sys/syscall.h>

#include "preload.h"

// By the head of this section Go libraries are known (Go's debug/buildinfo).
__attribute__((used, section(".go.buildinfo"), aligned(16))) static char g_build_info[32] =
    "\xff Go buildinf:\x08\x02";

static void* first_thread(void* unused) { return unused; }
__attribute__((constructor)) static void start(void) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, first_thread, NULL) == 0);
  join(thread);
}

__attribute__((visibility("default"))) long raw_sigaltstack(const stack_t* stack, stack_t* old) {
#if defined(__x86_64__)
  long r;
  __asm__ volatile("syscall"
                   : "=a"(r)
                   : "a"(SYS_sigaltstack), "D"(stack), "S"(old)
                   : "rcx", "r11", "memory");
  return r;
#else
  register long x8 __asm__("x8") = SYS_sigaltstack;
  register long x0 __asm__("x0") = (long)stack;
  register long x1 __asm__("x1") = (long)old;
  __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1) : "memory");
  return x0;
#endif
}
