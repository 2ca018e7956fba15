// Calls of which the runtime makes several (split_calls.c): one that ends with a part leaves the
// error that ended it to the next one, as the kernel's single call does.
#include <fcntl.h>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "preload.h"
#include "sockets.h"

#define LONG (4 << 20)

static char g_bytes[LONG];

struct transfer {
  int fd;
  long result;
};
static void* sends(void* argument) {
  struct transfer* t = argument;
  t->result = write(t->fd, g_bytes, LONG);
  return NULL;
}

// An error that is told once: not lost because the first of several messages met it.
static void* refused(void* unused) {
  int fd = socket(AF_INET, SOCK_DGRAM, 0), gone = socket(AF_INET, SOCK_DGRAM, 0);
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t length = sizeof a;
  CHECK(bind(gone, (struct sockaddr*)&a, sizeof a) == 0);
  CHECK(getsockname(gone, (struct sockaddr*)&a, &length) == 0 && close(gone) == 0);
  CHECK(connect(fd, (struct sockaddr*)&a, sizeof a) == 0 && send(fd, "x", 1, 0) == 1);
  struct pollfd p = {fd, 0, 0};
  CHECK(poll(&p, 1, 10000) == 1);
  struct iovec part = {g_bytes, 1};
  struct mmsghdr two[2];
  memset(two, 0, sizeof two);
  for (int i = 0; i < 2; ++i) {
    two[i].msg_hdr.msg_iov = &part;
    two[i].msg_hdr.msg_iovlen = 1;
  }
  CHECK(sendmmsg(fd, two, 2, 0) == -1 && errno == ECONNREFUSED);
  close(fd);
  return unused;
}

static void reset(int fd) {
  struct linger at_once = {1, 0};
  CHECK(setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) == 0 && close(fd) == 0);
}
// TCP that never takes LONG bytes before some are read.
static void small_pair(int* ends) {
  int size = 64 << 10;
  tcp_pair(ends);
  CHECK(setsockopt(ends[0], SOL_SOCKET, SO_RCVBUF, &size, sizeof size) == 0);
  CHECK(setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof size) == 0);
}
// Some of what the other end sends is here.
static void await_part(int fd) {
  char byte;
  CHECK(recv(fd, &byte, 1, MSG_PEEK) == 1);
}
static void* sends_or_says(void* argument) {
  struct transfer* t = argument;
  t->result = send(t->fd, g_bytes, 100, 0);
  if (t->result < 0) t->result = -errno;
  return NULL;
}
static void* leaves_errors(void* unused) {
  int pair[2];
  // Bytes and a reset: what there is of as many as asked for, then the error, not the end.
  tcp_pair(pair);
  CHECK(write(pair[1], "0123456789", 10) == 10);
  reset(pair[1]);
  char bytes[20];
  CHECK(recv(pair[0], bytes, sizeof bytes, MSG_WAITALL) == 10);
  CHECK(recv(pair[0], bytes, sizeof bytes, 0) == -1 && errno == ECONNRESET);
  close(pair[0]);
  // The peer has closed, and answers the first part by a reset.
  for (int message = 0; message < 2; ++message) {
    tcp_pair(pair);
    int size = 50000;
    CHECK(setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof size) == 0);
    close(pair[1]);
    struct iovec part = {g_bytes, LONG};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
    long r = message ? sendmsg(pair[0], &m, 0) : send(pair[0], g_bytes, LONG, 0);
    CHECK(r > 0 && r < LONG);
    struct pollfd p = {pair[0], POLLOUT, 0};
    CHECK(poll(&p, 1, 0) == 1 && (p.revents & POLLERR) != 0);
    close(pair[0]);
  }
  // Local: that call has taken it.
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  struct transfer sending = {pair[0], 0};
  pthread_t sender = java(sends, &sending);
  for (struct pollfd p = {pair[0], POLLOUT, 0}; poll(&p, 1, 0) != 0;) sched_yield();
  sleep_ms(50);
  close(pair[1]);
  join(sender);
  CHECK(sending.result > 0 && sending.result < LONG);
  CHECK(recv(pair[0], bytes, sizeof bytes, 0) == 0);
  close(pair[0]);
  // One that waits for its first byte says it; EPIPE if the close came before it waited.
  for (int tries = 0; tries < 5; ++tries) {
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    for (int size = 4096; size > 0; size /= 2)
      while (send(pair[0], g_bytes, size, MSG_DONTWAIT) > 0) {
      }
    sending = (struct transfer){pair[0], 0};
    sender = java(sends_or_says, &sending);
    sleep_ms(50 << tries);
    close(pair[1]);
    join(sender);
    close(pair[0]);
    if (sending.result == -ECONNRESET) break;
  }
  CHECK(sending.result == -ECONNRESET);
  return unused;
}

// Who has sent a part when his own end is shut down gets no SIGPIPE for it.
static atomic_int g_pipes;
static void counts_pipes(int signal) {
  (void)signal;
  ++g_pipes;
}
static void shut_after_a_part(void) {
  signal(SIGPIPE, counts_pipes);
  for (int local = 0; local < 2; ++local) {
    int ends[2];
    if (local)
      CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    else
      small_pair(ends);
    struct transfer t = {ends[1], 0};
    pthread_t writer = java(sends, &t);
    await_part(ends[0]), sleep_ms(50);
    CHECK(shutdown(ends[1], SHUT_WR) == 0);
    join(writer);
    CHECK(t.result > 0 && t.result < LONG && g_pipes == 0);
    close(ends[0]), close(ends[1]);
  }
  signal(SIGPIPE, SIG_IGN);
}

