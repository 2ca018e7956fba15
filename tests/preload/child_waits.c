// Waits for children from tasks: every form of the call answers as the kernel's, and a wait for one
// child keeps no kernel thread.
#include <dirent.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "preload.h"

// Children that read until they are told to end by the close of the other end.
static pid_t child_at(const int gate[2], int code) {
  pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid == 0) {
    char c;
    close(gate[1]);
    while (read(gate[0], &c, 1) < 0) {
    }
    _exit(code);
  }
  return pid;
}
static pid_t child(int gate[2], int code) {
  CHECK(pipe(gate) == 0);
  pid_t pid = child_at(gate, code);
  close(gate[0]);
  return pid;
}
static void tell(int gate[2]) { CHECK(write(gate[1], "", 1) == 1 && close(gate[1]) == 0); }

static int kernel_threads_in_wait(void) {
  int n = 0;
  DIR* d = opendir("/proc/self/./task");
  for (struct dirent* e; (e = readdir(d)) != NULL;) {
    char path[300];
    long number = -1;
    snprintf(path, sizeof path, "/proc/self/task/%s/syscall", e->d_name);
    FILE* f = fopen(path, "r");
    if (f == NULL) continue;
    if (fscanf(f, "%ld", &number) == 1 && (number == SYS_wait4 || number == SYS_waitid)) ++n;
    fclose(f);
  }
  closedir(d);
  return n;
}

enum { kWaits = 40 };
static struct {
  int gate[2];
  pid_t pid;
} g_children[kWaits];
static int g_waiting;

static void* waits(void* argument) {
  long i = (long)argument;
  pid_t pid = g_children[i].pid;
  int status = -1;
  struct rusage usage;
  siginfo_t info;
  memset(&info, 0, sizeof info);
  __atomic_add_fetch(&g_waiting, 1, __ATOMIC_SEQ_CST);
  switch (i % 4) {
    case 0:
      CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == i);
      break;
    case 1:
      usage.ru_maxrss = -1;
      CHECK(wait4(pid, &status, 0, &usage) == pid && WIFEXITED(status) &&
            WEXITSTATUS(status) == i && usage.ru_maxrss >= 0);
      break;
    case 2:
      CHECK(waitid(P_PID, pid, &info, WEXITED | WNOWAIT) == 0 && info.si_pid == pid &&
            info.si_signo == SIGCHLD && info.si_code == CLD_EXITED && info.si_status == i);
      CHECK(waitid(P_PID, pid, NULL, WEXITED) == 0);
      break;
    case 3:
      CHECK(waitid(P_PID, pid, &info, WEXITED) == 0 && info.si_pid == pid && info.si_status == i);
      break;
  }
  CHECK(waitpid(pid, &status, 0) == -1 && errno == ECHILD);
  return NULL;
}

static void many(void) {
  pthread_t t[kWaits];
  for (long i = 0; i < kWaits; ++i) g_children[i].pid = child(g_children[i].gate, (int)i);
  for (long i = 0; i < kWaits; ++i) t[i] = java(waits, (void*)i);
  int expected = getenv("EXPECT_TASKS") != NULL ? 0 : kWaits, now = -1;
  for (int i = 0; i < 3000; ++i) {
    sleep_ms(10);
    if (__atomic_load_n(&g_waiting, __ATOMIC_SEQ_CST) == kWaits &&
        (now = kernel_threads_in_wait()) == expected)
      break;
  }
  if (now != expected) fprintf(stderr, "%d kernel threads wait\n", now);
  CHECK(now == expected);
  for (int i = 0; i < kWaits; ++i) tell(g_children[i].gate);
  for (int i = 0; i < kWaits; ++i) join(t[i]);
}

static int g_handled, g_interrupted;
static void handler(int signal) {
  (void)signal;
  __atomic_add_fetch(&g_handled, 1, __ATOMIC_SEQ_CST);
}
static void handle(int flags) {
  struct sigaction act;
  memset(&act, 0, sizeof act);
  act.sa_handler = handler;
  act.sa_flags = flags;
  CHECK(sigaction(SIGUSR1, &act, NULL) == 0);
}

static void* is_interrupted(void* argument) {
  pid_t pid = (pid_t)(long)argument;
  int status;
  CHECK(waitpid(pid, &status, 0) == -1 && errno == EINTR);
  siginfo_t info;
  CHECK(waitid(P_PID, pid, &info, WEXITED | WNOWAIT) == -1 && errno == EINTR);
  __atomic_store_n(&g_interrupted, 1, __ATOMIC_SEQ_CST);
  return NULL;
}
static void* goes_on(void* argument) {
  pid_t pid = (pid_t)(long)argument;
  int status;
  CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  return NULL;
}

