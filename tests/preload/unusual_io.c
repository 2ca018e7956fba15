// Calls on sockets and the like that end in unusual ways: the answer, the error that the next call
// gets, and that a wait waits without computing.
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/select.h>

#include "preload.h"
#include "sockets.h"

static void nothing(int sig) { (void)sig; }

// In a thread of its own; the next call's error besides.
struct call {
  long (*run)(struct call*);
  int fd;
  atomic_int state;  // 1 about to begin, 2 over
  long result, next;
  int error, next_error;
};
static void* calls(void* argument) {
  struct call* c = argument;
  c->state = 1;
  errno = 0;
  c->result = c->run(c);
  c->error = errno;
  c->state = 2;
  return NULL;
}
static pthread_t begin(struct call* c) {
  pthread_t t = java(calls, c);
  while (c->state == 0) sleep_ms(1);
  sleep_ms(100);
  return t;
}

static void close_with_reset(int fd) {
  struct linger now = {1, 0};
  CHECK(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now) == 0 && close(fd) == 0);
}

// ---- a connect that a signal ended is taken up again
static struct sockaddr_in g_full;
static long connects(struct call* c) {
  return connect(c->fd, (struct sockaddr*)&g_full, sizeof g_full);
}
static void connects_again(void) {
  int listener = listening(&g_full, 0), filler[8], fillers = 0;
  struct call first = {connects, socket(AF_INET, SOCK_STREAM, 0), 0, 0, 0, 0, 0};
  // Until the queue is full: a connection is then neither made nor refused.
  for (;; ++fillers) {
    CHECK(fillers < 8);
    filler[fillers] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    connect(filler[fillers], (struct sockaddr*)&g_full, sizeof g_full);
    struct pollfd p = {filler[fillers], POLLOUT, 0};
    if (poll(&p, 1, 200) == 0) break;
  }
  pthread_t t = begin(&first);
  CHECK(pthread_kill(t, SIGUSR1) == 0);
  join(t);
  CHECK(first.result == -1 && first.error == EINTR);
  struct call second = first;
  second.state = 0;
  t = begin(&second);
  CHECK(second.state == 1);  // it waits, instead of saying that there is a connect
  for (int i = 0; i <= fillers; ++i) CHECK(close(accept(listener, NULL, NULL)) == 0);
  join(t);
  CHECK(second.result == 0);
  for (int i = 0; i <= fillers; ++i) close(filler[i]);
  CHECK(close(first.fd) == 0 && close(listener) == 0);
}

// ---- arguments that are wrong are wrong at once
static void refuses(void) {
  int udp = socket(AF_INET, SOCK_DGRAM, 0), pair[2], event = eventfd(0, 0);
  tcp_pair(pair);
  CHECK(accept(udp, NULL, NULL) == -1 && errno == EOPNOTSUPP);
  CHECK(accept(pair[0], NULL, NULL) == -1 && errno == EINVAL);
  uint64_t value = 7;
  CHECK(read(event, &value, 4) == -1 && errno == EINVAL);
  CHECK(write(event, &value, 8) == 8 && read(event, &value, 8) == 8 && value == 7);
  close(udp), close(pair[0]), close(pair[1]), close(event);
  // Too little room, at a counter that has been written to and is empty again.
  uint64_t count = 1;
  event = eventfd(0, 0);
  CHECK(write(event, &count, 8) == 8 && read(event, &count, 8) == 8);
  CHECK(read(event, &count, 4) == -1 && errno == EINVAL);
  close(event);
}
static void* refuses_on_task(void* unused) {
  refuses();
  return unused;
}

