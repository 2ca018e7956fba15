// The bound of `wisp bench echo`: the same round trips (64 bytes, both ends of each TCP connection
// in one process) by bare event loops, without Java, threads that block, or a scheduler. What a
// runtime of threads takes more than this is its own. Usage: echo_bound CONNECTIONS SECONDS [LOOPS]
// with a loop per processor by default; prints round_trips_per_s=N.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { kSize = 64, kEvents = 64, kMostLoops = 256, kMostConnections = 20000 };

static atomic_int g_stop;
static struct loop {
  int epoll;
  long trips;
  pthread_t thread;
} g_loops[kMostLoops];

static void require(int ok, const char* what) {
  if (ok) return;
  perror(what);
  exit(1);
}

static void* run(void* argument) {
  struct loop* l = argument;
  struct epoll_event events[kEvents];
  char bytes[kSize];
  while (!atomic_load_explicit(&g_stop, memory_order_relaxed)) {
    int n = epoll_wait(l->epoll, events, kEvents, 100);
    for (int i = 0; i < n; ++i) {
      int fd = (int)(uint32_t)events[i].data.u64;
      require(recv(fd, bytes, kSize, 0) == kSize, "recv");
      l->trips += (long)(events[i].data.u64 >> 32);  // 1 of a client's end
      require(send(fd, bytes, kSize, 0) == kSize, "send");
    }
  }
  return NULL;
}

static void add(struct loop* l, int fd, uint64_t client) {
  int one = 1;
  require(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0, "TCP_NODELAY");
  struct epoll_event event = {EPOLLIN, {.u64 = client << 32 | (uint32_t)fd}};
  require(epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &event) == 0, "epoll_ctl");
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int count, char** words) {
  long connections = count > 2 ? atol(words[1]) : 0, time = count > 2 ? atol(words[2]) : 0;
  long loops = count > 3 ? atol(words[3]) : sysconf(_SC_NPROCESSORS_ONLN);
  if (connections < 1 || connections > kMostConnections || time < 1 || loops < 1 ||
      loops > kMostLoops) {
    fprintf(stderr, "usage: echo_bound CONNECTIONS (1 to %d) SECONDS [LOOPS (1 to %d)]\n",
            kMostConnections, kMostLoops);
    return 2;
  }
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t length = sizeof address;
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  require(bind(listener, (struct sockaddr*)&address, length) == 0, "bind");
  require(listen(listener, 100) == 0, "listen");
  getsockname(listener, (struct sockaddr*)&address, &length);
  for (long i = 0; i < loops; ++i) g_loops[i].epoll = epoll_create1(0);
  static int clients[kMostConnections];
  for (long i = 0; i < connections; ++i) {
    clients[i] = socket(AF_INET, SOCK_STREAM, 0);
    require(connect(clients[i], (struct sockaddr*)&address, length) == 0, "connect");
    add(&g_loops[i % loops], clients[i], 1);
    add(&g_loops[i % loops], accept(listener, NULL, NULL), 0);
  }
  char bytes[kSize] = {0};
  for (long i = 0; i < connections; ++i)
    require(send(clients[i], bytes, kSize, 0) == kSize, "send");
  double begin = seconds();
  for (long i = 0; i < loops; ++i)
    require(pthread_create(&g_loops[i].thread, NULL, run, &g_loops[i]) == 0, "pthread_create");
  sleep((unsigned)time);
  g_stop = 1;
  long trips = 0;
  for (long i = 0; i < loops; ++i) {
    pthread_join(g_loops[i].thread, NULL);
    trips += g_loops[i].trips;
  }
  printf("round_trips_per_s=%.0f\n", (double)trips / (seconds() - begin));
  return 0;
}
