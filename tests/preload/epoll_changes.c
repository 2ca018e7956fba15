// What becomes of an epoll instance and its entries when numbers are closed and used again,
// duplicated or forked, and when somebody looks at the instance by other means than a task's
// epoll_wait: from then on it is the kernel's.
#include <poll.h>
#include <sys/select.h>
#include <sys/syscall.h>

#include "epoll_calls.h"
#include "sockets.h"

// What a closed number leaves behind.
static void numbers(void) {
  int a[2], b[2];
  begin(), tcp_pair(a);
  add(a[0], EPOLLIN);
  put(a[1]);
  CHECK(becomes_ready(a[0]) == EPOLLIN);
  int number = a[0];
  CHECK(close(a[0]) == 0 && ready(-1) == 0 && close(a[1]) == 0);
  tcp_pair(b);
  CHECK(b[0] == number);  // the lowest free one
  put(b[1]);
  CHECK(ready_in(20, -1) == 0);
  CHECK(control(EPOLL_CTL_MOD, number, EPOLLIN, 1) == -1 && errno == ENOENT);
  add(b[0], EPOLLIN);
  CHECK(ready(b[0]) == EPOLLIN);
  CHECK(dup2(9999, b[0]) == -1 && errno == EBADF && ready(b[0]) == EPOLLIN);  // nothing happened
  tcp_pair(a);
  CHECK(dup2(a[0], b[0]) == b[0]);  // another file
  CHECK(ready_in(20, -1) == 0 && control(EPOLL_CTL_DEL, b[0], 0, 0) == -1 && errno == ENOENT);
  add(b[0], EPOLLIN);  // has a duplicate
  put(a[1]);
  CHECK(becomes_ready(b[0]) == EPOLLIN);
  CHECK(close(b[0]) == 0 && ready(number) == EPOLLIN);  // the file lives on, and the entry
  close(a[0]), end(a[1], b[1]);

  begin(), tcp_pair(a);
  add(a[0], EPOLLIN | EPOLLET);
  CHECK(ready_in(20, -1) == 0);  // an edge that comes while it is made may be told twice
  put(a[1]);
  CHECK(becomes_ready(a[0]) == EPOLLIN);
  CHECK(dup2(a[0], -1) == -1 && errno == EBADF && ready_in(20, -1) == 0);  // nothing happened
  int copy = dup(a[0]);                                                    // while it is registered
  ready_in(20, a[0]);                                                      // may be told once more
  get(copy), put(a[1]);
  CHECK(becomes_ready(a[0]) == EPOLLIN);
  CHECK(close(a[0]) == 0);
  put(a[1]);
  CHECK(becomes_ready(a[0]) == EPOLLIN);
  close(copy), end(a[1], -1);
}

// An entry with a duplicate first, then one without; the number of the instance is used again.
static void mixed(void) {
  for (int round = 0; round < 3; ++round) {
    int a[2], b[2];
    begin(), tcp_pair(a), tcp_pair(b);
    int copy = dup(a[0]);
    add(a[0], EPOLLIN);
    add(b[0], EPOLLIN);
    CHECK(ready(-1) == 0);
    put(a[1]);
    CHECK(becomes_ready(a[0]) == EPOLLIN);
    get(copy);
    put(b[1]);
    CHECK(becomes_ready(b[0]) == EPOLLIN);
    put(a[1]);
    struct epoll_event both[4];
    CHECK(epoll_wait(g_epoll, both, 4, 1000) == 2 && epoll_wait(g_epoll, both, 1, 1000) == 1);
    get(b[0]), get(a[0]);
    close(copy), close(a[0]), close(a[1]), end(b[0], b[1]);
  }
}

