// A process without standard input and output, and with room for few descriptors: those that the
// runtime makes for itself must not become what the program prints to.
#include <fcntl.h>
#include <sys/resource.h>

#include "preload.h"

static void* waits_for_a_byte(void* fd) {
  char c;
  CHECK(read((int)(long)fd, &c, 1) == 1);
  return NULL;
}

int main(void) {
  int error = fcntl(2, F_DUPFD, 20);
  CHECK(error >= 20);
  struct rlimit few = {64, 64};
  CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
  int ends[2];
  CHECK(pipe(ends) == 0 && ends[0] > 2 && ends[1] > 2);
  for (int fd = 0; fd <= 2; ++fd) close(fd);
  // The runtime and its pump begin, and a moment later what tells of them.
  pthread_t reader = java(waits_for_a_byte, (void*)(long)ends[0]);
  sleep_ms(200);
  int taken = 0;
  for (int fd = 0; fd <= 2; ++fd) taken += fcntl(fd, F_GETFD) != -1;
  CHECK(write(ends[1], "x", 1) == 1);
  join(reader);
  CHECK(dup2(error, 2) == 2);
  CHECK(taken == 0);
  check_tasks();
  return 0;
}
