// Calls of which the runtime makes several: a long write, sendfile, a receive that waits for all.
// In the kernel each is one call, which holds its file, takes what there is room for, and ends
// where the kernel ends it. Which error is told then, and to which call, is in call_errors.c.
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "preload.h"
#include "sockets.h"

#define LONG (4 << 20)

static char g_bytes[LONG];
static int g_file;
static atomic_long g_received;

struct transfer {
  int fd;
  int how;  // 0 write, 1 sendfile
  long result;
};
static void* sends(void* argument) {
  struct transfer* t = argument;
  off_t at = 0;
  t->result = t->how == 0 ? write(t->fd, g_bytes, LONG) : sendfile(t->fd, g_file, &at, LONG);
  return NULL;
}
static void* reads_all(void* argument) {
  int fd = *(int*)argument;
  static char into[1 << 16];
  long sum = 0, r;
  while ((r = read(fd, into, sizeof into)) > 0) g_received = sum += r;
  return (void*)sum;
}

// The number is closed, and another file gets it, while a call is half done: no byte goes there.
static void closed_meanwhile(void) {
  for (int kind = 0; kind < 3; ++kind)  // a pipe, TCP, TCP by sendfile
    for (int i = 0; i < 60; ++i) {
      int ends[2], other[2];
      if (kind == 0)
        CHECK(pipe(ends) == 0);
      else
        tcp_pair(ends);
      int from = ends[0], to = ends[1];
      struct transfer t = {to, kind == 2, 0};
      g_received = 0;
      pthread_t reader = java(reads_all, &from), writer = java(sends, &t);
      while (g_received == 0) sched_yield();
      struct timespec moment = {0, i % 30 * 20000};
      nanosleep(&moment, NULL);
      CHECK(close(to) == 0);
      CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, other) == 0);
      join(writer);
      for (int k = 0; k < 2; ++k) {
        char byte;
        CHECK(recv(other[k], &byte, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN);
      }
      close(other[0]);
      close(other[1]);
      void* got;
      CHECK(pthread_join(reader, &got) == 0);
      CHECK(t.result > 0 ? (long)got == t.result : (long)got == 0);
      close(from);
    }
}

// Nobody reads: it takes as much as one that is called again and again without waiting.
static void* fills(void* argument) {
  int* pair = argument;
  for (int tcp = 0; tcp < 2; ++tcp) {
    if (tcp)
      tcp_pair(pair);
    else
      CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    int size = 208 << 10, small = 16 << 10;
    CHECK(setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof size) == 0);
    CHECK(setsockopt(pair[0], SOL_SOCKET, SO_RCVBUF, &small, sizeof small) == 0);
    long room = 0, r;
    while ((r = send(pair[1], g_bytes, 4096, MSG_DONTWAIT)) > 0) room += r;
    long all = room;
    while (room > 0) room -= read(pair[0], g_bytes, sizeof g_bytes);
    // Four fifths of that, since a file's pages take more of the buffer than bytes. Where poll(2)
    // no longer says that there is room, TCP has taken two thirds.
    off_t at = 0;
    CHECK(sendfile(pair[1], g_file, &at, (size_t)all * 82 / 100) == all * 82 / 100);
    close(pair[0]);
    close(pair[1]);
  }
  return NULL;
}

static void* shuts_later(void* argument) {
  sleep_ms(60);
  shutdown(*(int*)argument, SHUT_RD);
  return NULL;
}
static void* sends_until_shut(void* argument) {
  int* pair = argument;
  off_t at = 0;
  CHECK(sendfile(pair[1], g_file, &at, LONG) > 0);
  CHECK(sendfile(pair[1], g_file, &at, 10) == -1 && errno == EPIPE);
  return NULL;
}

