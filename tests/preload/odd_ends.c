// Calls whose end the kernel tells the waiting call itself, and nobody who waits for an event:
// senders and receivers when a socket is shut down, calls that fail at once for what they are
// asked, and epoll instances that become the kernel's.
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>

#include "preload.h"

static char g_bytes[1 << 20];

struct shut {
  int fd, how, after_ms;
};
static void* shuts_later(void* argument) {
  struct shut* s = argument;
  sleep_ms(s->after_ms);
  shutdown(s->fd, s->how);  // of a UDP socket without a peer: ENOTCONN, and shut all the same
  return NULL;
}

// ---- senders

static void* sends_until_shut(void* argument) {
  int fd = *(int*)argument;
  long sent = 0;
  for (;;) {
    long r = send(fd, g_bytes, sizeof g_bytes, MSG_NOSIGNAL);
    if (r < 0) break;
    sent += r;
  }
  CHECK(errno == EPIPE && sent > 0);
  struct iovec two[2] = {{g_bytes, 10}, {g_bytes, 10}};
  struct msghdr message;
  memset(&message, 0, sizeof message);
  message.msg_iov = two;
  message.msg_iovlen = 2;
  CHECK(sendmsg(fd, &message, MSG_NOSIGNAL) == -1 && errno == EPIPE);
  return NULL;
}
static void local_senders(void) {
  for (int own = 0; own < 2; ++own) {
    int pair[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    struct shut s = {pair[own ? 0 : 1], own ? SHUT_WR : SHUT_RD, own ? 480 : 60};
    pthread_t sender = java(sends_until_shut, &pair[0]), other = java(shuts_later, &s);
    join(other);
    struct timespec shut = started();
    join(sender);
    // At once (plain threads: also of the other end's). Who looks by himself does at 775 ms next.
    CHECK(!own || ms_since(&shut) < 150);
    close(pair[0]);
    close(pair[1]);
  }
}

// ---- receivers of datagrams

enum call { kRecv, kRecvmsg, kRecvmmsg, kRead };
struct receiver {
  int fd;
  enum call call;
};
static void* receives_until_shut(void* argument) {
  struct receiver* r = argument;
  char bytes[100];
  struct iovec one = {bytes, sizeof bytes};
  struct mmsghdr message;
  for (int i = 0; i < 2; ++i) {  // and the next one ends at once
    memset(&message, 0, sizeof message);
    message.msg_hdr.msg_iov = &one;
    message.msg_hdr.msg_iovlen = 1;
    switch (r->call) {
      case kRecv:
        CHECK(recv(r->fd, bytes, sizeof bytes, 0) == 0);
        break;
      case kRecvmsg:
        CHECK(recvmsg(r->fd, &message.msg_hdr, 0) == 0);
        break;
      case kRecvmmsg:
        CHECK(recvmmsg(r->fd, &message, 1, 0, NULL) == 1 && message.msg_len == 0);
        break;
      case kRead:
        CHECK(read(r->fd, bytes, sizeof bytes) == 0);
        break;
    }
  }
  return NULL;
}
static int datagrams(int family, int peer[1]) {
  peer[0] = -1;
  if (family == AF_UNIX) {
    int pair[2];
    CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0);
    peer[0] = pair[1];
    return pair[0];
  }
  int fd = socket(AF_INET, SOCK_DGRAM, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  CHECK(fd >= 0 && bind(fd, (struct sockaddr*)&address, sizeof address) == 0);
  return fd;
}
static void receivers(void) {
  for (int family = AF_UNIX; family <= AF_INET; ++family)
    for (enum call call = kRecv; call <= kRead; ++call) {
      int peer;
      struct receiver r = {datagrams(family, &peer), call};
      struct shut s = {r.fd, SHUT_RDWR, 60};
      pthread_t receiver = java(receives_until_shut, &r), other = java(shuts_later, &s);
      join(receiver);
      join(other);
      close(r.fd);
      if (peer >= 0) close(peer);
    }
}

// ---- refused at once

static void* refused(void* unused) {
  char bytes[4096];
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  CHECK(listen(listener, 5) == 0);
  CHECK(accept4(listener, NULL, NULL, 1) == -1 && errno == EINVAL);
  int timer = timerfd_create(CLOCK_MONOTONIC, 0), epoll = epoll_create1(0), event = eventfd(0, 0);
  CHECK(write(timer, bytes, 8) == -1 && errno == EINVAL);
  CHECK(read(epoll, bytes, sizeof bytes) == -1 && errno == EINVAL);
  CHECK(read(event, bytes, 0) == -1 && errno == EINVAL);
  int datagram = socket(AF_INET, SOCK_DGRAM, 0);
  struct mmsghdr message;
  memset(&message, 0, sizeof message);
  struct timespec past = {-1, 0};
  CHECK(recvmmsg(datagram, &message, 1, 0, &past) == -1 && errno == EINVAL);
  struct pollfd* volatile none = NULL;
  CHECK(poll(none, 1, 50) == -1 && errno == EFAULT);
  CHECK(ppoll(none, 1, &(struct timespec){0, 50000000}, NULL) == -1 && errno == EFAULT);
  CHECK(poll(none, 0, 5) == 0);

  // Nothing to send, on a socket that is full.
  int pair[2], file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && file >= 0);
  while (send(pair[0], g_bytes, sizeof g_bytes, MSG_DONTWAIT) > 0) {
  }
  CHECK(sendfile(pair[0], file, NULL, 0) == 0);

  // No bytes: writev does nothing, write sends an empty datagram.
  int two[2];
  CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, two) == 0);
  struct iovec empty[2] = {{bytes, 0}, {bytes, 0}};
  CHECK(writev(two[0], empty, 2) == 0 && writev(two[0], empty, 1) == 0);
  CHECK(recv(two[1], bytes, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN);
  CHECK(write(two[0], bytes, 0) == 0 && recv(two[1], bytes, 1, MSG_DONTWAIT) == 0);
  close(two[0]);
  close(two[1]);
  const int all[] = {listener, timer, epoll, event, datagram, pair[0], pair[1], file};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) close(all[i]);
  return unused;
}

