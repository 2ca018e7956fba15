// Numbers closed while threads poll on them, by each way there is. A poll that began before the
// close goes on with the file and ends when the other end of the pipe goes; one that begins later
// is told that the number is bad. In between it is one or the other, and never a wait without end.
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "preload.h"

enum { kRounds = 3000 };
static atomic_int g_turn, g_ended;
static int g_fd;

int close_range(unsigned first, unsigned last, int flags);
void closefrom(int first);

static void spin(unsigned n) {
  for (volatile unsigned i = 0; i < n; ++i) {
  }
}

static void* poller(void* argument) {
  (void)argument;
  for (int turn = 1; turn <= kRounds; ++turn) {
    while (atomic_load(&g_turn) < turn) sched_yield();
    spin((unsigned)turn * 7919u % 3000u);
    struct pollfd entry = {g_fd, POLLIN, 0};
    int n = poll(&entry, 1, 100000);
    CHECK(n == 1 && (entry.revents & (POLLNVAL | POLLHUP)) != 0);
    atomic_store(&g_ended, turn);
  }
  return NULL;
}

static void* closer(void* argument) {
  (void)argument;
  for (int turn = 1; turn <= kRounds; ++turn) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    // High numbers, so that closefrom takes nothing else.
    g_fd = 5000;
    CHECK(dup2(ends[0], g_fd) == g_fd);
    close(ends[0]);
    atomic_store(&g_turn, turn);
    spin((unsigned)turn * 104729u % 6000u);
    if (turn % 3 == 0)
      CHECK(close(g_fd) == 0);
    else if (turn % 3 == 1)
      CHECK(close_range((unsigned)g_fd, (unsigned)g_fd + 2000, 0) == 0);
    else
      closefrom(g_fd);
    struct pollfd gone = {g_fd, POLLIN, 0};
    CHECK(poll(&gone, 1, 0) == 1 && gone.revents == POLLNVAL);
    close(ends[1]);
    while (atomic_load(&g_ended) < turn) sched_yield();
  }
  return NULL;
}

// The runtime takes none of the numbers that programs expect for themselves.
static int low_numbers(void) {
  int n = 0;
  for (int fd = 3; fd < 500; ++fd) n += fcntl(fd, F_GETFD) != -1;
  return n;
}

int main(void) {
  int low = low_numbers();
  check_tasks();
  sleep_ms(200);  // the observer makes its page, and on a busy machine takes longer
  for (int i = 0; i < 100 && low_numbers() != low; ++i) sleep_ms(50);
  CHECK(low_numbers() == low);
  // What Wisp itself has open must outlive it: the pump is needed for the rounds.
  int ends[2];
  CHECK(pipe(ends) == 0);
  pthread_t one = java(poller, NULL), other = java(closer, NULL);
  join(one);
  join(other);
  CHECK(close_range(3, ~0u, 0) == 0);
  CHECK(write(ends[1], "x", 1) == -1 && errno == EBADF);
  CHECK(close_range(9, 8, 0) == -1 && errno == EINVAL);
  // Before the poller begins: it would take the old turns for its own.
  atomic_store(&g_turn, 0);
  atomic_store(&g_ended, 0);
  pthread_t late = java(poller, NULL);
  other = java(closer, NULL);
  join(late);
  join(other);
  return 0;
}
