// Calls with arguments that are odd but have an answer in the kernel: nothing to move, too many
// parts, a time limit that is over at once.
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "preload.h"
#include "sockets.h"

#define FAILS(error, call)   \
  do {                       \
    errno = 0;               \
    CHECK((call) == -1);     \
    CHECK(errno == (error)); \
  } while (0)

static char g_bytes[4][8];
static struct iovec g_parts[4];
static struct mmsghdr g_messages[4];
static void prepare(void) {
  memset(g_messages, 0, sizeof g_messages);
  for (int i = 0; i < 4; ++i) {
    g_parts[i] = (struct iovec){g_bytes[i], 3};
    g_messages[i].msg_hdr.msg_iov = &g_parts[i];
    g_messages[i].msg_hdr.msg_iovlen = 1;
    g_messages[i].msg_len = 99;
  }
}

static void* nothing_to_move(void* unused) {
  uint64_t count = 1;
  struct iovec none = {&count, 0}, all = {&count, sizeof count};
  int event = eventfd(0, 0);
  CHECK(writev(event, &none, 1) == 0 && readv(event, &none, 1) == 0);
  FAILS(EINVAL, write(event, &count, 0));
  CHECK(writev(event, &all, 1) == 8);
  FAILS(EINVAL, read(event, &count, 0));
  FAILS(EBADF, writev(-1, &none, 1));
  close(event);
  int two[2];
  CHECK(pipe(two) == 0);
  CHECK(readv(two[0], &none, 1) == 0 && writev(two[1], &none, 1) == 0);
  FAILS(EBADF, writev(two[0], &none, 1));
  prepare();
  FAILS(EBADF, sendmmsg(-1, g_messages, 0, 0));
  FAILS(ENOTSOCK, sendmmsg(two[1], g_messages, 0, 0));
  close(two[0]), close(two[1]);
  return unused;
}

static void* too_much(void* unused) {
  int two[2], file = open("/proc/self/exe", O_RDONLY);
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, two) == 0);
  // Of these parts only the first is there.
  struct msghdr m = {.msg_iov = g_parts, .msg_iovlen = 1ul << 40};
  prepare();
  FAILS(EMSGSIZE, sendmsg(two[0], &m, 0));
  FAILS(EMSGSIZE, recvmsg(two[0], &m, 0));
  FAILS(EINVAL, sendfile(two[0], file, NULL, (size_t)-1));
  CHECK(lseek(file, 0, SEEK_CUR) == 0);
  close(two[0]), close(two[1]), close(file);
  return unused;
}

// A single part of a length that is none: refused, and nothing is moved.
static void refuse_a_part(int in, int out, int positional) {
  struct iovec v = {g_bytes[0], (size_t)-1};
  struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
  FAILS(EINVAL, readv(in, &v, 1));
  FAILS(EINVAL, writev(out, &v, 1));
  if (positional) {
    FAILS(EINVAL, preadv(in, &v, 1, 0));
    FAILS(EINVAL, pwritev(out, &v, 1, 0));
  } else if (in == out) {
    FAILS(EINVAL, recvmsg(in, &m, 0));
    FAILS(EINVAL, sendmsg(out, &m, 0));
  }
}
static void* a_part_too_long(void* unused) {
  int two[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, two) == 0 && write(two[1], "x", 1) == 1);
  refuse_a_part(two[0], two[0], 0);
  CHECK(read(two[0], g_bytes[0], 8) == 1);
  close(two[0]), close(two[1]);
  CHECK(pipe(two) == 0 && write(two[1], "x", 1) == 1);
  refuse_a_part(two[0], two[1], 0);
  CHECK(read(two[0], g_bytes[0], 8) == 1);
  close(two[0]), close(two[1]);
  FILE* file = tmpfile();
  CHECK(file != NULL && write(fileno(file), "x", 1) == 1);
  refuse_a_part(fileno(file), fileno(file), 1);
  fclose(file);
  return unused;
}

static void* a_limit_after_each(void* unused) {
  int two[2];
  CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, two) == 0);
  prepare();
  CHECK(sendmmsg(two[0], g_messages, 4, 0) == 4);
  struct timespec over = {0, 0};
  CHECK(recvmmsg(two[1], g_messages, 4, 0, &over) == 1);
  CHECK(over.tv_sec == 0 && over.tv_nsec == 0);
  struct timespec ample = {100, 0};
  CHECK(recvmmsg(two[1], g_messages, 3, 0, &ample) == 3);
  CHECK(ample.tv_sec == 99 && ample.tv_nsec > 0);
  close(two[0]), close(two[1]);
  return unused;
}

