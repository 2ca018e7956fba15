// The handlers, and the signals they are for.
#include <fcntl.h>
#include <linux/futex.h>
#include <semaphore.h>
#include <setjmp.h>
#include <string.h>
#include <sys/syscall.h>

#include "sync/signals.h"

namespace steps {

Disposition g_dispositions[kSignals];
bool g_sent_while_blocked[kMaxWorkers][kSignals];
sem_t g_posted;
std::atomic<bool> g_for_process{false};
int g_pipe[2];
int g_line[2];
char g_stacks[kMaxWorkers][kSignalStack];

int signal_number(int i) {
  const int numbers[kSignals] = {SIGUSR1, SIGUSR2, SIGTERM, SIGRTMIN + 2, SIGRTMIN + 5};
  return numbers[i];
}

sigset_t set_of(uint64_t bits) {
  sigset_t set;
  sigemptyset(&set);
  for (int i = 0; i < kSignals; ++i)
    if ((bits >> i & 1) != 0) sigaddset(&set, signal_number(i));
  return set;
}
uint64_t bits_of(const sigset_t& set) {
  uint64_t bits = 0;
  for (int i = 0; i < kSignals; ++i)
    if (sigismember(&set, signal_number(i))) bits |= uint64_t{1} << i;
  return bits;
}

namespace {

int index_of(int sig) {
  for (int i = 0; i < kSignals; ++i)
    if (signal_number(i) == sig) return i;
  return 0;
}

void handle(int sig, long code, bool informed) {
  int saved = errno;
  Worker* w = t_me;
  int i = index_of(sig);
  const Disposition& d = g_dispositions[i];
  Events& events = w != nullptr && !g_for_process.load() ? w->events : g_world->elsewhere;
  char here;
  bool on_stack =
      w != nullptr && &here >= g_stacks[w->index] && &here < g_stacks[w->index] + kSignalStack;
  sigset_t now;
  pthread_sigmask(SIG_BLOCK, nullptr, &now);
  events.add("handles %ld", i);
  if (informed) events.add("siginfo of %ld code %ld", i, code);
  if (on_stack) events.add("on its signal stack, %ld", i);
  if (!sigismember(&now, sig)) events.add("%ld not blocked in its handler", i);
  if ((d.mask & ~bits_of(now)) != 0) events.add("sa_mask of %ld is not blocked", i);
  if (w != nullptr && (!pthread_equal(pthread_self(), w->thread) || gettid() != w->tid))
    events.add("IDENTITY in a handler");
  switch (d.does) {
    case Does::Posts:
      sem_post(&g_posted);
      break;
    case Does::Writes:
      (void)!(write(g_pipe[1], "s", 1) + write(g_line[1], "s", 1));
      break;
    case Does::Raises:
      if (w != nullptr && w->depth == 0 && i != 0 && !g_dispositions[0].once()) {
        ++w->depth;
        pthread_kill(pthread_self(), signal_number(0));
        --w->depth;
      }
      break;
    case Does::Sleeps: {
      timespec t{0, 1000000};
      nanosleep(&t, nullptr);
      break;
    }
    case Does::Waits: {
      uint32_t word = 0;
      timespec t{0, 1000000};
      syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &t, nullptr, 0);
      break;
    }
    case Does::Jumps:
      if (w != nullptr && w->jump != nullptr) {
        auto* to = static_cast<sigjmp_buf*>(w->jump);
        w->jump = nullptr;
        errno = saved;
        siglongjmp(*to, 1 + i);
      }
      break;
    case Does::Nothing:
      break;
  }
  errno = saved;
}
void on_plain(int sig) { handle(sig, 0, false); }
void on_info(int sig, siginfo_t* info, void*) { handle(sig, info->si_code, true); }

}  // namespace

int install(int i, const Disposition& d) {
  struct sigaction a;
  memset(&a, 0, sizeof a);
  a.sa_flags = d.flags;
  a.sa_mask = set_of(d.mask);
  if ((d.flags & SA_SIGINFO) != 0)
    a.sa_sigaction = on_info;
  else
    a.sa_handler = on_plain;
  if (d.ignored) a.sa_handler = SIG_IGN, a.sa_flags = 0;
  return sigaction(signal_number(i), &a, nullptr);
}

void prepare_signals(World& world) {
  static bool first = true;
  if (!first) return;
  first = false;
  sem_init(&g_posted, 0, 0);
  if (pipe2(g_pipe, O_NONBLOCK) != 0 || pipe2(g_line, 0) != 0) return;
  for (int i = 0; i < kSignals; ++i) {
    g_dispositions[i].flags = i % 2 == 0 ? SA_SIGINFO : SA_RESTART;
    install(i, g_dispositions[i]);
  }
  world.when_ended.push_back([](int index) {
    for (bool& sent : g_sent_while_blocked[index]) sent = false;
  });
}

}  // namespace steps
