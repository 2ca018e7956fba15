// Children of a task by fork, vfork, posix_spawn, system and popen; none of them knows of Wisp.
#include <poll.h>
#include <pty.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "preload.h"

extern char** environ;
static pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;

static void* adds(void* n) {
  ++*(int*)n;
  return NULL;
}

static int status_of(pid_t pid) {
  int status = -1;
  CHECK(pid > 0);
  CHECK(waitpid(pid, &status, 0) == pid);
  CHECK(WIFEXITED(status));
  return WEXITSTATUS(status);
}

static void forks(void) {
  pthread_rwlock_t read = PTHREAD_RWLOCK_INITIALIZER;
  CHECK(pthread_rwlock_rdlock(&read) == 0 && pthread_rwlock_rdlock(&read) == 0);
  pthread_mutex_lock(&g_mutex);
  pid_t pid = fork();
  if (pid == 0) {
    for (int i = 0; i < 2; ++i)
      if (pthread_rwlock_trywrlock(&read) != EBUSY || pthread_rwlock_unlock(&read) != 0) _exit(2);
    if (pthread_rwlock_trywrlock(&read) != 0) _exit(3);
    pthread_mutex_unlock(&g_mutex);
    pthread_mutex_lock(&g_mutex);
    if (pthread_mutex_destroy(&g_mutex) != EBUSY || pthread_mutex_unlock(&g_mutex) != 0) _exit(4);
    if (pthread_mutex_destroy(&g_mutex) != 0) _exit(5);
    // A child may go on as a program of its own, with threads: as many at a time as make libc unmap
    // the stacks that it has kept (more than 40 MiB), those of the parent's kernel threads among
    // them.
    int n[8] = {6};
    pthread_t t[8];
    for (int i = 0; i < 8; ++i)
      if (pthread_create(&t[i], NULL, adds, &n[i]) != 0) _exit(1);
    for (int i = 0; i < 8; ++i)
      if (pthread_join(t[i], NULL) != 0) _exit(1);
    free(malloc(100000));
    _exit(n[0]);
  }
  pthread_mutex_unlock(&g_mutex);
  CHECK(pthread_rwlock_unlock(&read) == 0 && pthread_rwlock_unlock(&read) == 0);
  CHECK(status_of(pid) == 7);
  pid = fork();
  if (pid == 0) pthread_exit(NULL);  // the last thread of its process
  CHECK(status_of(pid) == 0);
}

static void __attribute__((noinline)) vforks(int code) {
  char text[16];
  snprintf(text, sizeof text, "exit %d", code);
  char* const argv[] = {"sh", "-c", text, NULL};
  volatile int canary = code * 3;
  pid_t pid = vfork();
  if (pid == 0) {
    // What a child may do: a handler back to default, descriptors, exec.
    struct sigaction act;
    memset(&act, 0, sizeof act);
    act.sa_handler = SIG_DFL;
    sigaction(SIGPIPE, &act, NULL);
    close(99);
    execve("/bin/sh", argv, environ);
    _exit(127);
  }
  CHECK(status_of(pid) == code);
  CHECK(canary == code * 3);

  pid = vfork();
  if (pid == 0) _exit(code + 1);
  CHECK(status_of(pid) == code + 1);
}

// ---- a script that does not say whose: for exec with a search it is the shell's, also by its path

static char g_folder[] = "/tmp/wisp-children-XXXXXX", g_script[64];

static void writes_a_script(void) {
  CHECK(mkdtemp(g_folder) != NULL);
  snprintf(g_script, sizeof g_script, "%s/wisp-script", g_folder);
  FILE* out = fopen(g_script, "w");
  CHECK(out != NULL && fputs("exit $1$2\n", out) >= 0 && fclose(out) == 0);
  CHECK(chmod(g_script, 0700) == 0);
  static char path[4096];
  snprintf(path, sizeof path, "%s:%s", g_folder, getenv("PATH"));
  CHECK(setenv("PATH", path, 1) == 0);
}

