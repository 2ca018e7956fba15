// Handlers that never come back to the call that they interrupt (siglongjmp, pthread_exit): nothing
// of the call stays behind.
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "preload.h"
#include "sockets.h"

#define LONG (4 << 20)

static sigjmp_buf g_back;
static atomic_int g_may_jump, g_begun, g_over;

static void jumps(int sig) {
  (void)sig;
  if (g_may_jump) {
    g_may_jump = 0;
    siglongjmp(g_back, 1);
  }
}
static void ends(int sig) {
  (void)sig;
  pthread_exit(NULL);
}
static void until(atomic_int* what, int value) {
  while (*what < value) sleep_ms(1);
}
static void interrupt(pthread_t thread) {
  until(&g_begun, 1);
  sleep_ms(50);
  CHECK(pthread_kill(thread, SIGUSR1) == 0);
}

// A long write: no duplicate of its descriptor keeps the connection open.
static void* writes_and_closes(void* socket) {
  static char bytes[LONG];
  g_may_jump = 1;
  if (sigsetjmp(g_back, 1) == 0) {
    g_begun = 1;
    write(*(int*)socket, bytes, LONG);
  }
  close(*(int*)socket);
  return NULL;
}
static void long_write(void (*handler)(int)) {
  int pair[2];
  char into[4096];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  signal(SIGUSR1, handler);
  g_begun = 0;
  pthread_t writer = java(writes_and_closes, &pair[1]);
  CHECK(read(pair[0], into, sizeof into) > 0);
  interrupt(writer);
  join(writer);
  if (handler == ends) close(pair[1]);
  for (struct pollfd p = {pair[0], POLLIN, 0};;) {
    CHECK(poll(&p, 1, 20000) == 1);
    if (read(pair[0], into, sizeof into) <= 0) break;
  }
  close(pair[0]);
}

// A sigsuspend: signals that the task blocks are its own again, and wait for it.
static void* suspends(void* pipe) {
  sigset_t blocked, none;
  sigemptyset(&none);
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  sigaddset(&blocked, SIGUSR2);
  CHECK(pthread_sigmask(SIG_BLOCK, &blocked, NULL) == 0);
  g_may_jump = 1;
  if (sigsetjmp(g_back, 1) == 0) {
    g_begun = 1;
    sigsuspend(&none);
  }
  g_over = 1;
  char byte;
  CHECK(read(*(int*)pipe, &byte, 1) == 1);
  sigdelset(&blocked, SIGUSR1);
  int sig = 0;
  CHECK(sigwait(&blocked, &sig) == 0 && sig == SIGUSR2);
  return NULL;
}
static void suspended(void) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  signal(SIGUSR1, jumps);
  g_begun = g_over = 0;
  pthread_t thread = java(suspends, &ends[0]);
  interrupt(thread);
  until(&g_over, 1);
  sleep_ms(50);
  CHECK(pthread_kill(thread, SIGUSR2) == 0);  // nobody handles it
  sleep_ms(50);
  CHECK(write(ends[1], "x", 1) == 1);
  join(thread);
  close(ends[0]);
  close(ends[1]);
}