// One message, then the end of reception: the rest are messages without a byte.
static int g_socket;
static volatile long g_received;
static void* receives(void* unused) {
  g_received = -2;
  g_received = recvmmsg(g_socket, g_messages, 4, 0, NULL);
  return unused;
}
static void shut_down_after_one(int domain) {
  int sender;
  if (domain == AF_UNIX) {
    int two[2];
    CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, two) == 0);
    g_socket = two[0], sender = two[1];
  } else {
    struct sockaddr_in own = {.sin_family = AF_INET};
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof own;
    sender = g_socket = socket(AF_INET, SOCK_DGRAM, 0);
    CHECK(bind(g_socket, (struct sockaddr*)&own, length) == 0);
    CHECK(getsockname(g_socket, (struct sockaddr*)&own, &length) == 0);
    CHECK(connect(g_socket, (struct sockaddr*)&own, length) == 0);
  }
  prepare();
  pthread_t thread = java(receives, NULL);
  sleep_ms(50);
  CHECK(send(sender, "abc", 3, 0) == 3);
  sleep_ms(50);
  CHECK(shutdown(g_socket, SHUT_RD) == 0);
  join(thread);
  CHECK(g_received == 4 && g_messages[0].msg_len == 3);
  CHECK(g_messages[1].msg_len == 0 && g_messages[3].msg_len == 0);
  if (sender != g_socket) close(sender);
  close(g_socket);
}

// It is for the next call, whose first it is.
static void* an_error_after_one(void* unused) {
  struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  struct sockaddr_in there = here;
  socklen_t length = sizeof here;
  g_socket = socket(AF_INET, SOCK_DGRAM, 0);
  int peer = socket(AF_INET, SOCK_DGRAM, 0);
  CHECK(bind(g_socket, (struct sockaddr*)&here, length) == 0 &&
        getsockname(g_socket, (struct sockaddr*)&here, &length) == 0);
  CHECK(bind(peer, (struct sockaddr*)&there, length) == 0 &&
        getsockname(peer, (struct sockaddr*)&there, &length) == 0);
  CHECK(connect(g_socket, (struct sockaddr*)&there, length) == 0);
  g_received = 0;
  prepare();
  pthread_t receiver = java(receives, NULL);
  sleep_ms(50);
  CHECK(sendto(peer, "abc", 3, 0, (struct sockaddr*)&here, length) == 3);
  for (int left = 1; left != 0; sleep_ms(1)) CHECK(ioctl(g_socket, FIONREAD, &left) == 0);
  sleep_ms(50);
  CHECK(g_received == -2 && close(peer) == 0);
  CHECK(send(g_socket, "abc", 3, 0) == 3);  // refused
  join(receiver);
  CHECK(g_received == 1 && g_messages[0].msg_len == 3);
  FAILS(ECONNREFUSED, recv(g_socket, g_bytes, 3, MSG_DONTWAIT));
  close(g_socket);
  return unused;
}

// Of what goes along with a message the length is wrong.
static void* wrong_control(void* unused) {
  int two[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, two) == 0);
  const size_t lengths[] = {0, 8, CMSG_LEN(sizeof(int)) + 1, 1ul << 40};
  for (int i = 0; i < 4; ++i) {
    union {
      struct cmsghdr header;
      char bytes[CMSG_LEN(sizeof(int))];
    } control = {.header = {lengths[i], SOL_SOCKET, SCM_RIGHTS}};
    prepare();
    g_messages[0].msg_hdr.msg_control = &control;
    g_messages[0].msg_hdr.msg_controllen = CMSG_LEN(sizeof(int));
    FAILS(EINVAL, sendmsg(two[0], &g_messages[0].msg_hdr, 0));
  }
  close(two[0]), close(two[1]);
  return unused;
}

// More descriptors than there can be are not looked at; their number has 32 bits.
static void* too_many_to_poll(void* unused) {
  struct rlimit limit, less;
  CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  struct pollfd few[4] = {{-1, POLLIN, 0}, {-1, POLLIN, 0}, {-1, POLLIN, 0}, {-1, POLLIN, 0}};
  struct pollfd* volatile first = few, * volatile null = NULL;
  struct timespec soon = {0, 1000000};
  sigset_t none;
  sigemptyset(&none);
  const nfds_t numbers[] = {limit.rlim_cur + 1, 1ul << 30, 1ul << 31, ~0ul};
  for (int i = 0; i < 4; ++i) {
    FAILS(EINVAL, poll(first, numbers[i], 1));
    FAILS(EINVAL, poll(first, numbers[i], 0));
    FAILS(EINVAL, poll(null, numbers[i], 1));
    FAILS(EINVAL, ppoll(first, numbers[i], &soon, NULL));
    FAILS(EINVAL, ppoll(first, numbers[i], &soon, &none));
  }
  CHECK(poll(first, 1ul << 32, 1) == 0 && poll(first, (1ul << 32) + 4, 1) == 0);
  CHECK(poll(null, 1ul << 32, 1) == 0 && ppoll(first, (1ul << 32) + 4, &soon, NULL) == 0);
  struct pollfd* many = malloc(2000 * sizeof *many);
  for (int i = 0; i < 2000; ++i) many[i] = few[0];
  CHECK(limit.rlim_cur < 2000 || poll(many, 2000, 1) == 0);
  less = limit, less.rlim_cur = 1500;
  CHECK(setrlimit(RLIMIT_NOFILE, &less) == 0);
  FAILS(EINVAL, poll(many, 2000, 1));
  CHECK(poll(many, 1500, 1) == 0 && setrlimit(RLIMIT_NOFILE, &limit) == 0);
  free(many);
  return unused;
}