// ---- epoll instances in others, or polled

static int g_ready[2], g_epoll;

static int instance(int member) {
  int epoll = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event = {.events = EPOLLIN, .data = {.fd = member}};
  CHECK(epoll >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, member, &event) == 0);
  return epoll;
}
static void* adds_later(void* unused) {
  sleep_ms(60);
  struct epoll_event event = {.events = EPOLLIN};
  CHECK(epoll_ctl(g_epoll, EPOLL_CTL_ADD, g_ready[0], &event) == 0);
  return unused;
}
static void* nested(void* unused) {
  struct epoll_event event;
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, g_ready) == 0);
  // Polled before it has an entry; the first comes while it is.
  g_epoll = epoll_create1(EPOLL_CLOEXEC);
  pthread_t other = java(adds_later, NULL);
  CHECK(write(g_ready[1], "x", 1) == 1);
  struct pollfd p = {g_epoll, POLLIN, 0};
  CHECK(poll(&p, 1, 10000) == 1);
  join(other);
  close(g_epoll);
  // A new one in one that is the kernel's already, for having been polled or been there at a fork.
  int quiet[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, quiet) == 0);
  for (int forks = 0; forks < 2; ++forks) {
    int outer = instance(quiet[0]);
    p.fd = outer;
    if (forks) {
      pid_t child = fork();
      if (child == 0) _exit(0);
      CHECK(waitpid(child, NULL, 0) == child);
    } else {
      CHECK(poll(&p, 1, 0) == 0);
    }
    int inner = instance(g_ready[0]);
    event.events = EPOLLIN;
    CHECK(epoll_ctl(outer, EPOLL_CTL_ADD, inner, &event) == 0);
    CHECK(epoll_wait(outer, &event, 1, 10000) == 1);
    close(inner);
    close(outer);
  }
  return unused;
}

// Entries of both kinds: with room for one event each of two that are always ready comes.
static void* mixed(void* unused) {
  int mine[2], shared[2], epoll = epoll_create1(EPOLL_CLOEXEC);
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, mine) == 0);
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, shared) == 0);
  int copy = dup(shared[0]);
  for (int i = 0; i < 2; ++i) {
    struct epoll_event event = {.events = EPOLLIN, .data = {.fd = i}};
    CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, i == 0 ? mine[0] : shared[0], &event) == 0);
    CHECK(write(i == 0 ? mine[1] : shared[1], "x", 1) == 1);
  }
  for (int timeout = 0; timeout <= 10000; timeout += 10000) {
    int came[2] = {0, 0};
    for (int i = 0; i < 20; ++i) {
      struct epoll_event event;
      CHECK(epoll_wait(epoll, &event, 1, timeout) == 1);
      ++came[event.data.fd];
    }
    CHECK(came[0] > 0 && came[1] > 0);
  }
  const int all[] = {mine[0], mine[1], shared[0], shared[1], copy, epoll};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) close(all[i]);
  return unused;
}

// ---- a call that waits goes on to do so when O_NONBLOCK is set, and its number closed

struct reader {
  int fd;
  atomic_int begun, over;
  long result;
};
static void waits(struct reader* r) {
  while (!r->begun) sleep_ms(1);
  sleep_ms(50);
}
static void* reads(void* argument) {
  struct reader* r = argument;
  char c;
  r->begun = 1;
  r->result = read(r->fd, &c, 1);
  r->over = 1;
  return NULL;
}
static void* stays_blocking(void* unused) {
  for (int shared = 0; shared < 2; ++shared) {
    int pair[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    int copy = shared ? dup(pair[0]) : -1;
    struct reader r = {.fd = pair[0]};
    pthread_t thread = java(reads, &r);
    waits(&r);
    CHECK(fcntl(pair[0], F_SETFL, O_NONBLOCK) == 0);
    close(pair[0]);
    sleep_ms(50);
    CHECK(!r.over);
    CHECK(write(pair[1], "x", 1) == 1);
    join(thread);
    CHECK(r.result == 1);
    close(pair[1]);
    if (shared) close(copy);
  }
  return unused;
}

// ... and an acceptor that is shut down then ends, on a local socket too
static void* accepts(void* argument) {
  struct reader* r = argument;
  r->begun = 1;
  r->result = accept(r->fd, NULL, NULL) == -1 ? errno : 0;
  r->over = 1;
  return NULL;
}
static void acceptors(void) {
  struct sockaddr_un any = {.sun_family = AF_UNIX};
  int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  CHECK(bind(listener, (struct sockaddr*)&any, sizeof any.sun_family) == 0);
  CHECK(listen(listener, 1) == 0);
  struct reader r = {.fd = listener};
  pthread_t thread = java(accepts, &r);
  waits(&r);
  CHECK(fcntl(listener, F_SETFL, O_NONBLOCK) == 0);
  CHECK(shutdown(listener, SHUT_RDWR) == 0);
  for (int i = 0; i < 5000 && !r.over; ++i) sleep_ms(1);
  CHECK(r.over && r.result == EINVAL);
  join(thread);
  close(listener);
}

int main(void) {
  join(java(stays_blocking, NULL));
  acceptors();
  local_senders();
  receivers();
  join(java(refused, NULL));
  join(java(nested, NULL));
  join(java(mixed, NULL));
  return 0;
}