static void __attribute__((noreturn)) executes(int form, const char* file) {
  char* const argv[] = {"script", "4", "2", NULL};
  if (form == 0) execvp(file, argv);
  if (form == 1) execvpe(file, argv, environ);
  if (form == 2) execlp(file, "script", "4", "2", NULL);
  if (form == 3) execv(file, argv);
  if (form == 4) execle(file, "script", "4", "2", NULL, environ);
  _exit(errno == ENOEXEC ? 43 : 44);
}

static void __attribute__((noinline)) runs_a_script(int form, const char* file, int code) {
  pid_t pid = fork();
  if (pid == 0) executes(form, file);
  CHECK(status_of(pid) == code);
  pid = vfork();
  if (pid == 0) executes(form, file);
  CHECK(status_of(pid) == code);
}

static void* runs_scripts(void* unused) {
  for (int form = 0; form < 3; ++form) {
    runs_a_script(form, g_script, 42);
    runs_a_script(form, "wisp-script", 42);
  }
  for (int form = 3; form < 5; ++form) runs_a_script(form, g_script, 43);
  return unused;
}

static void* all_of_them(void* argument) {
  int code = (int)(long)argument;
  for (int i = 0; i < 10; ++i) {
    forks();
    vforks(code);
    char text[16];
    snprintf(text, sizeof text, "exit %d", code);
    char* const argv[] = {"sh", "-c", text, NULL};
    pid_t pid;
    CHECK(posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ) == 0);
    CHECK(status_of(pid) == code);
    CHECK(WEXITSTATUS(system(text)) == code);
    siginfo_t info;
    pid = fork();
    if (pid == 0) _exit(9);
    CHECK(waitid(P_PID, pid, &info, WEXITED) == 0 && info.si_status == 9);
  }
  return NULL;
}

// What libc forks itself.
static void* has_a_terminal(void* argument) {
  for (int i = 0; i < 5; ++i) {
    int terminal = -1;
    pid_t pid = forkpty(&terminal, NULL, NULL, NULL);
    if (pid == 0) {
      usleep(
          2000);  // on a task this would park, and copies of the parent's other threads would run
      _exit(9);
    }
    CHECK(status_of(pid) == 9 && close(terminal) == 0);
  }
  return argument;
}

// A vfork child shares the parent's mutexes: here it waits for one that a task holds, and then a
// task waits for one that the child holds.
static pthread_mutex_t g_shared = PTHREAD_MUTEX_INITIALIZER;
static atomic_int g_held, g_wants, g_got;
static void* holds(void* unused) {
  pthread_mutex_lock(&g_shared);
  g_held = 1;
  sleep_ms(100);
  pthread_mutex_unlock(&g_shared);
  while (!g_wants) sleep_ms(1);
  pthread_mutex_lock(&g_shared);
  g_got = 1;
  pthread_mutex_unlock(&g_shared);
  return unused;
}
static void* __attribute__((noinline)) shares_a_mutex(void* unused) {
  while (!g_held) sleep_ms(1);
  pid_t pid = vfork();
  if (pid == 0) {
    if (pthread_mutex_lock(&g_shared) != 0) _exit(1);
    g_wants = 1;
    struct timespec ms = {0, 100000000};
    syscall(SYS_nanosleep, &ms, NULL);
    if (g_got != 0 || pthread_mutex_unlock(&g_shared) != 0) _exit(2);
    _exit(0);
  }
  CHECK(status_of(pid) == 0);
  return unused;
}

static void* reads_environment(void* argument) {
  (void)argument;
  FILE* out = popen("env", "r");
  CHECK(out != NULL);
  char line[4096];
  while (fgets(line, sizeof line, out) != NULL)
    CHECK(strncmp(line, "LD_PRELOAD=", 11) != 0 && strncmp(line, "WISP", 4) != 0);
  CHECK(pclose(out) == 0);
  return NULL;
}

// ---- a child that is made behind libc's back and closes what it has in common with a waiting task

