// Real-time signals to a thread come as often as they were sent, with the values sent along, in
// order; of the others one, with the first one's value (signal(7)). Blocked, then let through or
// taken; by a thread that runs, one that waits, and by the thread itself.
#include <sys/syscall.h>

#include "preload.h"

enum { kSent = 5, kMany = 3000 };
static int g_queued;  // a real-time signal
static volatile int g_ran, g_over, g_ready;
static volatile long g_values, g_codes;

static void counts(int sig, siginfo_t* info, void* context) {
  (void)sig, (void)context;
  ++g_ran;
  g_values = g_values * 10 + info->si_value.sival_int;
  g_codes += info->si_code == SI_QUEUE ? 10 : info->si_code == SI_TKILL ? 1 : 1000;
  CHECK(info->si_pid == getpid());
}
static void none_so_far(void) { g_ran = 0, g_values = 0, g_codes = 0; }

static sigset_t both(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, g_queued);
  sigaddset(&set, SIGUSR2);
  return set;
}
static void queue(pthread_t to, int sig, int value) {
  CHECK(pthread_sigqueue(to, sig, (union sigval){.sival_int = value}) == 0);
}
static void send_five(pthread_t to) {
  for (int i = 1; i <= kSent; ++i) queue(to, g_queued, i);
  queue(to, SIGUSR2, 7);
  queue(to, SIGUSR2, 8);
  CHECK(pthread_kill(to, g_queued) == 0);
}

static void* to_itself(void* unused) {
  sigset_t set = both();
  CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
  send_five(pthread_self());
  none_so_far();
  sigdelset(&set, SIGUSR2);
  CHECK(pthread_sigmask(SIG_UNBLOCK, &set, NULL) == 0);
  CHECK(g_ran == kSent + 1 && g_values == 123450 && g_codes == kSent * 10 + 1);
  none_so_far();
  set = both();
  CHECK(pthread_sigmask(SIG_UNBLOCK, &set, NULL) == 0);
  CHECK(g_ran == 1 && g_values == 7 && g_codes == 10);
  // Not blocked: each at once.
  none_so_far();
  queue(pthread_self(), g_queued, 3);
  CHECK(g_ran == 1);
  CHECK(raise(g_queued) == 0 && g_ran == 2);
  siginfo_t info = {.si_signo = g_queued, .si_code = SI_QUEUE};
  info.si_pid = getpid();
  info.si_value.sival_int = 4;
  CHECK(syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), g_queued, &info) == 0);
  CHECK(g_ran == 3 && g_values == 304);
  return unused;
}

// Blocked: all of them wait then.
static void until_all_is_sent(const sigset_t* blocked) {
  CHECK(pthread_sigmask(SIG_BLOCK, blocked, NULL) == 0);
  g_ready = 1;
  while (!g_over) sleep_ms(1);
}

static void* blocks_then_lets_through(void* unused) {
  sigset_t set = both(), waiting;
  until_all_is_sent(&set);
  CHECK(sigpending(&waiting) == 0 && sigismember(&waiting, g_queued) == 1);
  none_so_far();
  sigdelset(&set, SIGUSR2);
  CHECK(pthread_sigmask(SIG_UNBLOCK, &set, NULL) == 0);
  CHECK(g_ran == kSent + 1 && g_values == 123450);
  CHECK(sigpending(&waiting) == 0 && sigismember(&waiting, g_queued) == 0);
  return unused;
}

static void* blocks_and_takes(void* unused) {
  sigset_t set = both();
  until_all_is_sent(&set);
  struct timespec now = {0, 0};
  siginfo_t info;
  CHECK(sigtimedwait(&set, &info, &now) == SIGUSR2 && info.si_value.sival_int == 7);
  for (int i = 1; i <= kSent; ++i) {
    CHECK(sigtimedwait(&set, &info, &now) == g_queued);
    CHECK(info.si_code == SI_QUEUE && info.si_value.sival_int == i);
  }
  CHECK(sigwaitinfo(&set, &info) == g_queued && info.si_code == SI_USER);
  CHECK(sigtimedwait(&set, &info, &now) == -1 && errno == EAGAIN);
  return unused;
}

// To ignore a signal ends what is pending of it.
static void* ignores(void* unused) {
  sigset_t set = both(), waiting;
  struct sigaction before;
  CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
  send_five(pthread_self());
  for (int i = 0; i < 2; ++i) {
    int sig = i == 0 ? g_queued : SIGUSR2;
    CHECK(sigaction(sig, NULL, &before) == 0 && signal(sig, SIG_IGN) != SIG_ERR);
    CHECK(sigaction(sig, &before, NULL) == 0);
    CHECK(sigpending(&waiting) == 0 && sigismember(&waiting, sig) == 0);
  }
  none_so_far();
  queue(pthread_self(), g_queued, 9);
  CHECK(pthread_sigmask(SIG_UNBLOCK, &set, NULL) == 0);
  CHECK(g_ran == 1 && g_values == 9);
  return unused;
}

static void* ends_with_some(void* unused) {
  sigset_t set = both();
  until_all_is_sent(&set);
  return unused;
}

static void* waits_for_all(void* unused) {
  g_ready = 1;
  while (g_ran < kMany) sleep_ms(1);
  return unused;
}

// A thread of the kernel's that does nothing else: what comes in the midst is handled as it ends.
static void* ignores_again_and_again(void* unused) {
  g_ready = 1;
  while (!g_over) CHECK(signal(g_queued + 1, SIG_IGN) != SIG_ERR);
  return unused;
}
static void others_come_meanwhile(void) {
  pthread_t thread;
  g_ready = g_over = 0;
  none_so_far();
  CHECK(pthread_create(&thread, NULL, ignores_again_and_again, NULL) == 0);
  while (!g_ready) sleep_ms(1);
  for (int i = 1; i <= kMany; ++i) {
    struct timespec sent = started();
    CHECK(pthread_kill(thread, SIGUSR2) == 0);
    while (g_ran != i) CHECK(ms_since(&sent) < 20000);
  }
  g_over = 1;
  join(thread);
}

static pthread_t begin(void* (*run)(void*)) {
  g_ready = g_over = 0;
  pthread_t thread = java(run, NULL);
  while (!g_ready) sleep_ms(1);
  return thread;
}
static void* sends(void* unused) {
  void* (*const receivers[])(void*) = {blocks_then_lets_through, blocks_and_takes, ends_with_some};
  // More than there is room for, if what a thread leaves were kept.
  for (int i = 0; i < 300; ++i) {
    pthread_t to = begin(receivers[i < 100 ? i % 3 : 2]);
    send_five(to);
    g_over = 1;
    join(to);
  }
  none_so_far();
  pthread_t to = begin(waits_for_all);
  for (int i = 0; i < kMany; ++i) {
    queue(to, g_queued, 1);
    if (i % 100 == 99)
      while (g_ran <= i) sleep_ms(1);
  }
  join(to);
  CHECK(g_ran == kMany && g_codes == kMany * 10);
  return unused;
}

int main(void) {
  check_tasks();
  g_queued = SIGRTMIN + 4;
  struct sigaction action = {.sa_sigaction = counts, .sa_flags = SA_SIGINFO};
  CHECK(sigaction(g_queued, &action, NULL) == 0 && sigaction(SIGUSR2, &action, NULL) == 0);
  join(java(to_itself, NULL));
  join(java(ignores, NULL));
  others_come_meanwhile();
  join(java(sends, NULL));
  sends(NULL);  // by a kernel thread
  return 0;
}
