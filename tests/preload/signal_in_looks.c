// A handler that runs while a poll over many descriptors looks at them ends it, as it does in the
// kernel: the wait that follows would have nobody else to end it. Also where events of one of them,
// a file on a disk, cannot be had.
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/select.h>

#include "preload.h"

#define DESCRIPTORS 900
#define CALLS 200

enum way { kPoll, kSelect, kPollWithFile, kWays };

static int g_fds[DESCRIPTORS], g_highest, g_file;
static atomic_int g_inside, g_handled, g_calls;

static void handles(int sig) {
  (void)sig;
  if (g_inside) g_handled = 1;
}

static int waits(enum way way) {
  if (way == kSelect) {
    fd_set all;
    FD_ZERO(&all);
    for (int i = 0; i < DESCRIPTORS; ++i) FD_SET(g_fds[i], &all);
    g_inside = 1;
    return select(g_highest + 1, &all, NULL, NULL, NULL);
  }
  struct pollfd all[DESCRIPTORS + 1];
  all[DESCRIPTORS] = (struct pollfd){g_file, 0, 0};
  for (int i = 0; i < DESCRIPTORS; ++i) all[i] = (struct pollfd){g_fds[i], POLLIN, 0};
  g_inside = 1;
  return poll(all, DESCRIPTORS + (way == kPollWithFile), -1);
}

static void* calls(void* way) {
  for (int i = 0; i < CALLS; ++i) {
    int r = waits((enum way)(long)way);
    int error = errno;
    g_inside = 0;
    CHECK(r == -1 && error == EINTR);
    atomic_fetch_add(&g_calls, 1);
    while (g_calls % 2 != 0) sched_yield();
  }
  return NULL;
}

// How many of the calls went on after a handler had run within them.
static int gone_on(enum way way) {
  int went_on = 0;
  g_calls = 0;
  pthread_t thread = java(calls, (void*)(long)way);
  for (int i = 0; i < CALLS; ++i) {
    while (!g_inside) sched_yield();
    g_handled = 0;
    struct timespec now, until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    do clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - until.tv_sec) * 1000000000 + now.tv_nsec - until.tv_nsec < 500 * (i + 4));
    for (int again = 0; g_calls % 2 == 0; ++again) {
      CHECK(pthread_kill(thread, SIGUSR1) == 0);
      struct timespec sent = started();
      while (g_calls % 2 == 0 && ms_since(&sent) < 100) sched_yield();
      if (g_calls % 2 == 0 && g_handled && again == 0) ++went_on;
    }
    atomic_fetch_add(&g_calls, 1);
  }
  join(thread);
  return went_on;
}

int main(void) {
  struct sigaction action = {.sa_handler = handles, .sa_flags = SA_RESTART};
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  for (int i = 0; i < DESCRIPTORS; ++i)
    CHECK((g_highest = g_fds[i] = eventfd(0, 0)) >= 0 && g_highest < FD_SETSIZE);
  CHECK((g_file = open("/proc/self/exe", O_RDONLY)) >= 0);
  check_tasks();
  // One in twenty: the handler came after g_inside was set and before the call began.
  for (enum way way = kPoll; way < kWays; ++way) {
    int n = gone_on(way);
    if (n > CALLS / 20) fprintf(stderr, "way %d: %d of %d calls went on\n", way, n, CALLS);
    CHECK(n <= CALLS / 20);
  }
  return 0;
}
