// Receives that wait for more than a first piece: MSG_WAITALL into several parts, and the low-water
// mark of a socket (SO_RCVLOWAT).
#include <stdatomic.h>

#include "preload.h"
#include "sockets.h"

static const char kText[] = "0123456789abcdefghijklmnopqrstuvwxyz";
enum { kSize = sizeof kText - 1 };

// Sends in pieces, with pauses in which a receiver could think that this was all.
struct sender {
  int fd;
  int piece;  // bytes
  atomic_int sent;
};
static void* sends(void* argument) {
  struct sender* s = argument;
  for (int at = 0; at < kSize; at += s->piece) {
    sleep_ms(20);
    int n = kSize - at < s->piece ? kSize - at : s->piece;
    s->sent = at + n;  // before: who has received it must not find less
    CHECK(send(s->fd, kText + at, (size_t)n, 0) == n);
  }
  return NULL;
}

// ---- all parts are full when the call is over
struct pair_of {
  int fd[2];
  int peeks;
};
static void* fills_parts(void* argument) {
  struct pair_of* p = argument;
  for (int piece = 1; piece <= 7; piece += 3) {
    struct sender s = {p->fd[1], piece, 0};
    pthread_t t = java(sends, &s);
    char bytes[kSize] = {0}, byte;
    struct iovec parts[] = {{&byte, 0}, {bytes, 3},      {bytes + 3, 1},
                            {&byte, 0}, {bytes + 4, 17}, {bytes + 21, kSize - 21},
                            {&byte, 0}};
    int rounds = p->peeks ? 2 : 1;  // what was looked at is still there
    for (int i = 0; i < rounds; ++i) {
      struct msghdr m = {.msg_iov = parts, .msg_iovlen = sizeof parts / sizeof *parts};
      int peek = i + 1 < rounds ? MSG_PEEK : 0;
      memset(bytes, 0, sizeof bytes);
      CHECK(recvmsg(p->fd[0], &m, MSG_WAITALL | peek) == kSize);
      CHECK(memcmp(bytes, kText, kSize) == 0 && s.sent == kSize);
    }
    join(t);
  }
  return NULL;
}
// The end of the stream comes first: what there was is the answer, then 0.
static void* meets_the_end(void* argument) {
  struct pair_of* p = argument;
  struct sender s = {p->fd[1], 10, 0};
  pthread_t t = java(sends, &s);
  join(t);
  CHECK(shutdown(p->fd[1], SHUT_WR) == 0);
  char bytes[2 * kSize];
  struct iovec parts[] = {{bytes, 5}, {bytes + 5, kSize - 6}, {bytes + kSize - 1, kSize}};
  struct msghdr m = {.msg_iov = parts, .msg_iovlen = 3};
  CHECK(recvmsg(p->fd[0], &m, MSG_WAITALL) == kSize && memcmp(bytes, kText, kSize) == 0);
  CHECK(recvmsg(p->fd[0], &m, MSG_WAITALL) == 0);
  return NULL;
}

// ---- an urgent byte that comes meanwhile ends it, with what is before that
static void* sends_urgent(void* fd) {
  sleep_ms(100);
  CHECK(send(*(int*)fd, "!", 1, MSG_OOB) == 1);
  sleep_ms(100);
  CHECK(send(*(int*)fd, "xyz", 3, 0) == 3);
  return NULL;
}
static void* meets_urgent(void* unused) {
  int pair[2];
  char bytes[100];
  tcp_pair(pair);
  CHECK(send(pair[1], "abc", 3, 0) == 3);
  pthread_t t = java(sends_urgent, &pair[1]);
  CHECK(recv(pair[0], bytes, sizeof bytes, MSG_WAITALL) == 3);
  CHECK(recv(pair[0], bytes, 1, MSG_OOB) == 1 && *bytes == '!');
  CHECK(recv(pair[0], bytes, 3, MSG_WAITALL) == 3 && memcmp(bytes, "xyz", 3) == 0);
  join(t);
  close(pair[0]), close(pair[1]);
  return unused;
}

// ---- not before so many bytes are there, or as many as were asked for
static void* waits_for_mark(void* argument) {
  struct pair_of* p = argument;
  int mark = 12;
  CHECK(setsockopt(p->fd[0], SOL_SOCKET, SO_RCVLOWAT, &mark, sizeof mark) == 0);
  struct sender s = {p->fd[1], 4, 0};
  pthread_t t = java(sends, &s);
  char bytes[kSize];
  struct iovec parts[2] = {{bytes + 24, 3}, {bytes + 27, 3}};
  struct msghdr m = {.msg_iov = &parts[0], .msg_iovlen = 1};
  struct mmsghdr last = {.msg_hdr = {.msg_iov = &parts[1], .msg_iovlen = 1}};
  long r = recv(p->fd[0], bytes, 24, 0);
  CHECK(r >= mark && s.sent >= mark);
  while (r < 24) {
    long more = read(p->fd[0], bytes + r, (size_t)(24 - r));  // less than the mark is asked for
    CHECK(more > 0 && (more >= mark || r + more == 24));
    r += more;
  }
  CHECK(recvmsg(p->fd[0], &m, 0) == 3);
  CHECK(recvmmsg(p->fd[0], &last, 1, 0, NULL) == 1 && last.msg_len == 3 && s.sent >= 30);
  mark = 1;
  CHECK(setsockopt(p->fd[0], SOL_SOCKET, SO_RCVLOWAT, &mark, sizeof mark) == 0);
  for (r = 30; r < kSize;) {
    long more = recv(p->fd[0], bytes + r, (size_t)(kSize - r), 0);
    CHECK(more > 0);
    r += more;
  }
  CHECK(memcmp(bytes, kText, kSize) == 0);
  join(t);
  return NULL;
}
// What is accepted has the mark of its listener.
static void* inherits_mark(void* unused) {
  struct sockaddr_in address;
  int listener = listening(&address, 5), mark = kSize;
  CHECK(setsockopt(listener, SOL_SOCKET, SO_RCVLOWAT, &mark, sizeof mark) == 0);
  int client = socket(AF_INET, SOCK_STREAM, 0);
  CHECK(connect(client, (struct sockaddr*)&address, sizeof address) == 0);
  struct pair_of p = {{accept(listener, NULL, NULL), client}, 0};
  CHECK(p.fd[0] >= 0);
  struct sender s = {client, 9, 0};
  pthread_t t = java(sends, &s);
  char bytes[2 * kSize];
  CHECK(recv(p.fd[0], bytes, sizeof bytes, 0) == kSize && memcmp(bytes, kText, kSize) == 0);
  join(t);
  close(p.fd[0]), close(client), close(listener);
  return unused;
}

static void each(void* (*test)(void*), int peeks) {
  for (int local = 0; local < 2; ++local) {
    struct pair_of p = {{-1, -1}, peeks && !local};  // a local socket does not wait while it peeks
    if (local)
      CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, p.fd) == 0);
    else
      tcp_pair(p.fd);
    join(java(test, &p));
    close(p.fd[0]), close(p.fd[1]);
  }
}

int main(void) {
  alarm(100);
  check_tasks();
  each(fills_parts, 0);
  each(fills_parts, 1);
  each(meets_the_end, 0);
  each(waits_for_mark, 0);
  join(java(inherits_mark, NULL));
  join(java(meets_urgent, NULL));
  return 0;
}
