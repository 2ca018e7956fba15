// Where the kernel refuses events of a descriptor (a user's limit of watches, epoll(7)), calls wait
// in the kernel: a connect then ends as any other, by a handler or at its limit.
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "preload.h"
#include "refusal.h"
#include "sockets.h"

static void refuse_events(void) {
  struct sock_filter filter[] = REFUSAL(SYS_epoll_ctl, ENOSPC);
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0);
}

static void handler(int sig) { (void)sig; }

struct attempt {
  struct sockaddr_in to;
  int limit_ms, result, error;
  long took_ms;
};
static void* connects(void* argument) {
  struct attempt* a = argument;
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  struct timeval limit = {a->limit_ms / 1000, a->limit_ms % 1000 * 1000};
  CHECK(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) == 0);
  struct timespec start = started();
  a->result = connect(fd, (struct sockaddr*)&a->to, sizeof a->to);
  a->error = errno;
  a->took_ms = ms_since(&start);
  close(fd);
  return NULL;
}

int main(void) {
  alarm(100);
  struct sigaction action = {.sa_handler = handler};
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  check_tasks();
  refuse_events();

  // Its queue is full: the kernel drops whoever else comes.
  struct attempt a = {.limit_ms = 0};
  int listener = listening(&a.to, 0);
  for (int i = 0; i < 3; ++i) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    connect(fd, (struct sockaddr*)&a.to, sizeof a.to);
  }
  pthread_t t = java(connects, &a);
  sleep_ms(200);
  CHECK(pthread_kill(t, SIGUSR1) == 0);
  join(t);
  CHECK(a.result == -1 && a.error == EINTR && a.took_ms < 900);

  a.limit_ms = 300;
  join(java(connects, &a));
  CHECK(a.result == -1 && a.error == EINPROGRESS && a.took_ms >= 290 && a.took_ms < 900);
  close(listener);

  a.to.sin_port = htons(1);
  join(java(connects, &a));
  CHECK(a.result == -1 && a.error == ECONNREFUSED);
  listener = listening(&a.to, 5);
  join(java(connects, &a));
  CHECK(a.result == 0);
  return 0;
}
