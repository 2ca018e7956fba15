// BSD's calls for signal masks (sigvec(3)), which count signals in an int, and the kernel's by
// syscall(2): what a thread blocks by them is its own, whatever waits in between, and sigpause lets
// through what it says.
#include <sys/syscall.h>

#include "lives_by_faults.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

enum { kTurns = 60, kAll = -1, kUsr1 = 1 << (SIGUSR1 - 1), kTerm = 1 << (SIGTERM - 1) };

int bsd_sigpause(int mask) __asm__("sigpause");
int either_sigpause(int sig_or_mask, int is_sig) __asm__("__sigpause");

static atomic_int g_handled;

static void handled(int sig) {
  (void)sig;
  ++g_handled;
}

static void by_system_call(void) {
  unsigned long all = ~0ul, none = 0, now = 0;
  CHECK(syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &now, sizeof now) == 0 && now == 0);
  for (int i = 0; i < kTurns; ++i) {
    CHECK(syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &now, sizeof now) == 0);
    CHECK((now & kUsr1) != 0 && blocked(SIGSEGV));
    waits_a_turn(i);
  }
  CHECK(syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof none) == 0);
  CHECK(!blocked(SIGUSR1));
  CHECK(syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, 4) == -1 && errno == EINVAL);
  CHECK(syscall(SYS_rt_sigprocmask, 77, &all, NULL, sizeof all) == -1 && errno == EINVAL);
}

static void* masks(void* unused) {
  by_system_call();
  CHECK(sigblock(kUsr1) == 0 && sigblock(0) == kUsr1);
  CHECK(blocked(SIGUSR1) && !blocked(SIGTERM));
  CHECK(sigblock(kTerm) == kUsr1);
  CHECK(sigsetmask(kAll) == (kUsr1 | kTerm));
  for (int i = 0; i < kTurns; ++i) {
    CHECK(blocked(SIGUSR1) && blocked(SIGSEGV) && (sigblock(0) & kTerm) != 0);
    waits_a_turn(i);
  }
  CHECK((sigsetmask(kUsr1) & kTerm) != 0 && !blocked(SIGTERM));
  CHECK(raise(SIGUSR1) == 0 && g_handled == 0);
  CHECK(bsd_sigpause(0) == -1 && errno == EINTR && g_handled == 1 && blocked(SIGUSR1));
  CHECK(raise(SIGUSR1) == 0 && g_handled == 1);
  CHECK(either_sigpause(SIGUSR1, 1) == -1 && errno == EINTR && g_handled == 2);
  CHECK(raise(SIGUSR1) == 0 && g_handled == 2);
  CHECK(either_sigpause(kTerm, 0) == -1 && errno == EINTR && g_handled == 3);
  CHECK(sigsetmask(0) == kUsr1);
  ++g_over;
  return unused;
}

int main(void) {
  check_tasks();
  struct sigaction action = {0};
  action.sa_handler = handled;
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  beside_faults(masks, NULL);
  puts("ok");
  return 0;
}
