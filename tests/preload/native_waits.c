// What native libraries wait in, besides what the JDK uses: batches of datagrams, EPOLLEXCLUSIVE,
// timerfd, signalfd, descriptors that arrive by SCM_RIGHTS; native_polls.c and ttys.c have more.
// The one who ends the wait is a task as well, so that on one carrier a wait that kept it would
// show only by hand-off.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>

#include "preload.h"

// --- recvmmsg, sendmmsg
static int g_from, g_to;
static void* sends_batches(void* unused) {
  (void)unused;
  char text[3][4] = {"one", "two", "six"};
  struct iovec parts[3];
  struct mmsghdr messages[3];
  memset(messages, 0, sizeof messages);
  for (int i = 0; i < 3; ++i) {
    parts[i] = (struct iovec){text[i], 3};
    messages[i].msg_hdr.msg_iov = &parts[i];
    messages[i].msg_hdr.msg_iovlen = 1;
  }
  sleep_ms(30);
  CHECK(sendmmsg(g_to, messages, 2, 0) == 2);
  sleep_ms(30);
  CHECK(sendmmsg(g_to, messages + 2, 1, 0) == 1);
  return NULL;
}

static int receive(int vlen, int flags, struct timespec* timeout, char text[4][8]) {
  struct iovec parts[4];
  struct mmsghdr messages[4];
  memset(messages, 0, sizeof messages);
  memset(text, 0, 4 * 8);
  for (int i = 0; i < vlen; ++i) {
    parts[i] = (struct iovec){text[i], 8};
    messages[i].msg_hdr.msg_iov = &parts[i];
    messages[i].msg_hdr.msg_iovlen = 1;
  }
  int n = recvmmsg(g_from, messages, (unsigned)vlen, flags, timeout);
  for (int i = 0; i < n; ++i) CHECK(messages[i].msg_len == 3);
  return n;
}

static void* batches(void* unused) {
  (void)unused;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t length = sizeof address;
  g_from = socket(AF_INET, SOCK_DGRAM, 0);
  g_to = socket(AF_INET, SOCK_DGRAM, 0);
  CHECK(bind(g_from, (struct sockaddr*)&address, length) == 0);
  CHECK(getsockname(g_from, (struct sockaddr*)&address, &length) == 0);
  CHECK(connect(g_to, (struct sockaddr*)&address, length) == 0);
  char text[4][8];
  for (int round = 0; round < 3; ++round) {
    pthread_t sender = java(sends_batches, NULL);
    CHECK(receive(3, 0, NULL, text) == 3);  // all that were asked for
    CHECK(strcmp(text[0], "one") == 0 && strcmp(text[2], "six") == 0);
    join(sender);
    sender = java(sends_batches, NULL);
    int n = receive(4, MSG_WAITFORONE, NULL, text);  // what is there after the first
    CHECK(n >= 1 && n <= 3);                         // all, if we came late
    join(sender);
    if (n < 3) CHECK(receive(3 - n, 0, NULL, text) == 3 - n);
    CHECK(receive(4, MSG_DONTWAIT, NULL, text) == -1 && errno == EAGAIN);
  }
  close(g_from);
  close(g_to);
  return NULL;
}

// --- EPOLLEXCLUSIVE: of two that wait for one pipe at least one is woken, and nothing is lost.
static int g_taken, g_pipe[2];
static void* takes(void* unused) {
  (void)unused;
  int epoll = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event = {.events = EPOLLIN | EPOLLEXCLUSIVE};
  CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, g_pipe[0], &event) == 0);
  while (__atomic_load_n(&g_taken, __ATOMIC_SEQ_CST) < 200) {
    if (epoll_pwait(epoll, &event, 1, 20, NULL) == 0) continue;  // the other one has had the last
    char c;
    if (read(g_pipe[0], &c, 1) == 1)
      __atomic_add_fetch(&g_taken, 1, __ATOMIC_SEQ_CST);
    else
      CHECK(errno == EAGAIN);
  }
  close(epoll);
  return NULL;
}
static void* exclusive(void* unused) {
  (void)unused;
  CHECK(pipe2(g_pipe, O_NONBLOCK) == 0);
  pthread_t both[2] = {java(takes, NULL), java(takes, NULL)};
  for (int i = 0; i < 200; ++i) {
    CHECK(write(g_pipe[1], "x", 1) == 1);
    if (i % 50 == 0) sleep_ms(5);
  }
  join(both[0]);
  join(both[1]);
  CHECK(g_taken == 200);
  return NULL;
}

