// Servers built on one epoll instance, under load, in the ways that real ones use it: sockets taken
// out while a worker serves them (the JDK's selectors), level- and edge-triggered loops (Netty),
// EPOLLONESHOT with several who wait. Half of the servers are polled from outside in mid-run. An
// event that gets lost makes a client wait for ever: the alarm ends the program. And a call with a
// timeout of 0 sees all that has arrived before it.
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>

#include "preload.h"
#include "sockets.h"

enum { kClients = 20, kPairs = 4, kTrips = 200, kWorkers = 4, kQueue = 4096 };
enum mode { kTakenOut, kLevel, kEdge, kOneShot, kModes };

static int g_epoll;
static enum mode g_mode;
static volatile int g_over;

// --- from the event loop to the workers
static int g_queue[kQueue];
static unsigned g_put, g_taken;
static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t g_filled = PTHREAD_COND_INITIALIZER;

static void queue_put(int fd) {
  pthread_mutex_lock(&g_lock);
  CHECK(g_put - g_taken < kQueue);
  g_queue[g_put++ % kQueue] = fd;
  pthread_cond_signal(&g_filled);
  pthread_mutex_unlock(&g_lock);
}
static int queue_take(void) {
  pthread_mutex_lock(&g_lock);
  while (g_put == g_taken) pthread_cond_wait(&g_filled, &g_lock);
  int fd = g_queue[g_taken++ % kQueue];
  pthread_mutex_unlock(&g_lock);
  return fd;
}

static int control(int operation, int fd, unsigned events) {
  struct epoll_event e = {.events = events, .data = {.fd = fd}};
  return epoll_ctl(g_epoll, operation, fd, &e);
}
static unsigned asked_for(void) {
  return g_mode == kEdge      ? EPOLLIN | EPOLLET
         : g_mode == kOneShot ? EPOLLIN | EPOLLONESHOT
                              : EPOLLIN;
}

// Answers all that is there; 'q' asks to be closed. False: closed.
static int serve(int fd) {
  char c[64];
  for (long n; (n = read(fd, c, sizeof c)) != 0;) {
    if (n < 0) {
      CHECK(errno == EAGAIN);
      return 1;
    }
    if (c[n - 1] == 'q') break;
    CHECK(write(fd, c, n) == n);
  }
  CHECK(close(fd) == 0);
  return 0;
}
static void* works(void* unused) {
  for (int fd; (fd = queue_take()) != -1;)
    if (serve(fd)) {
      if (g_mode == kTakenOut) CHECK(control(EPOLL_CTL_ADD, fd, asked_for()) == 0);
      if (g_mode == kOneShot) CHECK(control(EPOLL_CTL_MOD, fd, asked_for()) == 0);
    }
  return unused;
}
static void* loops(void* unused) {
  struct epoll_event events[16];
  while (!g_over) {
    int n = epoll_wait(g_epoll, events, g_mode == kOneShot ? 2 : 16, 50);
    CHECK(n >= 0);
    for (int i = 0; i < n; ++i) {
      int fd = events[i].data.fd;
      if (g_mode == kTakenOut) CHECK(control(EPOLL_CTL_DEL, fd, 0) == 0);
      if (g_mode == kTakenOut || g_mode == kOneShot)
        queue_put(fd);
      else
        serve(fd);
    }
  }
  return unused;
}

static int connection(void) {
  int pair[2];
  tcp_pair(pair);
  CHECK(fcntl(pair[0], F_SETFL, O_NONBLOCK) == 0);
  CHECK(control(EPOLL_CTL_ADD, pair[0], asked_for()) == 0);
  return pair[1];
}
static void* asks(void* seed) {
  unsigned random = (unsigned)(long)seed;
  int fds[kPairs];
  char c;
  for (int i = 0; i < kPairs; ++i) fds[i] = connection();
  for (int i = 0; i < kTrips; ++i) {
    int* fd = &fds[rand_r(&random) % kPairs];
    CHECK(write(*fd, "x", 1) == 1 && read(*fd, &c, 1) == 1 && c == 'x');
    if (rand_r(&random) % 16 == 0) {
      CHECK(write(*fd, "q", 1) == 1 && read(*fd, &c, 1) == 0 && close(*fd) == 0);
      *fd = connection();
    }
  }
  for (int i = 0; i < kPairs; ++i)
    CHECK(write(fds[i], "q", 1) == 1 && read(fds[i], &c, 1) == 0 && close(fds[i]) == 0);
  return NULL;
}

