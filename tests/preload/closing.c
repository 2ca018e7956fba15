// Numbers closed while threads poll on them, by each way there is. A poll that began before the
// close goes on with the file and ends when the other end of the pipe goes; one that begins later
// is told that the number is bad. In between it is one or the other, and never a wait without end.
// A write that began before the close goes on as well. And the lowest free number is the program's.
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/stat.h>
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

// Not for a moment, either, where only the program's one thread runs (LTP's close02: a second close
// of a number succeeded).
static void* has_the_lowest(void* argument) {
  (void)argument;
  int lowest = open("/dev/null", O_RDONLY);
  CHECK(lowest >= 0 && close(lowest) == 0);
  struct timespec start = started();
  do {
    CHECK(close(lowest) == -1 && errno == EBADF);
    CHECK(open("/dev/null", O_RDONLY) == lowest);
    CHECK(close(lowest) == 0);
  } while (ms_since(&start) < 50);
  return NULL;
}

enum { kLong = 2 << 20, kKept = 5000 };
static char g_long[kLong];

static void* writes_long(void* fd) {
  CHECK(write((int)(long)fd, g_long, kLong) == kLong);
  return NULL;
}

// All numbers but one are closed, and used again, while a task is in the middle of a long write:
// it goes on with its file, and neither writes to another one nor closes its number.
static void all_closed_under_a_write(int how) {
  int ends[2], go[2];
  CHECK((how == 0 ? pipe(ends) : socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) == 0);
  CHECK(pipe(go) == 0);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    close(ends[1]);
    close(go[1]);
    static char part[65536];
    long sum = 0, n;
    if (read(go[0], part, 1) != 0) _exit(1);  // until the parent closes it
    while ((n = read(ends[0], part, sizeof part)) > 0) sum += n;
    _exit(n != 0 || sum != kLong);
  }
  close(ends[0]);
  close(go[0]);
  CHECK(fcntl(go[1], F_DUPFD, kKept) == kKept && close(go[1]) == 0);
  pthread_t writer = java(writes_long, (void*)(long)ends[1]);
  sleep_ms(50);
  if (how == 0) {
    CHECK(close_range(3, kKept - 1, 0) == 0 && close_range(kKept + 1, ~0u, 0) == 0);
  } else if (how == 1) {
    for (int fd = 3; fd < kKept; ++fd) close(fd);
  } else if (syscall(436, 3, kKept - 1, 0) != 0) {  // close_range, past libc's name
    CHECK(errno == ENOSYS || errno == EPERM);
  }
  FILE* file = tmpfile();
  CHECK(file != NULL);
  int mine[1100], n = 0;
  while (n < 1100) CHECK((mine[n++] = dup(fileno(file))) >= 0);
  CHECK(close(kKept) == 0);  // the child reads from now on
  join(writer);
  for (int i = 0; i < n; ++i) CHECK(close(mine[i]) == 0);
  struct stat st;
  CHECK(fstat(fileno(file), &st) == 0 && st.st_size == 0);
  fclose(file);
  int status;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}
static void* closes_all(void* argument) {
  (void)argument;
  for (int how = 0; how < 3; ++how) all_closed_under_a_write(how);
  return NULL;
}

int main(void) {
  join(java(has_the_lowest, NULL));
  check_tasks();
  join(java(closes_all, NULL));
  CHECK(low_numbers() == 0);
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
