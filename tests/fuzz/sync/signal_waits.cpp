// Waiting for signals: pause, sigsuspend, sigwait and its like.
#include <string.h>

#include "sync/signals.h"

namespace steps {

namespace {

long index_or(int sig) {
  for (int i = 0; i < kSignals; ++i)
    if (signal_number(i) == sig) return i;
  return sig;
}

void taken(Worker& who, const Result& r) {
  if (r.error == 0 && r.rc >= 0 && r.rc < kSignals) g_sent_while_blocked[who.index][r.rc] = false;
}

// Of what the worker blocks. how: 0 sigwait, 1 sigwaitinfo, 2 sigtimedwait, 3 briefly, 4 not at all
bool make_wait(World& world, Worker* w, Op* op) {
  if (w == nullptr || w->blocked == 0) return false;
  int how = world.random.below(5);
  uint64_t bits = w->blocked & world.random.next();
  if (bits == 0) bits = w->blocked;
  int pending = 0;
  for (int i = 0; i < kSignals; ++i)
    pending += (bits >> i & 1) != 0 && g_sent_while_blocked[w->index][i];
  bool waits = how < 3 && pending == 0;
  if (waits && world.count_busy() > world.workers_wanted - 2) return false;
  static const char* const names[] = {"sigwait", "sigwaitinfo", "sigtimedwait 20 s",
                                      "sigtimedwait 5 ms", "sigtimedwait 0"};
  op->name = format("%s %lx", names[how], bits);
  op->ends_by_itself = !waits && (how >= 3);
  op->waits_as = "sigwait";
  op->body = [how, bits](Worker&) {
    sigset_t set = set_of(bits);
    siginfo_t info;
    memset(&info, 0, sizeof info);
    int sig = 0;
    if (how == 0) {
      int e = sigwait(&set, &sig);
      return e != 0 ? by_number(e) : Result{index_or(sig)};
    }
    timespec t{how == 2 ? 20 : 0, how == 3 ? 5000000 : 0};
    sig = how == 1 ? sigwaitinfo(&set, &info) : sigtimedwait(&set, &info, &t);
    if (sig < 0) return by_errno(sig);
    return Result{index_or(sig), 0,
                  format("%ld from us %d", index_or(info.si_signo), info.si_pid == getpid())};
  };
  op->after = taken;
  return true;
}

bool make_suspend(World& world, Worker* w, Op* op) {
  if (w == nullptr || world.count_busy() > world.workers_wanted - 2) return false;
  bool pauses = world.random.one_in(2);
  uint64_t bits = world.random.next() & ((1u << kSignals) - 1);
  if (pauses) bits = w->blocked;
  // What comes in there at once, several handlers: one only.
  for (int i = 0; i < kSignals; ++i)
    if (g_dispositions[i].once()) return false;
  op->name = pauses ? "pause" : format("sigsuspend %lx", bits);
  op->ends_by_itself = false;
  op->waits_as = "suspend";
  op->body = [pauses, bits](Worker&) {
    sigset_t set = set_of(bits);
    Result r = by_errno(pauses ? pause() : sigsuspend(&set));
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, nullptr, &now);
    unsigned mask = 0;
    for (int i = 0; i < kSignals; ++i)
      if (sigismember(&now, signal_number(i))) mask |= 1u << i;
    r.note = format("mask %x", mask);
    return r;
  };
  op->after = [bits](Worker& who, const Result&) {
    for (int i = 0; i < kSignals; ++i)
      if ((bits >> i & 1) == 0) g_sent_while_blocked[who.index][i] = false;
  };
  return true;
}

// To those that wait for it.
bool make_awaited(World& world, Worker*, Op* op) {
  for (Worker& target : world.workers) {
    if (!target.busy() ||
        (target.current.waits_as != "sigwait" && target.current.waits_as != "suspend"))
      continue;
    int i = world.random.below(kSignals);
    if (g_dispositions[i].spent || (blocks(target, i) && g_sent_while_blocked[target.index][i]))
      return false;
    make_send(world, &target, i, op);
    return true;
  }
  return false;
}

bool make_blocking(World& world, Worker* w, Op* op) {
  if (w == nullptr || w->blocked != 0) return false;
  uint64_t bits = (world.random.next() | 1) & ((1u << kSignals) - 1);
  for (int i = 0; i < kSignals; ++i)
    if (g_dispositions[i].once()) bits &= ~(uint64_t{1} << i);
  op->name = format("sigprocmask %lx", bits);
  op->body = [bits](Worker&) {
    sigset_t set = set_of(bits);
    return by_errno(sigprocmask(SIG_SETMASK, &set, nullptr));
  };
  op->after = [bits](Worker& who, const Result&) { who.blocked = bits; };
  return true;
}

}  // namespace

Family signal_wait_family() {
  return {"sigwait",
          prepare_signals,
          {make_wait, make_wait, make_suspend, make_awaited, make_awaited, make_blocking,
           make_blocking}};
}

}  // namespace steps
