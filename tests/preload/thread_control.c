// What a thread says of itself by prctl(2) and capset(2), and what attributes it is born with:
// nobody else has it.
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "preload.h"

// ---- names

static const char* name_of(pthread_t thread) {
  static _Thread_local char name[16];
  CHECK(pthread_getname_np(thread, name, sizeof name) == 0);
  return name;
}

static char g_first[16];  // what all are born with

static void* is_named(void* unused) {
  char name[16];
  memset(name, 1, sizeof name);
  CHECK(prctl(PR_GET_NAME, name) == 0 && strcmp(name, g_first) == 0 && name[15] == 0);
  CHECK(strcmp(name_of(pthread_self()), g_first) == 0);
  // Of the kernel thread that we are on, whoever was there before.
  CHECK(by_kernel(SYS_prctl, PR_GET_NAME, (long)name, 0) == 0);
  CHECK(strcmp(name, "by a call") != 0 && strcmp(name, "again") != 0 && strcmp(name, "z") != 0);
  return unused;
}
static void* inherits(void* unused) {
  CHECK(strcmp(name_of(pthread_self()), "by a call") == 0);
  return unused;
}

static void* renames_itself(void* unused) {
  char name[16];
  CHECK(prctl(PR_SET_NAME, "longer than 15 characters") == 0);
  CHECK(strcmp(name_of(pthread_self()), "longer than 15 ") == 0);
  CHECK(syscall(SYS_prctl, PR_SET_NAME, "by a call") == 0);
  join(java(inherits, NULL));
  sleep_ms(1);  // others run here meanwhile
  memset(name, 1, sizeof name);
  CHECK(syscall(SYS_prctl, PR_GET_NAME, name) == 0);
  for (int i = 9; i < 16; ++i) CHECK(name[i] == 0);
  CHECK(strcmp(name, "by a call") == 0 && strcmp(name_of(pthread_self()), name) == 0);
  CHECK(pthread_setname_np(pthread_self(), "again") == 0);
  CHECK(prctl(PR_GET_NAME, name) == 0 && strcmp(name, "again") == 0);

  // At the end of what can be read and written, and beyond.
  char* page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(page != MAP_FAILED && mprotect(page + 4096, 4096, PROT_NONE) == 0);
  strcpy(page + 4094, "z");
  CHECK(prctl(PR_SET_NAME, page + 4094) == 0 && strcmp(name_of(pthread_self()), "z") == 0);
  CHECK(prctl(PR_GET_NAME, page + 4080) == 0 && strcmp(page + 4080, "z") == 0);
  page[4095] = 'z';
  CHECK(prctl(PR_SET_NAME, page + 4095) == -1 && errno == EFAULT);
  CHECK(prctl(PR_GET_NAME, page + 4090) == -1 && errno == EFAULT);
  CHECK(syscall(SYS_prctl, PR_SET_NAME, NULL) == -1 && errno == EFAULT);
  CHECK(syscall(SYS_prctl, PR_GET_NAME, NULL) == -1 && errno == EFAULT);
  CHECK(strcmp(name_of(pthread_self()), "z") == 0);
  munmap(page, 8192);
  return unused;
}

// ---- timer slack: one thread waits inexactly, and no other does

static long g_slack;
static void* has_slack(void* wanted) {
  CHECK(prctl(PR_GET_TIMERSLACK) == (long)wanted);
  CHECK(syscall(SYS_prctl, PR_GET_TIMERSLACK) == (long)wanted);
  return NULL;
}
static void* has_inherited(void* wanted) {
  has_slack(wanted);
  CHECK(prctl(PR_SET_TIMERSLACK, 7UL) == 0 && prctl(PR_SET_TIMERSLACK, 0UL) == 0);
  return has_slack(wanted);
}
// Where the kernel writes 0 at the end of this kernel thread.
static void* sets_its_end(void* unused) {
  long address = 0;
  if (prctl(PR_GET_TID_ADDRESS, &address) != 0) return unused;
  CHECK(syscall(SYS_set_tid_address, address) == gettid());
  return unused;
}
static void* waits_inexactly(void* unused) {
  CHECK(prctl(PR_SET_TIMERSLACK, 50000000UL) == 0);
  sleep_ms(1);  // others run here meanwhile
  has_slack((void*)50000000L);
  join(java(has_inherited, (void*)50000000L));
  CHECK(syscall(SYS_prctl, PR_SET_TIMERSLACK, 0UL) == 0);
  has_slack((void*)g_slack);
  CHECK(prctl(PR_SET_TIMERSLACK, 50000000UL) == 0);
  return unused;
}
static void* waits_exactly(void* unused) {
  has_slack((void*)g_slack);
  sleep_ms(1);
  CHECK(by_kernel(SYS_prctl, PR_GET_TIMERSLACK, 0, 0) == g_slack);
  return unused;
}

