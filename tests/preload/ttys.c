// Terminals: lines, raw mode with every meaning of VMIN and VTIME, both directions at once,
// hang-up. The other end of each pseudo-terminal is held by a task as well, as in native_waits.c.
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <termios.h>

#include "preload.h"

struct tty {
  int master, slave;
};

static struct tty open_tty(void) {
  struct tty t = {posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), -1};
  char name[64];
  CHECK(t.master >= 0 && grantpt(t.master) == 0 && unlockpt(t.master) == 0);
  CHECK(ptsname_r(t.master, name, sizeof name) == 0);
  t.slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
  CHECK(t.slave >= 0 && isatty(t.slave));
  return t;
}
static void close_tty(struct tty t) {
  close(t.slave);
  close(t.master);
}
static void set_raw(int fd, int least, int deciseconds) {
  struct termios mode;
  CHECK(tcgetattr(fd, &mode) == 0);
  cfmakeraw(&mode);
  mode.c_cc[VMIN] = (cc_t)least;
  mode.c_cc[VTIME] = (cc_t)deciseconds;
  CHECK(tcsetattr(fd, TCSANOW, &mode) == 0);
}

// Each text after a pause of so many milliseconds.
struct typing {
  int fd;
  long pause_ms;
  const char* texts[4];
};
static void* types(void* argument) {
  const struct typing* what = argument;
  for (int i = 0; i < 4 && what->texts[i] != NULL; ++i) {
    sleep_ms(what->pause_ms);
    ssize_t size = (ssize_t)strlen(what->texts[i]);
    CHECK(write(what->fd, what->texts[i], (size_t)size) == size);
  }
  return NULL;
}
// What a read of so many bytes gets while the texts are typed; it lasts at least so long.
static void expect(int fd, size_t size, const char* wanted, long least_ms, struct typing what) {
  char text[64] = "";
  CHECK(size < sizeof text);
  struct timespec start = started();
  pthread_t typist = java(types, &what);
  ssize_t n = read(fd, text, size);
  if (n != (ssize_t)strlen(wanted) || strcmp(text, wanted) != 0)
    fprintf(stderr, "read of %zu: %zd '%s', not '%s'\n", size, n, text, wanted);
  CHECK(n == (ssize_t)strlen(wanted) && strcmp(text, wanted) == 0);
  CHECK(ms_since(&start) + 20 >= least_ms);  // VTIME counts ticks of the kernel, of up to 10 ms
  join(typist);
}

// What the master sees may come in parts, also on plain threads: an echo, a line end made of two.
static void expect_all(int fd, const char* wanted) {
  char text[64] = "";
  for (size_t have = 0; have < strlen(wanted);) {
    ssize_t n = read(fd, text + have, strlen(wanted) - have);
    CHECK(n > 0);
    have += (size_t)n;
  }
  CHECK(strcmp(text, wanted) == 0);
}

static void* lines(void* unused) {
  (void)unused;
  struct tty t = open_tty();
  struct pollfd p = {t.slave, POLLIN, 0};
  for (int round = 0; round < 5; ++round) {
    // Half a line is nothing to read yet.
    expect(t.slave, 32, "abc\n", 59, (struct typing){t.master, 30, {"ab", "c\n"}});
    expect_all(t.master, "abc\r\n");  // the echo
    CHECK(poll(&p, 1, 20) == 0);
    struct typing line = {t.master, 20, {"x", "yz\n"}};
    pthread_t typist = java(types, &line);
    CHECK(poll(&p, 1, -1) == 1 && p.revents == POLLIN);
    join(typist);
    char one[2] = "", rest[8] = "";
    struct iovec parts[2] = {{one, 1}, {rest, 7}};
    CHECK(readv(t.slave, parts, 2) == 4 && one[0] == 'x' && strcmp(rest, "yz\n") == 0);
    expect_all(t.master, "xyz\r\n");
    expect(t.slave, 32, "", 29, (struct typing){t.master, 30, {"\4"}});  // the key for end of file
    struct typing out = {t.slave, 30, {"out\n"}};
    typist = java(types, &out);
    expect_all(t.master, "out\r\n");
    join(typist);
    expect(t.slave, 3, "123", 29, (struct typing){t.master, 30, {"12345\n"}});
    expect(t.slave, 9, "45\n", 0, (struct typing){t.master, 0, {NULL}});
    expect_all(t.master, "12345\r\n");
  }
  CHECK(fcntl(t.slave, F_SETFL, O_RDWR | O_NONBLOCK) == 0);
  char c;
  CHECK(read(t.slave, &c, 1) == -1 && errno == EAGAIN);
  close_tty(t);
  return NULL;
}