// --- timerfd and signalfd
static void* ticks(void* unused) {
  (void)unused;
  int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  struct itimerspec every = {{0, 10000000}, {0, 30000000}};
  struct timespec start = started();
  CHECK(timerfd_settime(fd, 0, &every, NULL) == 0);
  uint64_t sum = 0, n;
  while (sum < 10) {
    CHECK(read(fd, &n, sizeof n) == sizeof n && n >= 1);
    sum += n;
  }
  CHECK(ms_since(&start) >= 119);
  struct pollfd p = {fd, POLLIN, 0};
  CHECK(poll(&p, 1, 60000) == 1);
  close(fd);
  return NULL;
}
static void* signals_process(void* unused) {
  (void)unused;
  sleep_ms(50);
  CHECK(kill(getpid(), SIGUSR2) == 0);
  return NULL;
}
static void* reads_signals(void* unused) {
  (void)unused;
  sigset_t usr2;
  sigemptyset(&usr2);
  sigaddset(&usr2, SIGUSR2);  // blocked in main, so everywhere
  int fd = signalfd(-1, &usr2, SFD_CLOEXEC);
  for (int i = 0; i < 3; ++i) {
    pthread_t sender = java(signals_process, NULL);
    struct signalfd_siginfo info;
    CHECK(read(fd, &info, sizeof info) == sizeof info && info.ssi_signo == SIGUSR2);
    join(sender);
  }
  close(fd);
  return NULL;
}

// --- a descriptor from elsewhere waits as any other
static int g_pair[2];
static void* passes_on(void* unused) {
  (void)unused;
  int ends[2];
  CHECK(pipe(ends) == 0);
  char c = 'd';
  struct iovec part = {&c, 1};
  union {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
  } control;
  memset(&control, 0, sizeof control);
  struct msghdr message = {.msg_iov = &part,
                           .msg_iovlen = 1,
                           .msg_control = control.bytes,
                           .msg_controllen = sizeof control.bytes};
  struct cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(header), &ends[0], sizeof(int));
  sleep_ms(30);
  CHECK(sendmsg(g_pair[0], &message, 0) == 1);
  close(ends[0]);
  sleep_ms(30);
  CHECK(write(ends[1], "there", 5) == 5);
  close(ends[1]);
  return NULL;
}
static void* receives_it(void* unused) {
  (void)unused;
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, g_pair) == 0);
  for (int i = 0; i < 5; ++i) {
    pthread_t sender = java(passes_on, NULL);
    char c, text[8] = "";
    struct iovec part = {&c, 1};
    union {
      char bytes[CMSG_SPACE(sizeof(int))];
      struct cmsghdr align;
    } control;
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    CHECK(recvmsg(g_pair[1], &message, 0) == 1 && c == 'd');
    int fd = -1;
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
    CHECK(read(fd, text, sizeof text) == 5 && strcmp(text, "there") == 0);
    CHECK(read(fd, text, sizeof text) == 0);
    close(fd);
    join(sender);
  }
  return NULL;
}

int main(void) {
  sigset_t usr2;
  sigemptyset(&usr2);
  sigaddset(&usr2, SIGUSR2);
  CHECK(pthread_sigmask(SIG_BLOCK, &usr2, NULL) == 0);
  check_tasks();
  void* (*const all[])(void*) = {batches, exclusive, ticks, reads_signals, receives_it};
  enum { kAll = sizeof all / sizeof *all };
  for (int i = 0; i < kAll; ++i) join(java(all[i], NULL));
  pthread_t threads[kAll];  // and side by side, but for those who share what is global
  g_taken = 0;
  for (int i = 1; i < kAll; ++i) threads[i] = java(all[i], NULL);
  for (int i = 1; i < kAll; ++i) join(threads[i]);
  puts("ok");
  return 0;
}