static void run_server(enum mode mode, int polled) {
  pthread_t clients[kClients], workers[kWorkers], waiters[3];
  int n_waiters = mode == kOneShot ? 3 : 1;
  g_mode = mode, g_over = 0, g_put = g_taken = 0;
  CHECK((g_epoll = epoll_create1(0)) >= 0);
  for (int i = 0; i < n_waiters; ++i) waiters[i] = java(loops, NULL);
  for (int i = 0; i < kWorkers; ++i) workers[i] = java(works, NULL);
  for (int i = 0; i < kClients; ++i) clients[i] = java(asks, (void*)(long)(i + 1));
  if (polled) {
    sleep_ms(5);
    struct pollfd p = {g_epoll, POLLIN, 0};
    CHECK(poll(&p, 1, 0) >= 0);
  }
  for (int i = 0; i < kClients; ++i) join(clients[i]);
  g_over = 1;
  for (int i = 0; i < kWorkers; ++i) queue_put(-1);
  for (int i = 0; i < kWorkers; ++i) join(workers[i]);
  for (int i = 0; i < n_waiters; ++i) join(waiters[i]);
  CHECK(close(g_epoll) == 0);
}

static void* serves(void* unused) {
  for (int mode = 0; mode < kModes; ++mode)
    for (int polled = 0; polled < 2; ++polled) run_server((enum mode)mode, polled);
  return unused;
}

// --- what has happened before is seen
enum { kMany = 100 };

// The kernel has delivered what was written: on a busy machine TCP's bytes may come a little after
// the write has returned, within one machine as well (seen: the byte still in the sender's queue,
// and nothing to read by the kernel's own poll(2)).
static void wait_for_all(int pairs[][2], int n) {
  struct pollfd polled[kMany];
  for (int i = 0; i < n; ++i) polled[i] = (struct pollfd){pairs[i][0], POLLIN, 0};
  while (poll(polled, n, 0) != n) {
  }
}

static void* sees_all(void* unused) {
  int pairs[kMany][2];
  static struct epoll_event events[2 * kMany];
  g_mode = kLevel;
  CHECK((g_epoll = epoll_create1(0)) >= 0);
  for (int i = 0; i < kMany; ++i) {
    tcp_pair(pairs[i]);
    CHECK(control(EPOLL_CTL_ADD, pairs[i][0], EPOLLIN) == 0);
  }
  for (int round = 0; round < 300; ++round) {
    int some = 1 + round % kMany;
    if (round % 3 == 0) sleep_ms(1);  // others get idle
    for (int i = 0; i < some; ++i) CHECK(write(pairs[i][1], "x", 1) == 1);
    wait_for_all(pairs, some);
    int n = epoll_wait(g_epoll, events, 2 * kMany, 0);
    if (n != some) fprintf(stderr, "round %d: %d of %d\n", round, n, some);
    CHECK(n == some);
    char c[2];
    for (int i = 0; i < some; ++i) CHECK(read(pairs[i][0], c, sizeof c) == 1);
    CHECK(epoll_wait(g_epoll, events, 2 * kMany, 0) == 0);
  }
  for (int i = 0; i < kMany; ++i) close(pairs[i][0]), close(pairs[i][1]);
  CHECK(close(g_epoll) == 0);
  return unused;
}

int main(void) {
  alarm(200);
  check_tasks();
  // Few rounds each: who looks a thousand times and never waits gets the kernel's instance.
  for (int i = 0; i < 5; ++i) join(java(sees_all, NULL));
  join(java(serves, NULL));
  puts("ok");
  return 0;
}
