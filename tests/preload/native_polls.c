// Native waits for one of several descriptors: ppoll and pselect with a signal mask, select. The
// one who ends the wait is a task as well, as in native_waits.c.
#include <fcntl.h>
#include <poll.h>
#include <sys/select.h>

#include "preload.h"
#include "sockets.h"

// --- ppoll and pselect with a signal mask
static volatile sig_atomic_t g_handled;
static void handler(int signal) { g_handled += signal == SIGUSR1; }

static void* masked(void* unused) {
  (void)unused;
  sigset_t block, none;
  sigemptyset(&none);
  sigemptyset(&block);
  sigaddset(&block, SIGUSR1);
  CHECK(pthread_sigmask(SIG_BLOCK, &block, NULL) == 0);
  int ends[2];
  CHECK(pipe(ends) == 0);
  struct pollfd p = {ends[0], POLLIN, 0};
  struct timespec little = {0, 50000000}, long_ = {100, 0};

  struct timespec start = started();
  CHECK(ppoll(&p, 1, &little, &none) == 0 && ms_since(&start) >= 49);
  fd_set in;
  FD_ZERO(&in);
  FD_SET(ends[0], &in);
  start = started();
  CHECK(pselect(ends[0] + 1, &in, NULL, NULL, &little, NULL) == 0 && ms_since(&start) >= 49);

  // A signal that only the call lets in ends it; both while it waits and when it was there before.
  for (int round = 0; round < 4; ++round) {
    int before = g_handled;
    pthread_t killer = 0;
    if (round % 2 == 0)
      killer = java(kills_later, (void*)pthread_self());
    else
      CHECK(pthread_kill(pthread_self(), SIGUSR1) == 0);
    FD_ZERO(&in);
    FD_SET(ends[0], &in);
    int r = round < 2 ? ppoll(&p, 1, &long_, &none)
                      : pselect(ends[0] + 1, &in, NULL, NULL, &long_, &none);
    if (!(r == -1 && errno == EINTR && g_handled == before + 1))
      fprintf(stderr, "round %d: handled %d\n", round, g_handled - before);
    CHECK(r == -1 && errno == EINTR && g_handled == before + 1);
    if (round % 2 == 0) join(killer);
  }
  pthread_t writer = java(writes_later, (void*)(long)ends[1]);
  CHECK(ppoll(&p, 1, NULL, &block) == 1 && p.revents == POLLIN);
  join(writer);
  FD_ZERO(&in);
  FD_SET(ends[0], &in);
  CHECK(pselect(ends[0] + 1, &in, NULL, NULL, NULL, &block) == 1 && FD_ISSET(ends[0], &in));
  close(ends[0]);
  close(ends[1]);
  return NULL;
}

// --- select
static int is_zero(const struct timeval* t) { return t->tv_sec == 0 && t->tv_usec == 0; }
static void only(fd_set* set, int fd) {
  FD_ZERO(set);
  FD_SET(fd, set);
}
static void* drains_later(void* fd) {
  sleep_ms(50);
  char all[70000];
  CHECK(read((int)(long)fd, all, sizeof all) > 4096);
  return NULL;
}
static void* sends_urgent(void* fd) {
  sleep_ms(50);
  CHECK(send((int)(long)fd, "!", 1, MSG_OOB) == 1);
  return NULL;
}
static void* closes_later(void* fd) {
  sleep_ms(50);
  CHECK(close((int)(long)fd) == 0);
  return NULL;
}

// Nobody comes: the sets are emptied, and of the time nothing is left.
static void select_times_out(int fd) {
  for (int round = 0; round < 3; ++round) {
    fd_set in, except;
    only(&in, fd);
    only(&except, fd);
    struct timeval t = {0, 50000};
    struct timespec start = started();
    int r = round == 2 ? select(0, NULL, NULL, NULL, &t) : select(fd + 1, &in, NULL, &except, &t);
    CHECK(r == 0 && ms_since(&start) >= 49 && is_zero(&t));
    if (round < 2) CHECK(!FD_ISSET(fd, &in) && !FD_ISSET(fd, &except));
  }
  fd_set in;
  only(&in, fd);
  struct timeval none = {0, 0};
  CHECK(select(fd + 1, &in, NULL, NULL, &none) == 0 && !FD_ISSET(fd, &in));
}