// ---- the rest is the kernel's

static void* asks_other_things(void* unused) {
  CHECK(prctl(PR_GET_DUMPABLE, 0UL, 0UL, 0UL, 0UL) == 1);
  CHECK(prctl(PR_CAPBSET_READ, 0UL) >= 0);
  CHECK(prctl(12345, 0UL, 0UL, 0UL, 0UL) == -1 && errno == EINVAL);
  // The fourth and fifth argument arrive: where they have to be 0 they are looked at.
  CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0UL, 0UL, 0UL, 0UL) >= 0);
  CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0UL, 0UL, 1UL, 0UL) == -1 && errno == EINVAL);
  CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0UL, 0UL, 0UL, 1UL) == -1 && errno == EINVAL);
  return unused;
}

// ---- capabilities: of the thread that has the number

int capget(cap_user_header_t header, cap_user_data_t data);  // libc's headers do not have them
int capset(cap_user_header_t header, const cap_user_data_t data);

static void check_capabilities(int tid, int may_set) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, tid};
  struct __user_cap_header_struct mine = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct named[2], own[2];
  CHECK(capget(&mine, own) == 0);
  CHECK(capget(&header, named) == 0 && memcmp(named, own, sizeof own) == 0);
  memset(named, 1, sizeof named);
  CHECK(syscall(SYS_capget, &header, named) == 0 && memcmp(named, own, sizeof own) == 0);
  CHECK((capset(&header, own) == 0) == may_set && (may_set || errno == EPERM));
  CHECK((syscall(SYS_capset, &header, own) == 0) == may_set && (may_set || errno == EPERM));
}
static void* has_capabilities(void* parent) {
  check_capabilities((int)syscall(SYS_gettid), 1);
  check_capabilities((int)(long)parent, 0);
  struct __user_cap_header_struct nobody = {_LINUX_CAPABILITY_VERSION_3, 0x3fffffff};
  struct __user_cap_data_struct data[2];
  CHECK(capget(&nobody, data) == -1 && errno == ESRCH);
  CHECK(syscall(SYS_capget, NULL, data) == -1 && errno == EFAULT);
  return NULL;
}
static void* asks_for_capabilities(void* unused) {
  join(java(has_capabilities, (void*)syscall(SYS_gettid)));
  return unused;
}

// ---- attributes