static void* raw(void* unused) {
  (void)unused;
  struct tty t = open_tty();
  struct typing nothing = {t.master, 0, {NULL}};
  char c;
  set_raw(t.slave, 1, 0);
  CHECK(read(t.slave, &c, 0) == 0);
  expect(t.slave, 32, "k", 29, (struct typing){t.master, 30, {"k"}});
  set_raw(t.slave, 3, 0);  // three, or as many as were asked for
  expect(t.slave, 32, "abc", 59, (struct typing){t.master, 20, {"a", "b", "c"}});
  expect(t.slave, 2, "ab", 39, (struct typing){t.master, 20, {"a", "b"}});
  expect(t.slave, 1, "a", 19, (struct typing){t.master, 20, {"a"}});
  struct pollfd p = {t.slave, POLLIN, 0};
  CHECK(write(t.master, "ab", 2) == 2);
  CHECK(poll(&p, 1, 50) == 0);
  struct typing third = {t.master, 30, {"c"}};
  pthread_t typist = java(types, &third);
  CHECK(poll(&p, 1, -1) == 1);
  join(typist);
  expect(t.slave, 32, "abc", 0, nothing);
  set_raw(t.slave, 0, 2);  // what is there within 0.2 s, or nothing
  expect(t.slave, 32, "", 190, nothing);
  CHECK(write(t.master, "now", 3) == 3);
  expect(t.slave, 32, "now", 0, nothing);
  set_raw(t.slave, 0, 250);
  expect(t.slave, 32, "soon", 29, (struct typing){t.master, 30, {"soon"}});
  set_raw(t.slave, 4, 2);  // after the first byte 0.2 s for each one more
  expect(t.slave, 32, "d", 220, (struct typing){t.master, 30, {"d"}});
  set_raw(t.slave, 2, 250);
  expect(t.slave, 32, "ef", 59, (struct typing){t.master, 30, {"e", "f"}});
  set_raw(t.slave, 0, 0);
  expect(t.slave, 32, "", 0, nothing);
  close_tty(t);
  return NULL;
}

// Both ends write more than the kernel keeps, so that writers wait as well.
enum { kFlood = 200000 };
static void* floods(void* fd) {
  char block[1000];
  for (int at = 0; at < kFlood; at += (int)sizeof block) {
    for (int i = 0; i < (int)sizeof block; ++i) block[i] = (char)((at + i) % 251);
    for (size_t done = 0; done < sizeof block;) {
      ssize_t n = write((int)(long)fd, block + done, sizeof block - done);
      CHECK(n > 0);
      done += (size_t)n;
    }
  }
  return NULL;
}
static void* takes_flood(void* fd) {
  char block[3000];
  for (int at = 0; at < kFlood;) {
    ssize_t n = read((int)(long)fd, block, sizeof block);
    CHECK(n > 0);
    for (int i = 0; i < n; ++i) CHECK(block[i] == (char)((at + i) % 251));
    at += (int)n;
    if (at % 7 == 0) sleep_ms(1);
  }
  return NULL;
}
static void* both_ways(void* unused) {
  (void)unused;
  struct tty t = open_tty();
  set_raw(t.slave, 1, 0);
  pthread_t down = java(floods, (void*)(long)t.master), up = java(floods, (void*)(long)t.slave);
  pthread_t low = java(takes_flood, (void*)(long)t.slave);
  pthread_t high = java(takes_flood, (void*)(long)t.master);
  join(down);
  join(up);
  join(low);
  join(high);
  close_tty(t);
  return NULL;
}

