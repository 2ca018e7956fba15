// A signal ends a long call wherever it comes, also between the steps that the runtime makes of
// it: its peer has stopped, so that nothing else would. (The JDK closes a channel under a writer
// by one such signal.)
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

#include "preload.h"
#include "sockets.h"

#define MUCH (1l << 30)

enum way { kSend, kWrite, kSendMessage, kSendFile, kWays };

static char* g_bytes;
static int g_file, g_from, g_to;
static enum way g_way;
static atomic_long g_received;
static atomic_int g_stop, g_over;

static void* sends(void* result) {
  struct iovec parts[2] = {{g_bytes, 10}, {g_bytes, MUCH}};
  struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
  off_t at = 0;
  long* r = result;
  switch (g_way) {
    case kSend:
      *r = send(g_to, g_bytes, MUCH, MSG_NOSIGNAL);
      break;
    case kWrite:
      *r = write(g_to, g_bytes, MUCH);
      break;
    case kSendMessage:
      *r = sendmsg(g_to, &message, MSG_NOSIGNAL);
      break;
    default:
      *r = sendfile(g_to, g_file, &at, MUCH);
  }
  g_over = 1;
  return NULL;
}

static void* receives(void* unused) {
  static char into[30000];
  long r;
  while (!g_stop && (r = read(g_from, into, sizeof into)) > 0) g_received += r;
  return unused;
}

static void handles(int sig) { (void)sig; }

static void one(enum way way, int moment) {
  int ends[2];
  if (way == kWrite)
    CHECK(pipe(ends) == 0);
  else if (way == kSend)
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  else
    tcp_pair(ends);
  g_way = way;
  g_from = ends[0];
  g_to = ends[1];
  g_received = g_stop = g_over = 0;
  long result = 0;
  pthread_t sender = java(sends, &result), receiver = java(receives, NULL);
  while (g_received < 1 << 20) sched_yield();
  struct timespec pause = {0, moment * 50000};
  nanosleep(&pause, NULL);
  CHECK(pthread_kill(sender, SIGUSR1) == 0);
  g_stop = 1;
  struct timespec start = started();
  while (!g_over && ms_since(&start) < 20000) sleep_ms(1);
  CHECK(g_over);
  CHECK(result > 0 && result < MUCH);
  join(sender);
  // The receiver may wait for more.
  close(g_to);
  join(receiver);
  close(g_from);
}

// A receiver that was woken in vain some times, whose number gets another file, and which is sent a
// signal then, at once: the JDK's close. (With one carrier it runs after both.)
static void* receives_until_closed(void* unused) {
  char byte;
  while (recv(g_from, &byte, 1, 0) == 1) {
  }
  g_over = 1;
  return unused;
}
static void* closes(void* receiver) {
  int other[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, other) == 0 && close(other[1]) == 0);
  sleep_ms(2);
  for (int i = 0; i < 8; ++i) {
    char byte;
    CHECK(write(g_to, "x", 1) == 1);
    struct timespec before = started(), now = before;
    while ((now.tv_sec - before.tv_sec) * 1000000000 + now.tv_nsec - before.tv_nsec < 200000)
      now = started();
    recv(g_from, &byte, 1, MSG_DONTWAIT);
    sleep_ms(1);
  }
  CHECK(dup2(other[0], g_from) == g_from);
  CHECK(pthread_kill(*(pthread_t*)receiver, SIGUSR1) == 0);
  close(other[0]);
  return NULL;
}
static void close_after_wakes(void) {
  int pair[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  g_from = pair[0];
  g_to = pair[1];
  g_over = 0;
  pthread_t receiver = java(receives_until_closed, NULL), closer = java(closes, &receiver);
  join(closer);
  struct timespec start = started();
  while (!g_over && ms_since(&start) < 20000) sleep_ms(1);
  CHECK(g_over);
  join(receiver);
  close(g_from);
  close(g_to);
}

int main(void) {
  signal(SIGPIPE, SIG_IGN);
  g_bytes = mmap(NULL, MUCH, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  g_file = memfd_create("file", MFD_CLOEXEC);
  CHECK(g_bytes != MAP_FAILED && g_file >= 0 && ftruncate(g_file, MUCH) == 0);
  check_tasks();
  for (int restarts = 0; restarts < 2; ++restarts) {
    struct sigaction action = {.sa_handler = handles, .sa_flags = restarts ? SA_RESTART : 0};
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    for (enum way way = kSend; way < kWays; ++way)
      for (int i = 0; i < 25; ++i) one(way, i);
    for (int i = 0; i < 10 && !restarts; ++i) close_after_wakes();
  }
  return 0;
}