static void send_with_descriptor(int to, int fd) {
  char control[CMSG_SPACE(sizeof fd)] = {0};
  struct iovec part = {g_bytes, 8};
  struct msghdr m = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  struct cmsghdr* c = CMSG_FIRSTHDR(&m);
  c->cmsg_level = SOL_SOCKET;
  c->cmsg_type = SCM_RIGHTS;
  c->cmsg_len = CMSG_LEN(sizeof fd);
  memcpy(CMSG_DATA(c), &fd, sizeof fd);
  CHECK(sendmsg(to, &m, 0) == 8);
}
static void* receives_all(void* argument) {
  int* pair = argument;
  char bytes[16], control[256];
  // Descriptors end it: two messages are not put together.
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  for (int i = 0; i < 2; ++i) send_with_descriptor(pair[1], pair[1]);
  for (int i = 0; i < 2; ++i) {
    struct iovec part = {bytes, sizeof bytes};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = control,
                       .msg_controllen = sizeof control};
    CHECK(recvmsg(pair[0], &m, MSG_WAITALL) == 8);
    int fd;
    CHECK(CMSG_FIRSTHDR(&m) != NULL);
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fd);
    CHECK(close(fd) == 0);
  }
  close(pair[0]);
  close(pair[1]);
  // So does urgent data.
  tcp_pair(pair);
  CHECK(send(pair[1], "abc", 3, 0) == 3 && send(pair[1], "!", 1, MSG_OOB) == 1);
  CHECK(send(pair[1], "defghij", 7, 0) == 7);
  for (int have = 0; have < 10;) {
    CHECK(ioctl(pair[0], FIONREAD, &have) == 0);
    if (have == 3) break;  // up to the mark
    sched_yield();
  }
  sleep_ms(20);
  CHECK(recv(pair[0], bytes, 10, MSG_WAITALL) == 3);
  CHECK(recv(pair[0], bytes, 7, MSG_WAITALL) == 7);
  close(pair[0]);
  close(pair[1]);
  return NULL;
}

// Messages one by one, on a socket that is not the process's own.
static void* receives_messages(void* socket) {
  int fd = *(int*)socket, other = dup(fd);
  struct mmsghdr messages[10];
  struct iovec parts[10];
  memset(messages, 0, sizeof messages);
  for (int i = 0; i < 10; ++i) {
    parts[i] = (struct iovec){g_bytes + i, 1};
    messages[i].msg_hdr.msg_iov = &parts[i];
    messages[i].msg_hdr.msg_iovlen = 1;
  }
  CHECK(recvmmsg(fd, messages, 10, 0, NULL) == 10);
  close(other);
  return NULL;
}
static void ten_messages(void) {
  int pair[2];
  CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0);
  pthread_t receiver = java(receives_messages, &pair[0]);
  for (int i = 0; i < 10; ++i) {
    sleep_ms(20);
    CHECK(send(pair[1], "x", 1, 0) == 1);
  }
  join(receiver);
  close(pair[0]);
  close(pair[1]);
}

// A server with slow readers has no more descriptors than its connections.
static void slow_readers(void) {
  enum { kConnections = 150 };
  static int pairs[kConnections][2];
  static struct transfer sending[kConnections];
  static pthread_t senders[kConnections];
  struct rlimit before, limit;
  CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
  limit = before;
  limit.rlim_cur = 400;
  CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  for (int i = 0; i < kConnections; ++i) {
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]) == 0);
    sending[i] = (struct transfer){pairs[i][1], 0, 0};
    senders[i] = java(sends, &sending[i]);
  }
  for (int i = 0; i < kConnections; ++i)
    for (struct pollfd p = {pairs[i][1], POLLOUT, 0}; poll(&p, 1, 0) != 0;) sched_yield();
  int more[400], count = 0;
  while ((more[count] = dup(0)) >= 0) ++count;
  CHECK(errno == EMFILE && count > 50);
  while (count > 0) close(more[--count]);
  CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
  for (int i = 0; i < kConnections; ++i) {
    close(pairs[i][0]);
    join(senders[i]);
    CHECK(sending[i].result > 0);
    close(pairs[i][1]);
  }
}

int main(void) {
  signal(SIGPIPE, SIG_IGN);
  g_file = memfd_create("file", MFD_CLOEXEC);
  CHECK(g_file >= 0 && write(g_file, g_bytes, LONG) == LONG);
  int pair[2];
  closed_meanwhile();
  join(java(fills, pair));
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  pthread_t sender = java(sends_until_shut, pair), other = java(shuts_later, &pair[0]);
  join(sender);
  join(other);
  close(pair[0]);
  close(pair[1]);
  join(java(receives_all, pair));
  ten_messages();
  slow_readers();
  return 0;
}