// A sendmmsg ends with the message of which only a part was sent.
static atomic_int g_over;
static void* sends_two(void* argument) {
  struct transfer* t = argument;
  struct iovec parts[2] = {{g_bytes, LONG}, {g_bytes, 5}};
  struct mmsghdr both[2] = {{.msg_hdr = {.msg_iov = &parts[0], .msg_iovlen = 1}},
                            {.msg_hdr = {.msg_iov = &parts[1], .msg_iovlen = 1}}};
  t->result = sendmmsg(t->fd, both, 2, 0);
  CHECK(both[0].msg_len > 0 && both[0].msg_len < LONG);
  g_over = 1;
  return NULL;
}
static void a_part_of_the_first(void) {
  struct sigaction action = {.sa_handler = counts_pipes};
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  int ends[2];
  small_pair(ends);
  struct transfer t = {ends[1], 0};
  pthread_t writer = java(sends_two, &t);
  await_part(ends[0]), sleep_ms(100);
  CHECK(pthread_kill(writer, SIGUSR1) == 0);
  for (int i = 0; i < 5000 && !g_over; ++i) sleep_ms(1);
  CHECK(g_over && t.result == 1);
  join(writer);
  close(ends[0]), close(ends[1]);
}

// A send that connects ends with the connection's error, and leaves it to nobody.
static void* connects_late(void* unused) {
  int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  CHECK(setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &on, sizeof on) == 0);
  struct sockaddr_in nobody = {.sin_family = AF_INET, .sin_port = htons(9)};
  nobody.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  CHECK(connect(fd, (struct sockaddr*)&nobody, sizeof nobody) == 0);
  CHECK(send(fd, "hello", 5, 0) == -1 && errno == ECONNREFUSED);
  CHECK(send(fd, "hello", 5, 0) == -1 && errno == EPIPE);
  close(fd);
  return unused;
}
// What queues beside the bytes, with POLLERR, is no error: it ends no call.
static void* reads_all(void* fd) {
  char bytes[65536];
  long n = 0, r;
  sleep_ms(50);
  while ((r = read((int)(long)fd, bytes, sizeof bytes)) > 0) n += r;
  return (void*)n;
}
static void* writes_pairs(void* fd) {
  for (int i = 0; i < 5; ++i, sleep_ms(20)) CHECK(write((int)(long)fd, "xy", 2) == 2);
  return NULL;
}
static void* has_stamps(void* unused) {
  int pair[2], stamps = SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE;
  tcp_pair(pair);
  CHECK(setsockopt(pair[0], SOL_SOCKET, SO_TIMESTAMPING, &stamps, sizeof stamps) == 0);
  char bytes[10];
  CHECK(write(pair[0], "x", 1) == 1 && read(pair[1], bytes, 1) == 1);
  struct pollfd p = {pair[0], 0, 0};
  CHECK(poll(&p, 1, 2000) == 1 && p.revents == POLLERR);
  pthread_t other = java(writes_pairs, (void*)(long)pair[1]);
  CHECK(recv(pair[0], bytes, sizeof bytes, MSG_WAITALL) == sizeof bytes);
  join(other);
  other = java(reads_all, (void*)(long)pair[1]);
  CHECK(write(pair[0], g_bytes, LONG) == LONG && shutdown(pair[0], SHUT_WR) == 0);
  void* got;
  CHECK(pthread_join(other, &got) == 0 && (long)got == LONG);
  close(pair[0]), close(pair[1]);
  return unused;
}

// Sends without a copy are numbered by the kernel, each call once, however long it waits.
static void* counts_its_sends(void* unused) {
  int pair[2], on = 1;
  tcp_pair(pair);
  if (setsockopt(pair[0], SOL_SOCKET, SO_ZEROCOPY, &on, sizeof on) != 0) return unused;
  pthread_t other = java(reads_all, (void*)(long)pair[1]);
  CHECK(send(pair[0], g_bytes, LONG, MSG_ZEROCOPY) == LONG);
  CHECK(send(pair[0], g_bytes, 100000, MSG_ZEROCOPY) == 100000 && shutdown(pair[0], SHUT_WR) == 0);
  join(other);
  for (int last = -1; last != 1; sleep_ms(1)) {
    char control[128];
    struct msghdr m = {.msg_control = control, .msg_controllen = sizeof control};
    if (recvmsg(pair[0], &m, MSG_ERRQUEUE) < 0) continue;
    struct sock_extended_err* told = (void*)CMSG_DATA(CMSG_FIRSTHDR(&m));
    last = (int)told->ee_data;
    CHECK(told->ee_origin == SO_EE_ORIGIN_ZEROCOPY && last <= 1);
  }
  close(pair[0]), close(pair[1]);
  return unused;
}

// In a network of our own, where nobody has to have met the peer before. False: not to be had.
static int own_network(void) {
  if (unshare(CLONE_NEWNET) != 0) return 0;
  int fast = open("/proc/sys/net/ipv4/tcp_fastopen", O_WRONLY), fd = socket(AF_INET, SOCK_DGRAM, 0);
  struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};
  CHECK(ioctl(fd, SIOCSIFFLAGS, &lo) == 0);  // for all that follows
  int there = fast >= 0 && write(fast, "5", 1) == 1;
  close(fast), close(fd);
  return there;
}

int main(void) {
  signal(SIGPIPE, SIG_IGN);
  // Before there is another thread.
  if (own_network()) join(java(connects_late, NULL));
  join(java(refused, NULL));
  join(java(leaves_errors, NULL));
  join(java(has_stamps, NULL));
  join(java(counts_its_sends, NULL));
  shut_after_a_part();
  a_part_of_the_first();
  return 0;
}