// A kernel thread's wait for a semaphore: the next post is for somebody else.
static sem_t g_semaphore;
static void* waits_no_more(void* pipe) {
  char byte;
  g_may_jump = 1;
  if (sigsetjmp(g_back, 1) == 0) {
    g_begun = 1;
    sem_wait(&g_semaphore);
  }
  g_over = 1;
  CHECK(read(*(int*)pipe, &byte, 1) == 1);
  return NULL;
}
static void* waits(void* unused) {
  g_begun = 2;
  CHECK(sem_wait(&g_semaphore) == 0);
  g_over = 2;
  return unused;
}
static void waited(void) {
  int ends[2];
  pthread_t one;
  CHECK(pipe(ends) == 0 && sem_init(&g_semaphore, 0, 0) == 0);
  g_begun = g_over = 0;
  CHECK(pthread_create(&one, NULL, waits_no_more, &ends[0]) == 0);
  interrupt(one);
  until(&g_over, 1);
  pthread_t other = java(waits, NULL);
  until(&g_begun, 2);
  sleep_ms(50);
  CHECK(sem_post(&g_semaphore) == 0);
  until(&g_over, 2);
  join(other);
  CHECK(write(ends[1], "x", 1) == 1);
  join(one);
}
// ... and its end, with the stack.
static void* waits_for_its_end(void* unused) {
  g_begun = 1;
  sem_wait(&g_semaphore);
  return unused;
}
static void ended(void) {
  pthread_attr_t large;
  pthread_t thread;
  CHECK(pthread_attr_init(&large) == 0);
  CHECK(pthread_attr_setstacksize(&large, 200 << 20) == 0);  // libc keeps none so large
  signal(SIGUSR1, ends);
  for (int i = 0; i < 3; ++i) {
    g_begun = 0;
    CHECK(pthread_create(&thread, &large, waits_for_its_end, NULL) == 0);
    interrupt(thread);
    join(thread);
  }
  g_begun = 0;
  CHECK(pthread_create(&thread, NULL, waits_for_its_end, NULL) == 0);
  until(&g_begun, 1);
  sleep_ms(50);
  CHECK(sem_post(&g_semaphore) == 0);
  join(thread);
}

// A read at a file's position, which may be made in two steps: the next one need not wait for it.
#define FILE_SIZE (32l << 20)
static void* reads(void* path) {
  char* bytes = malloc(FILE_SIZE);
  int fd = open(path, O_RDONLY);
  CHECK(bytes != NULL && fd >= 0);
  while (!g_over) {
    if (sigsetjmp(g_back, 1) != 0) g_over = 1;
    g_may_jump = !g_over;
    CHECK(lseek(fd, 0, SEEK_SET) == 0 && read(fd, bytes, FILE_SIZE) == FILE_SIZE);
    g_may_jump = 0;
    sleep_ms(1);  // a carrier again, without which reads are made as they are
  }
  close(fd);
  free(bytes);
  return NULL;
}
static void read_file(void) {
  char path[] = "/tmp/wisp-handlers-XXXXXX";
  int fd = mkstemp(path);
  static char block[1 << 20];
  CHECK(fd >= 0);
  for (long at = 0; at < FILE_SIZE; at += sizeof block)
    CHECK(write(fd, block, sizeof block) == sizeof block);
  signal(SIGUSR1, jumps);
  for (int i = 0; i < 5; ++i) {
    g_over = 0;
    pthread_t reader = java(reads, path);
    while (!g_over) {
      struct timespec pause = {0, 3000000};
      nanosleep(&pause, NULL);
      CHECK(g_over || pthread_kill(reader, SIGUSR1) == 0);
    }
    join(reader);
  }
  close(fd);
  unlink(path);
}

// A wait for a child: the descriptor by which it is waited for is closed.
static pid_t g_child;
static void* waits_for_child(void* unused) {
  g_may_jump = 1;
  if (sigsetjmp(g_back, 1) == 0) {
    g_begun = 1;
    waitpid(g_child, NULL, 0);
  }
  return unused;
}
static int open_descriptors(void) {
  int n = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (readdir(folder) != NULL) ++n;
  closedir(folder);
  return n;
}
static void waited_for_child(void (*handler)(int)) {
  int before = 0;
  signal(SIGUSR1, handler);
  g_child = fork();
  CHECK(g_child >= 0);
  if (g_child == 0)
    for (;;) pause();
  for (int i = 0; i < 4; ++i) {
    g_begun = 0;
    pthread_t waiter = java(waits_for_child, NULL);
    interrupt(waiter);
    join(waiter);
    if (i == 0) before = open_descriptors();  // some are made once
  }
  CHECK(open_descriptors() <= before);
  kill(g_child, SIGKILL);
  CHECK(waitpid(g_child, NULL, 0) == g_child);
}

int main(void) {
  alarm(100);
  check_tasks();
  long_write(jumps);
  long_write(ends);
  suspended();
  waited();
  ended();
  read_file();
  waited_for_child(jumps);
  waited_for_child(ends);
  return 0;
}
