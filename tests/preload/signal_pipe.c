// SIGPIPE of a thread that blocks it waits for that thread, wherever it goes on: others that run on
// the same kernel thread do not have it (it would end the process), and the thread can take it.
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "preload.h"

enum { kWays = 10, kRounds = 40, kOthers = 3 };
static volatile int g_over;
static int g_handled;
static __thread volatile sig_atomic_t t_handled;

static void counts(int sig) {
  (void)sig;
  __atomic_fetch_add(&g_handled, 1, __ATOMIC_RELAXED);
  ++t_handled;
}

static int pending(void) {
  sigset_t now;
  sigemptyset(&now);
  CHECK(sigpending(&now) == 0);
  return sigismember(&now, SIGPIPE);
}

// Each way to write to what nobody reads from any more.
static ssize_t writes(int way, int socket, int pipe, int file) {
  struct iovec part = {(void*)"x", 1};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  struct mmsghdr several = {.msg_hdr = message};
  off_t start = 0;
  switch (way) {
    case 0:
      return write(socket, "x", 1);
    case 1:
      return write(pipe, "x", 1);
    case 2:
      return writev(pipe, &part, 1);
    case 3:
      return send(socket, "x", 1, 0);
    case 4:
      return send(socket, "x", 1, MSG_DONTWAIT);
    case 5:
      return sendto(socket, "x", 1, 0, NULL, 0);
    case 6:
      return sendmsg(socket, &message, 0);
    case 7:
      return sendmsg(socket, &message, MSG_DONTWAIT);
    case 8:
      return sendmmsg(socket, &several, 1, 0);
    default:
      return sendfile(socket, file, &start, 1);
  }
}

static void* blocks(void* a) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
  int file = open("/proc/self/exe", O_RDONLY);
  CHECK(file >= 0);
  for (int i = 0; i < kRounds * kWays; ++i) {
    int s[2], p[2];
    struct timespec none = {0, 0};
    siginfo_t info;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0 && pipe(p) == 0);
    close(s[1]), close(p[0]);
    CHECK(send(s[0], "x", 1, MSG_NOSIGNAL) == -1 && errno == EPIPE);
    CHECK(!pending());
    CHECK(writes(i % kWays, s[0], p[1], file) == -1 && errno == EPIPE);
    usleep(30);  // others run here
    CHECK(pending());
    if (a == NULL) {
      CHECK(sigtimedwait(&set, &info, &none) == SIGPIPE && info.si_code == SI_USER);
      CHECK(info.si_pid == getpid());
    } else {
      int before = t_handled;
      CHECK(pthread_sigmask(SIG_UNBLOCK, &set, NULL) == 0);
      CHECK(t_handled == before + 1);  // on this thread, before it returned
      CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
    }
    CHECK(!pending());
    close(s[0]), close(p[1]);
  }
  close(file);
  return NULL;
}

static void* runs(void* unused) {
  while (!g_over) usleep(20);
  return unused;
}

static void all(void* (*run)(void*), void* argument) {
  pthread_t other[kOthers], writer[2];
  g_over = 0;
  for (int i = 0; i < kOthers; ++i) other[i] = java(runs, NULL);
  for (int i = 0; i < 2; ++i) writer[i] = java(run, argument);
  for (int i = 0; i < 2; ++i) join(writer[i]);
  g_over = 1;
  for (int i = 0; i < kOthers; ++i) join(other[i]);
}

int main(void) {
  check_tasks();
  all(blocks, NULL);  // without a handler: one that reached another thread would end the process
  CHECK(signal(SIGPIPE, counts) != SIG_ERR);
  all(blocks, (void*)1);
  CHECK(g_handled == 2 * kRounds * kWays);
  return 0;
}