static void* closes_later(void* fd) {
  sleep_ms(30);
  CHECK(close((int)(long)fd) == 0);
  return NULL;
}
static void* hang_ups(void* unused) {
  (void)unused;
  int errors = 0;
  for (int round = 0; round < 6; ++round) {
    struct tty t = open_tty();
    if (round / 2 == 1) set_raw(t.slave, 1, 0);
    if (round / 2 == 2) set_raw(t.slave, 5, 250);
    struct pollfd p = {t.slave, POLLIN, 0};
    char text[8];
    pthread_t closer = java(closes_later, (void*)(long)t.master);
    if (round % 2 == 0) {  // 0 if the close comes first
      ssize_t n = read(t.slave, text, sizeof text);
      CHECK(n == 0 || (n == -1 && errno == EIO));
      errors += n == -1 && round < 4;
    } else {
      CHECK(poll(&p, 1, -1) == 1 && (p.revents & POLLHUP) != 0);
    }
    join(closer);
    CHECK(poll(&p, 1, -1) == 1 && (p.revents & POLLHUP) != 0);
    CHECK(read(t.slave, text, sizeof text) == 0);
    CHECK(write(t.slave, "x", 1) == -1 && errno == EIO);
    close(t.slave);

    t = open_tty();
    closer = java(closes_later, (void*)(long)t.slave);
    CHECK(read(t.master, text, sizeof text) == -1 && errno == EIO);
    join(closer);
    close(t.master);
  }
  CHECK(errors > 0);
  return NULL;
}

// How libraries for serial ports end another thread's read before they close its number: the read
// becomes a non-blocking one, and a change of the terminal's mode wakes it.
struct told {
  int fd, closed;
};
static void* reads_until_told(void* argument) {
  struct told* by = argument;
  char c;
  errno = 0;
  // EBADF: closed at once, before the woken reader had looked (known, plain: EAGAIN then, too).
  CHECK(read(by->fd, &c, 1) == -1 && (errno == EAGAIN || (by->closed && errno == EBADF)));
  return NULL;
}
static void* told_by_mode(void* unused) {
  (void)unused;
  for (int round = 0; round < 4; ++round) {
    struct tty t = open_tty();
    set_raw(t.slave, 1, 0);
    struct told told = {t.slave, round == 2};
    pthread_t reader = java(reads_until_told, &told);
    sleep_ms(50);
    CHECK(fcntl(t.slave, F_SETFL, O_RDWR | O_NONBLOCK) == 0);
    int by = round == 3 ? t.master : t.slave;  // it has the slave's mode
    struct termios mode;
    CHECK(tcgetattr(by, &mode) == 0);
    if (round % 2 == 0) CHECK(tcsetattr(by, TCSANOW, &mode) == 0);
    if (round % 2 == 1) {
      char kernels[128];  // not libc's termios
      CHECK(ioctl(by, TCGETS, kernels) == 0 && ioctl(by, TCSETS, kernels) == 0);
    }
    if (round == 2) close(t.slave);
    join(reader);
    if (round != 2) close(t.slave);
    close(t.master);
  }
  return NULL;
}