static void* has_mask(void* signal) {
  sigset_t now;
  CHECK(pthread_sigmask(SIG_SETMASK, NULL, &now) == 0);
  CHECK(sigismember(&now, SIGUSR1) == ((long)signal == SIGUSR1));
  CHECK(sigismember(&now, SIGUSR2) == ((long)signal == SIGUSR2));
  return NULL;
}
static void* never_runs(void* unused) {
  CHECK(0);
  return unused;
}
static void* makes_threads(void* unused) {
  pthread_attr_t attr;
  pthread_t t;
  sigset_t set;
  CHECK(pthread_attr_init(&attr) == 0 && sigemptyset(&set) == 0 && sigaddset(&set, SIGUSR1) == 0);
  CHECK(pthread_sigmask(SIG_SETMASK, &set, NULL) == 0);
  CHECK(start_java(&t, &attr, has_mask, (void*)SIGUSR1) == 0);
  join(t);
#if __GLIBC_PREREQ(2, 32)
  CHECK(sigemptyset(&set) == 0 && sigaddset(&set, SIGUSR2) == 0);
  CHECK(pthread_attr_setsigmask_np(&attr, &set) == 0);
  CHECK(start_java(&t, &attr, has_mask, (void*)SIGUSR2) == 0);
  join(t);
  CHECK(pthread_attr_setsigmask_np(&attr, NULL) == 0);
#endif
  cpu_set_t processors;
  CHECK(sched_getaffinity(getpid(), sizeof processors, &processors) == 0);
  CHECK(pthread_attr_setaffinity_np(&attr, sizeof processors, &processors) == 0);
  CHECK(start_java(&t, &attr, has_mask, (void*)SIGUSR1) == 0);
  join(t);
  CPU_ZERO(&processors);
  CPU_SET(CPU_SETSIZE - 1, &processors);
  CHECK(pthread_attr_setaffinity_np(&attr, sizeof processors, &processors) == 0);
  CHECK(start_java(&t, &attr, never_runs, NULL) == EINVAL);
  CHECK(pthread_attr_destroy(&attr) == 0);
  // A class counts only where it is not to be inherited.
  struct sched_param priority = {1};
  CHECK(pthread_attr_init(&attr) == 0 && pthread_attr_setschedpolicy(&attr, SCHED_FIFO) == 0);
  CHECK(pthread_attr_setschedparam(&attr, &priority) == 0);
  CHECK(start_java(&t, &attr, has_mask, (void*)SIGUSR1) == 0);
  join(t);
  CHECK(pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED) == 0);
  if (getenv("EXPECT_TASKS") != NULL) CHECK(start_java(&t, &attr, never_runs, NULL) == EPERM);
  CHECK(pthread_attr_setschedpolicy(&attr, SCHED_OTHER) == 0);
  CHECK(start_java(&t, &attr, never_runs, NULL) == EINVAL);
  CHECK(pthread_attr_destroy(&attr) == 0);
  return unused;
}

// ---- without attributes a thread has the process's

static long goes_down(long levels) {
  volatile char page[4096];
  page[0] = page[4095] = (char)levels;
  return levels == 0 ? 0 : goes_down(levels - 1) + page[0] - page[4095] + 1;
}
static void* goes_deep(void* levels) {
  CHECK(goes_down((long)levels) == (long)levels);
  return NULL;
}
static void has_the_usual_stack(void) {
  pthread_attr_t usual, larger;
  size_t size = 0;
  CHECK(pthread_getattr_default_np(&usual) == 0);
  CHECK(pthread_attr_getstacksize(&usual, &size) == 0 && size >= 2 << 20);
  join(java(goes_deep, (void*)(long)(size / 4096 / 2)));
  CHECK(pthread_attr_init(&larger) == 0 && pthread_attr_setstacksize(&larger, 4 * size) == 0);
  CHECK(pthread_setattr_default_np(&larger) == 0);
  join(java(goes_deep, (void*)(long)(size / 4096 * 2)));
  CHECK(pthread_setattr_default_np(&usual) == 0);
  CHECK(pthread_attr_destroy(&usual) == 0 && pthread_attr_destroy(&larger) == 0);
}

int main(void) {
  alarm(200);
  check_tasks();
  join(java(sets_its_end, NULL));
  g_slack = prctl(PR_GET_TIMERSLACK);
  CHECK(g_slack > 0);
  CHECK(prctl(PR_SET_NAME, "java") == 0);
  strcpy(g_first, "java");
  for (int round = 0; round < 5; ++round) {
    pthread_t t[6];
    for (int i = 0; i < 6; ++i) t[i] = java(i % 2 ? renames_itself : is_named, NULL);
    for (int i = 0; i < 6; ++i) join(t[i]);
    join(java(is_named, NULL));
    for (int i = 0; i < 6; ++i) t[i] = java(waits_inexactly, NULL);
    for (int i = 0; i < 6; ++i) join(t[i]);
    for (int i = 0; i < 6; ++i) t[i] = java(i % 2 ? waits_exactly : asks_other_things, NULL);
    for (int i = 0; i < 6; ++i) join(t[i]);
    join(java(makes_threads, NULL));
    join(java(asks_for_capabilities, NULL));
  }
  has_slack((void*)g_slack);
  is_named(NULL);
  has_the_usual_stack();
  return 0;
}
