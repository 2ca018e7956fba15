// What the kernel keeps with a kernel thread alone, and a program changes there: filters of system
// calls, the user for files, rights, namespaces. It stays with the thread that asked for it,
// through all its waits, and with those that it starts; no other thread ever sees it.
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include "preload.h"
#include "refusal.h"

enum { kRefused = 77, kRounds = 100, kUser = 4711 };

// uname(2), by the kernel: refused by the filter.
static int is_filtered(void) {
  struct utsname name;
  long r = by_kernel(SYS_uname, (long)&name, 0, 0);
  CHECK(r == 0 || r == -kRefused);
  return r != 0;
}
static void* inherits(void* unused) {
  for (int i = 0; i < 10; ++i, sleep_ms(1)) CHECK(is_filtered());
  return unused;
}
static void* is_filtered_from_now_on(void* by_prctl) {
  CHECK(!is_filtered());
  struct sock_filter program[] = REFUSAL(SYS_uname, kRefused);
  struct sock_fprog filter = {sizeof program / sizeof *program, program};
  CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) == 0);
  // One that is refused changes nothing, and the thread waits as before.
  CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0UL, NULL) == -1 && errno == EFAULT);
  sleep_ms(1);
  CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) == 0);
  if (by_prctl != NULL)
    CHECK(prctl(PR_SET_SECCOMP, (unsigned long)SECCOMP_MODE_FILTER, &filter, 0UL, 0UL) == 0);
  else
    CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0UL, &filter) == 0);
  for (int i = 0; i < kRounds; ++i) {
    CHECK(is_filtered());
    if (i % 2 == 0)
      sleep_ms(1);
    else
      sched_yield();
    if (i % 25 == 0) join(java(inherits, NULL));
  }
  return NULL;
}

static void* has_user_for_files(void* user) {
  CHECK(setfsuid((uid_t)(long)user) == 0);
  for (int i = 0; i < kRounds; ++i, sleep_ms(1)) CHECK(setfsuid((uid_t)-1) == (long)user);
  CHECK(setfsuid(0) == (long)user && setfsuid((uid_t)-1) == 0);
  return NULL;
}

// By prctl(2): rights, and how the kernel treats the thread. What this kernel or the user does not
// allow is left out.
static const struct setting {
  int set;
  unsigned long first, second;
  int get;
  unsigned long asked;
  int value;
} kSettings[] = {
    {PR_CAPBSET_DROP, CAP_SYS_TTY_CONFIG, 0, PR_CAPBSET_READ, CAP_SYS_TTY_CONFIG, 0},
    {PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, PR_GET_SECUREBITS, 0, SECBIT_NO_SETUID_FIXUP},
    {PR_SET_KEEPCAPS, 1, 0, PR_GET_KEEPCAPS, 0, 1},
    {PR_SET_IO_FLUSHER, 1, 0, PR_GET_IO_FLUSHER, 0, 1},
    {PR_MCE_KILL, PR_MCE_KILL_SET, PR_MCE_KILL_EARLY, PR_MCE_KILL_GET, 0, PR_MCE_KILL_EARLY}};
enum { kHowMany = sizeof kSettings / sizeof *kSettings };
static int asked(const struct setting* s) { return prctl(s->get, s->asked, 0UL, 0UL, 0UL); }
static void* has_setting(void* which) {
  const struct setting* s = which;
  if (asked(s) == s->value || prctl(s->set, s->first, s->second, 0UL, 0UL) != 0) return NULL;
  for (int i = 0; i < kRounds; ++i, sleep_ms(1)) CHECK(asked(s) == s->value);
  return NULL;
}
static int g_settings[kHowMany];  // of all others
static void has_none(void) {
  for (int i = 0; i < kHowMany; ++i) CHECK(asked(&kSettings[i]) == g_settings[i]);
}

static void its_namespace(char* name) {
  memset(name, 0, 64);
  CHECK(by_kernel(SYS_readlink, (long)"/proc/thread-self/ns/uts", (long)name, 63) > 0);
}
static char g_namespace[64];
static void* has_namespace(void* unused) {
  CHECK(unshare(-1) == -1 && errno == EINVAL);
  sleep_ms(1);
  CHECK(unshare(CLONE_NEWUTS) == 0);
  char own[64], now[64];
  its_namespace(own);
  CHECK(strcmp(own, g_namespace) != 0);
  for (int i = 0; i < kRounds; ++i, sleep_ms(1)) {
    its_namespace(now);
    CHECK(strcmp(now, own) == 0);
  }
  return unused;
}

static void* sees_nothing(void* unused) {
  char now[64];
  for (int i = 0; i < kRounds; ++i, sleep_ms(1)) {
    its_namespace(now);
    CHECK(!is_filtered() && strcmp(now, g_namespace) == 0);
    has_none();
    if (geteuid() == 0) CHECK(setfsuid((uid_t)-1) == 0);
  }
  return unused;
}

// In a child, which nothing remains of.
static int is_privileged(void) {
  pid_t child = fork();
  if (child == 0) _exit(geteuid() == 0 && unshare(CLONE_NEWUTS) == 0 ? 0 : 1);
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  return status == 0;
}

int main(void) {
  int privileged = is_privileged();
  check_tasks();
  its_namespace(g_namespace);
  for (int i = 0; i < kHowMany; ++i) g_settings[i] = asked(&kSettings[i]);
  enum { kOthers = 12, kChanged = 12 };
  pthread_t others[kOthers], changed[kChanged];
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < kOthers; ++i) others[i] = java(sees_nothing, NULL);
    for (long i = 0; i < kChanged; ++i)
      changed[i] = privileged && i % 3 == 1   ? java(has_user_for_files, (void*)(kUser + i))
                   : privileged && i % 3 == 2 ? java(has_namespace, NULL)
                                              : java(is_filtered_from_now_on, (void*)(i % 2));
    pthread_t set[kHowMany];
    for (int i = 0; i < kHowMany; ++i) set[i] = java(has_setting, (void*)&kSettings[i]);
    for (int i = 0; i < kHowMany; ++i) join(set[i]);
    for (int i = 0; i < kChanged; ++i) join(changed[i]);
    for (int i = 0; i < kOthers; ++i) join(others[i]);
    for (int i = 0; i < kOthers; ++i) others[i] = java(sees_nothing, NULL);  // who come after them
    for (int i = 0; i < kOthers; ++i) join(others[i]);
  }
  return 0;
}