// More than once: on a busy machine the first may come before the other one has got into its read.
struct sleeper {
  pthread_t thread;
  int over;
};
static void* interrupts(void* argument) {
  struct sleeper* sleeper = argument;
  while (!__atomic_load_n(&sleeper->over, __ATOMIC_SEQ_CST)) {
    CHECK(pthread_kill(sleeper->thread, SIGUSR1) == 0);
    sleep_ms(50);
  }
  return NULL;
}
static void handler(int signal) { (void)signal; }
static void* interrupted(void* unused) {
  (void)unused;
  struct tty t = open_tty();
  for (int round = 0; round < 4; ++round) {
    if (round == 2) set_raw(t.slave, 3, 0);
    if (round == 3) set_raw(t.slave, 0, 250);
    char text[8];
    struct sleeper me = {pthread_self(), 0};
    pthread_t other = java(interrupts, &me);
    CHECK(read(t.slave, text, sizeof text) == -1 && errno == EINTR);
    __atomic_store_n(&me.over, 1, __ATOMIC_SEQ_CST);
    join(other);
  }
  // What came of the three bytes is the answer.
  set_raw(t.slave, 3, 0);
  CHECK(write(t.master, "ab", 2) == 2);
  for (int there = 0; there != 2; sleep_ms(1)) CHECK(ioctl(t.slave, FIONREAD, &there) == 0);
  char text[8] = "";
  struct sleeper me = {pthread_self(), 0};
  pthread_t other = java(interrupts, &me);
  ssize_t n = -1;  // a signal that comes before it waits may end the call without a byte
  for (int tries = 0; tries < 5 && n == -1; ++tries) {
    n = read(t.slave, text, sizeof text);
    CHECK(n == 2 || (n == -1 && errno == EINTR));
  }
  CHECK(n == 2 && strcmp(text, "ab") == 0);
  __atomic_store_n(&me.over, 1, __ATOMIC_SEQ_CST);
  join(other);
  close_tty(t);
  return NULL;
}

// Who reads from a master keeps no kernel thread, whether the other side is a session's terminal
// (then it names that one's group) or nobody's.
static int kernel_threads(void) {
  FILE* status = fopen("/proc/self/status", "r");
  CHECK(status != NULL);
  char line[128];
  int n = 0;
  while (n == 0 && fgets(line, sizeof line, status) != NULL) sscanf(line, "Threads: %d", &n);
  fclose(status);
  return n;
}
static void* reads_to_the_end(void* fd) {
  char c;
  CHECK(read((int)(long)fd, &c, 1) == -1 && errno == EIO);
  return NULL;
}
static void masters(void) {
  enum { kMasters = 24 };
  struct tty ttys[kMasters];
  pid_t children[kMasters];
  pthread_t readers[kMasters];
  for (int i = 0; i < kMasters; ++i) {
    ttys[i] = open_tty();
    children[i] = fork();
    if (children[i] == 0) {
      if (i % 2 == 0 && (setsid() == -1 || ioctl(ttys[i].slave, TIOCSCTTY, 0) != 0)) _exit(1);
      alarm(100);  // where the test fails nobody ends it
      for (;;) pause();
    }
    CHECK(children[i] > 0 && close(ttys[i].slave) == 0);
  }
  for (int i = 0; i < kMasters; i += 2)
    for (pid_t group = 0; group != children[i]; sleep_ms(1))
      CHECK(ioctl(ttys[i].master, TIOCGPGRP, &group) == 0);
  int before = kernel_threads();
  for (long i = 0; i < kMasters; ++i)
    readers[i] = java(reads_to_the_end, (void*)(long)ttys[i].master);
  sleep_ms(200);
  if (getenv("EXPECT_TASKS") != NULL) CHECK(kernel_threads() - before < kMasters / 2);
  for (int i = 0; i < kMasters; ++i) CHECK(kill(children[i], SIGKILL) == 0);
  for (int i = 0; i < kMasters; ++i) CHECK(waitpid(children[i], NULL, 0) == children[i]);
  for (int i = 0; i < kMasters; ++i) join(readers[i]), close(ttys[i].master);
}

int main(void) {
  struct sigaction action = {.sa_handler = handler};
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  check_tasks();
  masters();
  void* (*const all[])(void*) = {lines, raw, both_ways, hang_ups, told_by_mode, interrupted};
  enum { kAll = sizeof all / sizeof *all };
  for (int i = 0; i < kAll; ++i) join(java(all[i], NULL));
  pthread_t threads[kAll];  // and side by side
  for (int i = 0; i < kAll; ++i) threads[i] = java(all[i], NULL);
  for (int i = 0; i < kAll; ++i) join(threads[i]);
  puts("ok");
  return 0;
}