// ---- a part is the answer, the error is the next call's
static char g_bytes[32 << 20];
static long sends(struct call* c) {
  long r = send(c->fd, g_bytes, sizeof g_bytes, MSG_NOSIGNAL);
  c->next = send(c->fd, "x", 1, MSG_NOSIGNAL);
  c->next_error = errno;
  return r;
}
static long receives_all(struct call* c) {
  char bytes[100];
  long r = recv(c->fd, bytes, sizeof bytes, MSG_WAITALL);
  c->next = recv(c->fd, bytes, sizeof bytes, 0);
  c->next_error = errno;
  return r;
}
static void resets(void) {
  int pair[2];
  tcp_pair(pair);
  struct call sender = {sends, pair[0], 0, 0, 0, 0, 0};
  pthread_t t = begin(&sender);
  char byte;
  CHECK(recv(pair[1], &byte, 1, 0) == 1 && sender.state == 1);
  sleep_ms(200);
  close_with_reset(pair[1]);
  join(t);
  CHECK(sender.result > 0 && sender.result < (long)sizeof g_bytes);
  CHECK(sender.next == -1 && sender.next_error == ECONNRESET);
  close(pair[0]);

  tcp_pair(pair);
  struct call receiver = {receives_all, pair[0], 0, 0, 0, 0, 0};
  t = begin(&receiver);
  CHECK(send(pair[1], "12345", 5, 0) == 5);
  sleep_ms(200);
  close_with_reset(pair[1]);
  join(t);
  CHECK(receiver.result == 5);
  CHECK(receiver.next == -1 && receiver.next_error == ECONNRESET);
  close(pair[0]);
}

// ---- waits for what a readable descriptor that others have too is not ready for
static long cpu_ms(void) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000 +
         (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1000;
}
static long polls_end(struct call* c) {
  struct pollfd p = {c->fd, POLLRDHUP, 0};
  return poll(&p, 1, -1) == 1 && (p.revents & POLLRDHUP) != 0;
}
static long polls_two(struct call* c) {
  struct pollfd p[2] = {{c->fd, POLLRDHUP, 0}, {c->fd, POLLPRI, 0}};
  return poll(p, 2, -1) >= 1 && (p[0].revents & POLLRDHUP) != 0;
}
static long selects_exception(struct call* c) {
  fd_set set;
  FD_ZERO(&set);
  FD_SET(c->fd, &set);
  struct timeval second = {1, 0};
  return select(c->fd + 1, NULL, NULL, &set, &second);
}
static long peeks_all(struct call* c) {
  char bytes[10];
  return recv(c->fd, bytes, sizeof bytes, MSG_PEEK | MSG_WAITALL);
}
static void waits_for_less(void) {
  long (*kinds[])(struct call*) = {polls_end, polls_two, selects_exception, peeks_all};
  long results[] = {1, 1, 0, 10};
  for (int i = 0; i < 4; ++i) {
    int pair[2];
    if (i == 3)
      tcp_pair(pair);
    else
      CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    int other = dup(pair[0]);
    CHECK(send(pair[1], "12345", 5, 0) == 5);
    struct call c = {kinds[i], other, 0, 0, 0, 0, 0};
    struct timespec start = started();
    pthread_t t = begin(&c);
    long before = cpu_ms();
    sleep_ms(600);
    long used = cpu_ms() - before;
    if (used > 300) fprintf(stderr, "wait %d: %ld ms of processor time in 600 ms\n", i, used);
    int select_is_over = i == 2 && ms_since(&start) >= 1000;  // by its own time-out
    CHECK(used <= 300 && (c.state == 1 || select_is_over));
    if (i == 3) CHECK(send(pair[1], "67890", 5, 0) == 5);
    if (i < 2) CHECK(shutdown(pair[1], SHUT_WR) == 0);
    join(t);
    CHECK(c.result == results[i]);
    close(pair[0]), close(pair[1]), close(other);
  }
}

// What a peek for all has seen is its answer when a signal ends it, and when urgent data comes
// next.
static void peeks_part(void) {
  for (int urgent = 0; urgent < 2; ++urgent) {
    int pair[2];
    tcp_pair(pair);
    CHECK(send(pair[1], "12345", 5, 0) == 5);
    struct call c = {peeks_all, pair[0], 0, 0, 0, 0, 0};
    pthread_t t = begin(&c);
    CHECK(c.state == 1);
    if (urgent)
      CHECK(send(pair[1], "67", 2, MSG_OOB) == 2);
    else
      CHECK(pthread_kill(t, SIGUSR2) == 0);  // restarts what has nothing
    for (int i = 0; i < 1000 && c.state != 2; ++i) sleep_ms(1);
    CHECK(c.state == 2);
    join(t);
    CHECK(c.result == (urgent ? 6 : 5));
    close(pair[0]), close(pair[1]);
  }
}