// What waits for the instance by other means.
static void* waits_as_thread(void* fd) {
  CHECK(becomes_ready((int)(long)fd) == EPOLLIN);
  return NULL;
}
static unsigned by_plain_thread(int fd) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, waits_as_thread, (void*)(long)fd) == 0);
  sleep_ms(20), join(java(writes_later, (void*)(long)(fd + 1)));
  return join(thread), EPOLLIN;
}
static unsigned by_poll(int fd) {
  struct pollfd p = {g_epoll, POLLIN, 0};
  CHECK(poll(&p, 1, 0) == 0);
  put(fd + 1);
  CHECK(poll(&p, 1, 5000) == 1 && p.revents == POLLIN);
  return EPOLLIN;
}
static unsigned by_select(int fd) {
  fd_set set;
  FD_ZERO(&set);
  FD_SET(g_epoll, &set);
  put(fd + 1);
  CHECK(select(g_epoll + 1, &set, NULL, NULL, NULL) == 1 && FD_ISSET(g_epoll, &set));
  return EPOLLIN;
}
static unsigned by_another_instance(int fd) {
  int outer = epoll_create1(0);
  struct epoll_event e = {.events = EPOLLIN, .data = {.fd = 7}};
  CHECK(epoll_ctl(outer, EPOLL_CTL_ADD, g_epoll, &e) == 0 && epoll_wait(outer, &e, 1, 0) == 0);
  put(fd + 1);
  CHECK(epoll_wait(outer, &e, 1, 5000) == 1 && e.data.fd == 7 && close(outer) == 0);
  return EPOLLIN;
}
static unsigned by_duplicate(int fd) {
  int inner = g_epoll;
  g_epoll = dup(inner);
  put(fd + 1);
  unsigned events = becomes_ready(fd);
  CHECK(ready(fd) == events && close(g_epoll) == 0);
  g_epoll = inner;
  return events;
}
static unsigned by_mask(int fd) {
  sigset_t none;
  struct epoll_event e = {.events = 0};
  sigemptyset(&none);
  put(fd + 1);
  CHECK(epoll_pwait(g_epoll, &e, 1, 5000, &none) == 1);
  return e.events;
}
static unsigned by_system_call(int fd) {
  struct epoll_event e = {.events = 0};
  put(fd + 1);
  CHECK(syscall(SYS_epoll_pwait, g_epoll, &e, 1, 5000, NULL, 8) == 1);
  return e.events;
}
static void others(void) {
  unsigned (*const ways[])(int) = {by_plain_thread, by_poll, by_select,     by_another_instance,
                                   by_duplicate,    by_mask, by_system_call};
  for (unsigned i = 0; i < sizeof ways / sizeof *ways; ++i) {
    int pair[2], quiet[2];
    begin(), tcp_pair(pair), tcp_pair(quiet);
    CHECK(pair[1] == pair[0] + 1 || dup2(pair[1], pair[0] + 1) == pair[0] + 1);
    add(quiet[0], EPOLLIN);
    add(pair[0], EPOLLIN);
    CHECK(ready(pair[0]) == 0);
    CHECK(ways[i](pair[0]) == EPOLLIN);
    CHECK(becomes_ready(pair[0]) == EPOLLIN);  // a task as well, afterwards
    CHECK(control(EPOLL_CTL_ADD, pair[0], EPOLLIN, 1) == -1 && errno == EEXIST);
    take_out(pair[0]);
    CHECK(ready(pair[0]) == 0);
    put(quiet[1]);
    CHECK(becomes_ready(quiet[0]) == EPOLLIN);
    close(pair[0]), close(pair[1]), close(pair[0] + 1), end(quiet[0], quiet[1]);
  }
}

// A child of fork has the instances in common with its parent, entries of before and after the
// fork.
static void forked(void) {
  int early[2], late[2];
  begin(), tcp_pair(early), tcp_pair(late);
  int empty = epoll_create1(EPOLL_CLOEXEC);
  add(early[0], EPOLLIN);
  CHECK(ready(-1) == 0);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    CHECK(becomes_ready(early[0]) == EPOLLIN);  // what the parent writes
    get(early[0]);
    CHECK(ready(-1) == 0);
    g_epoll = empty;
    CHECK(becomes_ready(late[0]) == EPOLLIN);
    get(late[0]);
    _exit(7);
  }
  int full = g_epoll, status = 0;
  g_epoll = empty, add(late[0], EPOLLIN);
  put(late[1]);
  put(early[1]);
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
  CHECK(ready(-1) == 0);
  put(late[1]);
  CHECK(becomes_ready(late[0]) == EPOLLIN);
  close(late[0]), end(late[1], -1);
  g_epoll = full;
  put(early[1]);
  CHECK(becomes_ready(early[0]) == EPOLLIN);
  close(early[0]), end(early[1], -1);
}

// As it starts, and at the first wait, the runtime has a low number of its own for a moment, and
// all of this goes by numbers: until the lowest free one stays the same.
static void settle(void) {
  int pair[2];
  begin(), tcp_pair(pair);
  add(pair[0], EPOLLIN);
  CHECK(ready_in(20, pair[0]) == 0);
  end(pair[0], pair[1]);
  for (int same = 0, last = -1; same < 20; sleep_ms(5)) {
    int fd = dup(0);
    CHECK(fd >= 0 && close(fd) == 0);
    same = fd == last ? same + 1 : 0;
    last = fd;
  }
}

static void* all(void* unused) {
  settle();
  numbers();
  mixed();
  others();
  forked();
  return unused;
}

int main(void) { return three_times(all); }
