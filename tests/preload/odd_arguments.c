// Calls with arguments that are odd but have an answer in the kernel: nothing to move, too many
// parts, a time limit that is over at once.
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
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

int main(void) {
  join(java(nothing_to_move, NULL));
  join(java(too_much, NULL));
  join(java(a_limit_after_each, NULL));
  shut_down_after_one(AF_UNIX);
  shut_down_after_one(AF_INET);
  join(java(an_error_after_one, NULL));
  join(java(wrong_control, NULL));
  return 0;
}
