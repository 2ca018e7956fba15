// A light back end for the server benchmarks: bench_backend [PROCESSES]. Each process (one, if not
// told) has one thread and one epoll instance; they share the listener. Every 64 bytes are a
// request; they come back with the big-endian number in front one higher. Listens on a free port of
// loopback, prints "port=N", ends when its standard input ends.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { kSize = 64, kEvents = 256 };

// What has come of a request that is not whole yet.
struct Connection {
  int fd;
  size_t have;
  unsigned char bytes[kSize];
};

static void fail(const char* what) {
  perror(what);
  exit(1);
}

static void watch(int epoll, int fd, void* data) {
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = data};
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) fail("epoll_ctl");
}

static void take(int epoll, int listener) {
  // Another process may have been faster: the listener does not block.
  int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0) return;
  int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  struct Connection* c = calloc(1, sizeof *c);
  if (c == NULL) fail("calloc");
  c->fd = fd;
  watch(epoll, fd, c);
}

// Returns 0 when the connection is over.
static int serve(struct Connection* c) {
  ssize_t n = recv(c->fd, c->bytes + c->have, kSize - c->have, 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return 1;
  if (n <= 0) return 0;
  c->have += (size_t)n;
  if (c->have < kSize) return 1;
  c->have = 0;
  uint64_t number;
  memcpy(&number, c->bytes, sizeof number);
  number = htobe64(be64toh(number) + 1);
  memcpy(c->bytes, &number, sizeof number);
  // One request at a time is under way, so the socket's buffer has room.
  return send(c->fd, c->bytes, kSize, MSG_NOSIGNAL) == kSize;
}

int main(int argc, char** argv) {
  int processes = argc == 2 ? atoi(argv[1]) : 1;
  if (argc > 2 || processes < 1 || processes > 1024) {
    fprintf(stderr, "bench_backend: accepted: [PROCESSES], 1 to 1024\n");
    return 2;
  }
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  if (listener < 0 || bind(listener, (struct sockaddr*)&address, length) != 0 ||
      listen(listener, 4096) != 0 ||
      getsockname(listener, (struct sockaddr*)&address, &length) != 0)
    fail("listener");
  printf("port=%d\n", ntohs(address.sin_port));
  fflush(stdout);
  for (int i = 1; i < processes; ++i) {
    pid_t child = fork();
    if (child < 0) fail("fork");
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      break;
    }
  }
  int epoll = epoll_create1(EPOLL_CLOEXEC);
  if (epoll < 0) fail("epoll_create1");
  watch(epoll, listener, &listener);
  watch(epoll, 0, NULL);
  for (;;) {
    struct epoll_event events[kEvents];
    int n = epoll_wait(epoll, events, kEvents, -1);
    for (int i = 0; i < n; ++i) {
      void* data = events[i].data.ptr;
      char byte;
      if (data == NULL) {
        if (read(0, &byte, 1) <= 0) return 0;
      } else if (data == &listener) {
        take(epoll, listener);
      } else if (!serve(data)) {
        struct Connection* c = data;
        close(c->fd);
        free(c);
      }
    }
  }
}