// A limit below zero: no wait, until another one is set, or the number has another file.
static char g_much[1 << 20];
static void limit(int fd, int option, long seconds, long microseconds) {
  struct timeval t = {seconds, microseconds};
  CHECK(setsockopt(fd, SOL_SOCKET, option, &t, sizeof t) == 0);
}
static void* limits_below_zero(void* unused) {
  char c;
  for (int waited_before = 0; waited_before < 2; ++waited_before) {
    int two[2], number;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, two) == 0);
    limit(two[0], SO_RCVTIMEO, 0, 20000);
    if (waited_before) FAILS(EAGAIN, read(two[0], &c, 1));
    limit(two[0], SO_RCVTIMEO, -1, 0);
    struct timespec start = started();
    for (int i = 0; i < 3; ++i)
      FAILS(EAGAIN, i == 1 ? recv(two[0], &c, 1, 0) : read(two[0], &c, 1));
    limit(two[0], SO_SNDTIMEO, -5, 999999);
    while (send(two[0], g_much, sizeof g_much, 0) > 0) {
    }
    CHECK(errno == EAGAIN && ms_since(&start) < 5000);
    pthread_t writer = java(writes_later, (void*)(long)two[1]);
    limit(two[0], SO_RCVTIMEO, 0, 0);
    CHECK(read(two[0], &c, 1) == 1);
    join(writer);
    limit(two[0], SO_RCVTIMEO, -1, 0);
    number = two[0];
    int again = 0;  // the library may have a number for a moment, now, or when that one was made
    do {
      close(two[0]), close(two[1]);
      CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, two) == 0);
    } while (two[0] != number && two[1] != number && ++again < 100);
    if (two[1] == number) two[1] = two[0], two[0] = number;
    writer = java(writes_later, (void*)(long)two[1]);
    CHECK(read(two[0], &c, 1) == 1);
    join(writer);
    close(two[0]), close(two[1]);
  }
  return unused;
}

// Files in the direction that they were not opened for, once it is known that they have no
// RWF_NOWAIT (FIFOs, terminals, pipes that have been spliced): it would never come true.
static void to_and_from(int in, int out) {
  char c;
  CHECK(write(out, "x", 1) == 1 && read(in, &c, 1) == 1);
  FAILS(EBADF, write(in, &c, 1));
  FAILS(EBADF, read(out, &c, 1));
}
static void* wrong_directions(void* unused) {
  int one[2], two[2];
  CHECK(pipe(one) == 0 && pipe(two) == 0 && write(one[1], "x", 1) == 1);
  char c, name[64];
  CHECK(splice(one[0], NULL, two[1], NULL, 1, 0) == 1 && read(two[0], &c, 1) == 1);
  to_and_from(one[0], one[1]), to_and_from(two[0], two[1]);
  close(one[0]), close(one[1]), close(two[0]), close(two[1]);
  snprintf(name, sizeof name, "/tmp/odd_arguments.%d", (int)getpid());
  CHECK(mkfifo(name, 0600) == 0);
  int in = open(name, O_RDONLY | O_NONBLOCK), out = open(name, O_WRONLY);
  CHECK(unlink(name) == 0 && in >= 0 && out >= 0 && fcntl(in, F_SETFL, O_RDONLY) == 0);
  to_and_from(in, out);
  close(in), close(out);
  int master = posix_openpt(O_RDWR | O_NOCTTY);
  CHECK(grantpt(master) == 0 && unlockpt(master) == 0);
  CHECK(ptsname_r(master, name, sizeof name) == 0);
  CHECK((out = open(name, O_WRONLY | O_NOCTTY)) >= 0);
  FAILS(EBADF, read(out, &c, 1));
  close(out), close(master);
  return unused;
}

int main(void) {
  alarm(120);  // ends who waits for ever
  join(java(wrong_directions, NULL));
  join(java(nothing_to_move, NULL));
  join(java(too_much, NULL));
  join(java(a_part_too_long, NULL));
  join(java(a_limit_after_each, NULL));
  join(java(too_many_to_poll, NULL));
  join(java(limits_below_zero, NULL));
  shut_down_after_one(AF_UNIX);
  shut_down_after_one(AF_INET);
  join(java(an_error_after_one, NULL));
  join(java(wrong_control, NULL));
  return 0;
}