static void* reads_a_byte(void* fd) {
  char c;
  CHECK(read((int)(long)fd, &c, 1) == 1);
  return NULL;
}
static void* closes_in_a_child(void* unused) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  pthread_t reader = java(reads_a_byte, (void*)(long)ends[0]);
  sleep_ms(20);
  pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (pid == 0) {
    close(ends[0]), close(ends[1]);
    syscall(SYS_exit_group, 0);
  }
  CHECK(pid > 0 && status_of(pid) == 0);
  CHECK(write(ends[1], "x", 1) == 1);
  join(reader);
  CHECK(close(ends[0]) == 0 && close(ends[1]) == 0);
  return unused;
}

// ---- a call goes on although its number is closed: a child has the file no more than the number

static atomic_int g_begins;
static char g_long[8 << 20];
static void* reads_the_end(void* fd) {
  char c;
  g_begins = 1;
  CHECK(read((int)(long)fd, &c, 1) == 1);
  return NULL;
}
static void* writes_long(void* fd) {
  g_begins = 1;
  CHECK(write((int)(long)fd, g_long, sizeof g_long) == (ssize_t)sizeof g_long);
  return NULL;
}
// Reads from `fd` what comes before the end of the stream, which is told within some seconds.
static size_t reads_to_the_end(int fd) {
  for (size_t all = 0;;) {
    struct pollfd entry = {fd, POLLIN, 0};
    CHECK(poll(&entry, 1, 5000) == 1);
    static char bytes[1 << 16];
    ssize_t n = read(fd, bytes, sizeof bytes);
    CHECK(n >= 0);
    if (n == 0) return all;
    all += (size_t)n;
  }
}
static void closes_under(void* (*call)(void*), int closed_before) {
  int ends[2], stay[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 && pipe(stay) == 0);
  g_begins = 0;
  pthread_t caller = java(call, (void*)(long)ends[0]);
  while (!g_begins) sleep_ms(1);
  sleep_ms(100);
  if (closed_before) CHECK(close(ends[0]) == 0);
  pid_t pid = fork();
  if (pid == 0) {
    char c;
    if (!closed_before && close(ends[0]) != 0) _exit(2);
    _exit(close(ends[1]) != 0 || close(stay[1]) != 0 || read(stay[0], &c, 1) != 0);
  }
  CHECK(pid > 0);
  if (call == reads_the_end) {
    CHECK(write(ends[1], "x", 1) == 1);
    join(caller);
  }
  if (!closed_before) CHECK(close(ends[0]) == 0);
  CHECK(reads_to_the_end(ends[1]) == (call == writes_long ? sizeof g_long : 0));
  if (call == writes_long) join(caller);
  CHECK(close(stay[0]) == 0 && close(stay[1]) == 0 && status_of(pid) == 0);
  CHECK(close(ends[1]) == 0);
}
static void* closes_under_calls(void* unused) {
  closes_under(reads_the_end, 1);
  closes_under(writes_long, 1);
  closes_under(writes_long, 0);
  return unused;
}

int main(void) {
  check_tasks();
  CHECK(getenv("LD_PRELOAD") == NULL && getenv("WISP") == NULL);
  writes_a_script();
  join(java(runs_scripts, NULL));
  runs_scripts(NULL);
  CHECK(unlink(g_script) == 0 && rmdir(g_folder) == 0);
  pthread_t t[4];
  for (long i = 0; i < 4; ++i) t[i] = java(all_of_them, (void*)(i * 10 + 3));
  for (int i = 0; i < 4; ++i) join(t[i]);
  join(java(reads_environment, NULL));
  pthread_t busy = java(has_a_terminal, NULL);
  join(java(has_a_terminal, NULL));
  join(busy);
  pthread_t holder = java(holds, NULL);
  join(java(shares_a_mutex, NULL));
  join(holder);
  join(java(closes_in_a_child, NULL));
  join(java(closes_under_calls, NULL));
  closes_under_calls(NULL);
  all_of_them((void*)5);  // and from a kernel thread
  return 0;
}
