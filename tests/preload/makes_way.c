// Who has woken another makes way at its next write, unless that one is a question on a connection
// it has opened itself: then it is in the middle of something, and goes on
// (docs/wake-ups.md). Told apart only with one carrier, where nobody else runs the woken one.
#include <semaphore.h>
#include <stdatomic.h>

#include "preload.h"
#include "sockets.h"

enum { kRounds = 300 };

static sem_t g_woken;
static atomic_int g_ran, g_over;
static int g_told_apart;

static void* is_woken(void* unused) {
  for (;;) {
    CHECK(sem_wait(&g_woken) == 0);
    if (g_over) return unused;
    ++g_ran;
  }
}

// In how many of the rounds the woken one had run when the write was over.
static int ran_first(int fd, int peer) {
  int first = 0;
  for (int i = 0; i < kRounds; ++i) {
    usleep(100);  // a slice of its own; and the woken one waits again
    int before = g_ran;
    char byte = 'x';
    CHECK(sem_post(&g_woken) == 0);
    CHECK(send(fd, &byte, 1, 0) == 1);
    first += g_ran != before;
    CHECK(recv(peer, &byte, 1, 0) == 1);
    while (g_ran == before) usleep(100);
  }
  return first;
}

static void* asks_and_answers(void* unused) {
  int pair[2];
  tcp_pair(pair);
  int answers = ran_first(pair[1], pair[0]), questions = ran_first(pair[0], pair[1]);
  // Not in each round: the machine may stand still, or SysMonitor take the carrier.
  if (g_told_apart && (answers < kRounds / 2 || questions > kRounds / 4)) {
    fprintf(stderr, "the woken one ran first in %d and %d of %d\n", answers, questions, kRounds);
    _exit(1);
  }
  g_over = 1;
  CHECK(sem_post(&g_woken) == 0);
  close(pair[0]), close(pair[1]);
  return unused;
}

int main(void) {
  alarm(100);
  check_tasks();
  CHECK(sem_init(&g_woken, 0, 0) == 0);
  const char* carriers = getenv("TEST_CARRIERS");
  g_told_apart = carriers != NULL && strcmp(carriers, "1") == 0;
  pthread_t other = java(is_woken, NULL);
  join(java(asks_and_answers, NULL));
  join(other);
  return 0;
}