static void signals(void) {
  int gate[2];
  pid_t pid = child(gate, 0);
  handle(0);
  pthread_t t = java(is_interrupted, (void*)(long)pid);
  // Until both calls were: one that comes before its call interrupts nothing.
  while (!__atomic_load_n(&g_interrupted, __ATOMIC_SEQ_CST)) {
    sleep_ms(20);
    int error = pthread_kill(t, SIGUSR1);
    CHECK(error == 0 || error == ESRCH);  // it may have ended just now
  }
  join(t);
  handle(SA_RESTART);
  t = java(goes_on, (void*)(long)pid);
  for (int calls = 0; calls < 4; ++calls) {
    sleep_ms(20);
    int before = __atomic_load_n(&g_handled, __ATOMIC_SEQ_CST);
    CHECK(pthread_kill(t, SIGUSR1) == 0);
    while (__atomic_load_n(&g_handled, __ATOMIC_SEQ_CST) == before) sleep_ms(1);
  }
  kill(pid, SIGKILL);
  join(t);
  close(gate[1]);
}

// The numbers are the program's, however many wait.
static void* waits_for(void* pid) {
  int status;
  __atomic_add_fetch(&g_waiting, 1, __ATOMIC_SEQ_CST);
  CHECK(waitpid((pid_t)(long)pid, &status, 0) == (pid_t)(long)pid && status == 0);
  return NULL;
}
static void leave_numbers(void) {
  enum { kChildren = 90, kLimit = 100, kNeeded = 60 };
  struct rlimit before, few;
  CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
  few = before;
  few.rlim_cur = kLimit;
  CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
  int gate[2], opened[kNeeded];
  pthread_t t[kChildren];
  CHECK(pipe(gate) == 0);
  g_waiting = 0;
  for (int i = 0; i < kChildren; ++i) {
    t[i] = java(waits_for, (void*)(long)child_at(gate, 0));
  }
  while (__atomic_load_n(&g_waiting, __ATOMIC_SEQ_CST) != kChildren) sleep_ms(1);
  sleep_ms(200);
  for (int i = 0; i < kNeeded; ++i) CHECK((opened[i] = dup(gate[0])) >= 0);
  for (int i = 0; i < kNeeded; ++i) close(opened[i]);
  CHECK(close(gate[0]) == 0 && close(gate[1]) == 0);
  for (int i = 0; i < kChildren; ++i) join(t[i]);
  CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
}

static void* ends_soon(void* argument) {
  sleep_ms(30);
  tell(argument);
  return NULL;
}

// What a pidfd cannot express.
static void* other_forms(void* unused) {
  (void)unused;
  int gate[2], status;
  pid_t pid = child(gate, 3);
  CHECK(waitpid(pid, &status, WNOHANG) == 0);
  siginfo_t info;
  memset(&info, 1, sizeof info);
  CHECK(waitid(P_PID, pid, &info, WEXITED | WNOHANG) == 0 && info.si_pid == 0);
  kill(pid, SIGSTOP);
  CHECK(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
  kill(pid, SIGCONT);
  CHECK(waitpid(pid, &status, WCONTINUED) == pid && WIFCONTINUED(status));
  pthread_t t = java(ends_soon, gate);
  CHECK(waitpid(-1, &status, 0) == pid && WEXITSTATUS(status) == 3);
  join(t);
  pid = child(gate, 4);
  t = java(ends_soon, gate);
  CHECK(waitpid(0, &status, 0) == pid && WEXITSTATUS(status) == 4);
  join(t);
  pid = child(gate, 5);
  CHECK(setpgid(pid, pid) == 0);
  t = java(ends_soon, gate);
  CHECK(waitpid(-pid, &status, 0) == pid && WEXITSTATUS(status) == 5);
  join(t);
  pid = child(gate, 6);
  t = java(ends_soon, gate);
  CHECK(waitpid(pid, &status, __WALL) == pid && WEXITSTATUS(status) == 6);
  join(t);
  CHECK(wait(&status) == -1 && errno == ECHILD);
  CHECK(waitpid(getpid(), &status, 0) == -1 && errno == ECHILD);
  CHECK(waitid(P_PID, getpid(), &info, 0) == -1 && errno == EINVAL);
  CHECK(waitid(P_PID, 0, &info, WEXITED) == -1 && (errno == EINVAL || errno == ECHILD));
  CHECK(waitpid(pid, (int*)8, 0) == -1 && errno == ECHILD);

  pid = child(gate, 7);  // nobody's zombie
  signal(SIGCHLD, SIG_IGN);
  t = java(ends_soon, gate);
  CHECK(waitpid(pid, &status, 0) == -1 && errno == ECHILD);
  join(t);
  signal(SIGCHLD, SIG_DFL);
  return NULL;
}

int main(void) {
  check_tasks();
  many();
  leave_numbers();
  signals();
  join(java(other_forms, NULL));
  return 0;
}
