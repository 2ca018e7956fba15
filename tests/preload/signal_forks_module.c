// A library that was there before libwisp.so: its fork handler runs in the child first of all.
#include <pthread.h>
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

volatile int g_module_sends;

static void in_child(void) {
  if (!g_module_sends) return;
  union sigval value = {.sival_int = 7};
  pthread_sigqueue(pthread_self(), SIGUSR2, value);
  kill(getpid(), SIGUSR1);
  raise(SIGURG);
}

__attribute__((constructor)) static void begin(void) { pthread_atfork(NULL, NULL, in_child); }
