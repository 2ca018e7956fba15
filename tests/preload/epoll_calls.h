// One epoll instance at a time, and what is asked of it.
#pragma once
#include <fcntl.h>
#include <sys/epoll.h>

#include "preload.h"

static int g_epoll;

static inline int control(int operation, int fd, unsigned events, unsigned long tag) {
  struct epoll_event e = {.events = events, .data = {.u64 = tag}};
  return epoll_ctl(g_epoll, operation, fd, &e);
}
static inline void add(int fd, unsigned events) {
  CHECK(control(EPOLL_CTL_ADD, fd, events, fd) == 0);
}
static inline void modify(int fd, unsigned events) {
  CHECK(control(EPOLL_CTL_MOD, fd, events, fd) == 0);
}
static inline void take_out(int fd) { CHECK(control(EPOLL_CTL_DEL, fd, 0, 0) == 0); }

// The events of the only ready descriptor, which is `fd`; 0: none is ready. With and without a
// wait.
static inline unsigned ready_in(int ms, int fd) {
  struct epoll_event e[4] = {{.events = 0}};
  int n = epoll_wait(g_epoll, e, 4, ms);
  CHECK(n == 0 || n == 1);
  CHECK(n == 0 || e[0].data.u64 == (unsigned long)fd);
  return n == 0 ? 0 : e[0].events;
}
static inline unsigned ready(int fd) { return ready_in(0, fd); }
static inline unsigned becomes_ready(int fd) { return ready_in(5000, fd); }

static inline void nonblocking(int fd) {
  CHECK(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0);
}
static inline void put(int fd) { CHECK(write(fd, "xy", 2) == 2); }
static inline void get(int fd) {
  char c[2];
  CHECK(read(fd, c, 2) == 2);
}
static inline void begin(void) { CHECK((g_epoll = epoll_create1(EPOLL_CLOEXEC)) >= 0); }
static inline void end(int a, int b) {
  close(a), close(b);
  CHECK(ready(-1) == 0);
  CHECK(close(g_epoll) == 0);
}

// main() of a test: `all` on a task, three times.
static inline int three_times(void* (*all)(void*)) {
  alarm(120);
  check_tasks();
  for (int i = 0; i < 3; ++i) join(java(all, NULL));
  puts("ok");
  return 0;
}