// A local socket does not wait while it peeks.
static void* peeks_locally(void* unused) {
  int pair[2];
  char bytes[10];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && send(pair[1], "12345", 5, 0) == 5);
  CHECK(recv(pair[0], bytes, sizeof bytes, MSG_PEEK | MSG_WAITALL) == 5);
  close(pair[0]), close(pair[1]);
  return unused;
}

// ---- the last close of a socket lingers, and nobody else waits for that
static atomic_int g_ticks, g_stop;
static void* ticks(void* unused) {
  while (!g_stop) {
    ++g_ticks;
    sleep_ms(10);
  }
  return unused;
}
static long sends_once(struct call* c) { return send(c->fd, g_bytes, sizeof g_bytes, 0); }
static void lingers(void) {
  pthread_t ticker = java(ticks, NULL);
  int pair[2], marker[2];
  tcp_pair(pair);
  CHECK(pipe(marker) == 0);
  struct linger seconds = {1, 3};
  CHECK(setsockopt(pair[0], SOL_SOCKET, SO_LINGER, &seconds, sizeof seconds) == 0);
  struct call sender = {sends_once, pair[0], 0, 0, 0, 0, 0};
  pthread_t t = begin(&sender);
  CHECK(sender.state == 1 && dup2(marker[0], pair[0]) == pair[0]);
  CHECK(pthread_kill(t, SIGUSR1) == 0);
  int before = g_ticks;
  struct timespec start = started();
  sleep_ms(1000);
  int ticked = g_ticks - before;
  if (ticked < 10) fprintf(stderr, "%d ticks in %ld ms\n", ticked, ms_since(&start));
  CHECK(ticked >= 10);
  close(pair[1]);
  join(t);
  close(pair[0]), close(marker[0]), close(marker[1]);
  g_stop = 1;
  join(ticker);
}

// ---- a descriptor handed to another process is no longer one's own
static long receives(struct call* c) {
  char byte;
  return recv(c->fd, &byte, 1, 0);
}
static void hands_over(void) {
  int pair[2], way[2], gate[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && pipe(gate) == 0);
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, way) == 0);
  struct call first = {receives, pair[0], 0, 0, 0, 0, 0};
  pthread_t t = begin(&first);
  CHECK(send(pair[1], "x", 1, 0) == 1);
  join(t);
  CHECK(first.result == 1);
  pid_t child = fork();
  if (child == 0) {
    char byte, control[CMSG_SPACE(sizeof(int))];
    struct iovec part = {&byte, 1};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = control,
                       .msg_controllen = sizeof control};
    close(pair[0]);
    if (recvmsg(way[1], &m, 0) != 1) _exit(1);
    int fd;
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fd);
    if (fcntl(fd, F_SETFL, O_NONBLOCK) != 0) _exit(2);
    _exit(write(gate[1], "x", 1) == 1 ? 0 : 3);
  }
  char byte = 'x', control[CMSG_SPACE(sizeof(int))];
  struct iovec part = {&byte, 1};
  struct msghdr m = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  struct cmsghdr* c = CMSG_FIRSTHDR(&m);
  c->cmsg_level = SOL_SOCKET;
  c->cmsg_type = SCM_RIGHTS;
  c->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(c), &pair[0], sizeof(int));
  CHECK(sendmsg(way[0], &m, 0) == 1);
  CHECK(read(gate[0], &byte, 1) == 1);
  struct call second = {receives, pair[0], 0, 0, 0, 0, 0};
  join(begin(&second));
  CHECK(second.result == -1 && second.error == EAGAIN);
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  close(pair[0]), close(pair[1]), close(way[0]), close(way[1]), close(gate[0]), close(gate[1]);
}

int main(void) {
  alarm(100);
  check_tasks();
  struct sigaction act = {0};
  act.sa_handler = nothing;
  CHECK(sigaction(SIGUSR1, &act, NULL) == 0);
  act.sa_flags = SA_RESTART;
  CHECK(sigaction(SIGUSR2, &act, NULL) == 0);
  connects_again();
  refuses();
  join(java(refuses_on_task, NULL));
  resets();
  waits_for_less();
  peeks_part();
  join(java(peeks_locally, NULL));
  lingers();
  hands_over();
  return 0;
}
