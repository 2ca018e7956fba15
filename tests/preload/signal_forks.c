// Signals that reach a child of fork in its first microseconds, before its fork handlers have run,
// are its own and come to it. Those that wait for the thread that makes it do not
// (signal_children).
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "preload.h"

extern volatile int g_module_sends;

enum { kForks = 400, kLost = 3, kTaken };
static pid_t g_parent;
static volatile int g_ran;  // in the child, each of which has sent SIGUSR2
static volatile int g_value;

static void sends_another(int sig) {
  (void)sig;
  if (getpid() != g_parent) ++g_ran;
  CHECK(raise(SIGUSR2) == 0);
}

static void nothing(int sig) { (void)sig; }

static void notes(int sig, siginfo_t* info, void* context) {
  (void)sig;
  (void)context;
  g_value = info->si_value.sival_int;
}

static uint64_t mask_now(void) {
  sigset_t set;
  CHECK(pthread_sigmask(SIG_BLOCK, NULL, &set) == 0);
  return *(uint64_t*)&set;
}

static int pending(int sig) {
  sigset_t set;
  CHECK(sigpending(&set) == 0);
  return sigismember(&set, sig);
}

static void change(int how, int sig) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, sig);
  CHECK(pthread_sigmask(how, &set, NULL) == 0);
}

static int status_of(pid_t child) {
  int status = -1;
  CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
  return WEXITSTATUS(status);
}

// Others send SIGUSR1 to the whole group, so that the kernel gives some of them to a child that it
// is about to make.
static void* forks_under_fire(void* unused) {
  (void)unused;
  change(SIG_BLOCK, SIGUSR2);
  change(SIG_UNBLOCK, SIGUSR1);
  uint64_t mask = mask_now();
  for (int i = 0; i < kForks; ++i) {
    pid_t child = fork();
    if (child == 0) {
      CHECK(mask_now() == mask);
      change(SIG_BLOCK, SIGUSR1);
      int there = pending(SIGUSR2);
      _exit(there == (g_ran != 0) ? 0 : there ? kTaken : kLost);
    }
    CHECK(mask_now() == mask);
    CHECK(status_of(child) == 0);
  }
  change(SIG_BLOCK, SIGUSR1);
  return NULL;
}

static void* forks_beside_the_module(void* unused) {
  (void)unused;
  change(SIG_BLOCK, SIGUSR2);
  change(SIG_BLOCK, SIGURG);
  change(SIG_UNBLOCK, SIGUSR1);
  CHECK(raise(SIGURG) == 0);
  g_module_sends = 1;
  pid_t child = fork();
  g_module_sends = 0;
  if (child == 0) {
    CHECK(g_ran == 1 && pending(SIGUSR2) && pending(SIGURG));
    struct sigaction action = {.sa_sigaction = notes, .sa_flags = SA_SIGINFO};
    CHECK(sigaction(SIGUSR2, &action, NULL) == 0);
    change(SIG_UNBLOCK, SIGUSR2);
    CHECK(g_value == 7);  // the first one counts
    _exit(0);
  }
  CHECK(status_of(child) == 0);
  CHECK(pending(SIGURG) && !pending(SIGUSR2) && g_ran == 0);
  return NULL;
}

int main(void) {
  alarm(120);
  check_tasks();
  CHECK(getpgrp() == getpid() || setpgid(0, 0) == 0);  // refused to the leader of a session
  g_parent = getpid();
  struct sigaction action = {.sa_handler = sends_another, .sa_flags = SA_RESTART};
  change(SIG_BLOCK, SIGUSR1);
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  action.sa_handler = nothing;
  CHECK(sigaction(SIGUSR2, &action, NULL) == 0);
  CHECK(sigaction(SIGURG, &action, NULL) == 0);
  join(java(forks_beside_the_module, NULL));
  pid_t sender = fork();
  if (sender == 0) {
    CHECK(setpgid(0, 0) == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
    while (kill(-g_parent, SIGUSR1) == 0)
      for (volatile int i = 0; i < 3000; ++i) {
      }
    _exit(0);
  }
  sleep_ms(10);
  join(java(forks_under_fire, NULL));
  join(java(forks_under_fire, NULL));
  forks_under_fire(NULL);  // a thread of the kernel's
  CHECK(kill(sender, SIGKILL) == 0 && waitpid(sender, NULL, 0) == sender);
  return 0;
}