// Of two pipes one gets a byte: its bit alone stays, and the time that was left is told.
static void select_reads(void) {
  int quiet[2], ends[2];
  CHECK(pipe(quiet) == 0 && pipe(ends) == 0);
  int n = ends[0] + 1;
  CHECK(quiet[0] < n);
  for (int round = 0; round < 20; ++round) {
    pthread_t writer = round < 2 ? java(writes_later, (void*)(long)ends[1]) : 0;
    if (round >= 2) CHECK(write(ends[1], "x", 1) == 1);
    fd_set in;
    only(&in, quiet[0]);
    FD_SET(ends[0], &in);
    struct timeval t = {100, 0};
    CHECK(select(n, &in, NULL, NULL, round % 2 ? NULL : &t) == 1);
    CHECK(FD_ISSET(ends[0], &in) && !FD_ISSET(quiet[0], &in));
    if (round % 2 == 0) CHECK(t.tv_sec < 100 && !is_zero(&t));
    if (round < 2) join(writer);
    char c;
    CHECK(read(ends[0], &c, 1) == 1);
  }
  pthread_t closer = java(closes_later, (void*)(long)ends[1]);  // an end of stream is readable
  fd_set in;
  only(&in, ends[0]);
  CHECK(select(n, &in, NULL, NULL, NULL) == 1 && FD_ISSET(ends[0], &in));
  join(closer);
  close(ends[0]);
  close(quiet[0]);
  close(quiet[1]);
}

static void select_writes(void) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  CHECK(fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0);
  char block[4096] = {0};
  while (write(ends[1], block, sizeof block) > 0) {
  }
  fd_set out;
  only(&out, ends[1]);
  pthread_t reader = java(drains_later, (void*)(long)ends[0]);
  CHECK(select(ends[1] + 1, NULL, &out, NULL, NULL) == 1 && FD_ISSET(ends[1], &out));
  join(reader);
  close(ends[0]);
  close(ends[1]);
}

// Urgent data is the exception of a TCP socket; each set's bits count.
static void select_excepts(void) {
  int pair[2];
  tcp_pair(pair);
  int client = pair[0], server = pair[1];
  pthread_t sender = java(sends_urgent, (void*)(long)client);
  fd_set in, out, except;
  only(&in, server);
  only(&except, server);
  CHECK(select(server + 1, &in, NULL, &except, NULL) == 1);
  CHECK(FD_ISSET(server, &except) && !FD_ISSET(server, &in));
  join(sender);
  CHECK(send(client, "x", 1, 0) == 1);
  struct pollfd there = {server, POLLIN, 0};
  CHECK(poll(&there, 1, -1) == 1);
  only(&in, server);
  only(&out, server);
  only(&except, server);
  CHECK(select(server + 1, &in, &out, &except, NULL) == 3);
  close(server);
  close(client);
}

static void select_fails(int fd) {
  fd_set in;
  only(&in, fd);
  int closed = dup(fd);
  close(closed);
  FD_SET(closed, &in);
  struct timeval t = {100, 0}, negative = {-1, 0};
  CHECK(select(closed + 1, &in, NULL, NULL, &t) == -1 && errno == EBADF);
  CHECK(select(fd + 1, &in, NULL, NULL, &negative) == -1 && errno == EINVAL);
  CHECK(select(-1, &in, NULL, NULL, &t) == -1 && errno == EINVAL);
  for (int round = 0; round < 3; ++round) {  // a handler ends it, also one that restarts calls
    struct sigaction action = {.sa_handler = handler, .sa_flags = round == 2 ? SA_RESTART : 0};
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    int before = g_handled;
    struct nagging killer;
    begin_nagging(&killer, SIGUSR1);
    only(&in, fd);
    CHECK(select(fd + 1, &in, NULL, NULL, round % 2 ? NULL : &t) == -1 && errno == EINTR);
    CHECK(g_handled > before && FD_ISSET(fd, &in));
    end_nagging(&killer);
  }
}

static void* selects(void* unused) {
  (void)unused;
  sigset_t usr1;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  CHECK(pthread_sigmask(SIG_UNBLOCK, &usr1, NULL) == 0);
  int ends[2];
  CHECK(pipe(ends) == 0);
  select_times_out(ends[0]);
  select_reads();
  select_writes();
  select_excepts();
  select_fails(ends[0]);
  close(ends[0]);
  close(ends[1]);
  return NULL;
}

int main(void) {
  struct sigaction action = {.sa_handler = handler};
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  check_tasks();
  join(java(masked, NULL));
  join(java(selects, NULL));
  puts("ok");
  return 0;
}
