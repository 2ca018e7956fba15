// Handlers put in, masks, signal stacks, and signals to workers in every kind of wait.
#include "sync/signals.h"

#include <linux/futex.h>
#include <setjmp.h>
#include <sys/syscall.h>

namespace steps {

namespace {

bool anyone_blocks(World& world, int i) {
  for (Worker& w : world.workers)
    if (blocks(w, i)) return true;
  return false;
}

bool make_action(World& world, Worker*, Op* op) {
  int i = world.random.below(kSignals);
  Disposition d;
  d.ignored = world.random.one_in(8);
  for (int flag : {SA_RESTART, SA_ONSTACK, SA_NODEFER, SA_SIGINFO})
    if (world.random.one_in(2)) d.flags |= flag;
  if (!anyone_blocks(world, i) && world.random.one_in(8)) d.flags |= kOnce;
  if (world.random.one_in(3)) d.mask = world.random.next() & ((1u << kSignals) - 1);
  d.does = world.random.of({Does::Nothing, Does::Posts, Does::Writes, Does::Jumps, Does::Raises,
                            Does::Sleeps, Does::Waits});
  // A signal that is ignored is discarded where it is pending, too.
  if (d.ignored && anyone_blocks(world, i)) return false;
  op->name = format("sigaction %d: %s flags %x mask %lx does %d", i,
                    d.ignored ? "ignored" : "handled", d.flags, d.mask, static_cast<int>(d.does));
  op->touches_others = false;
  op->body = [i, d](Worker&) {
    g_dispositions[i] = d;
    return by_errno(install(i, d));
  };
  return true;
}

bool make_mask(World& world, Worker* w, Op* op) {
  if (w == nullptr) return false;
  int how = world.random.of({SIG_BLOCK, SIG_UNBLOCK, SIG_UNBLOCK, SIG_SETMASK});
  uint64_t bits = 0;
  sigset_t set;
  sigemptyset(&set);
  for (int i = 0; i < kSignals; ++i)
    if (world.random.one_in(3) && !g_dispositions[i].once()) {
      bits |= 1u << i;
      sigaddset(&set, signal_number(i));
    }
  op->name = format("mask how %d bits %lx", how, bits);
  op->body = [how, set](Worker&) {
    sigset_t before;
    int e = pthread_sigmask(how, &set, &before);
    unsigned was = 0;
    for (int i = 0; i < kSignals; ++i)
      if (sigismember(&before, signal_number(i))) was |= 1u << i;
    return by_number(e, format("was %x", was));
  };
  op->after = [how, bits](Worker& who, const Result&) {
    who.blocked = how == SIG_BLOCK     ? who.blocked | bits
                  : how == SIG_UNBLOCK ? who.blocked & ~bits
                                       : bits;
    for (int i = 0; i < kSignals; ++i)
      if (!blocks(who, i)) g_sent_while_blocked[who.index][i] = false;
  };
  return true;
}

bool make_pending(World&, Worker* w, Op* op) {
  if (w == nullptr) return false;
  op->name = "sigpending";
  op->body = [](Worker&) {
    sigset_t set;
    sigemptyset(&set);
    int e = sigpending(&set);
    unsigned bits = 0;
    for (int i = 0; i < kSignals; ++i)
      if (sigismember(&set, signal_number(i))) bits |= 1u << i;
    return by_errno(e, format("%x", bits));
  };
  return true;
}

bool make_stack(World& world, Worker* w, Op* op) {
  if (w == nullptr) return false;
  bool on = world.random.one_in(2);
  op->name = on ? "sigaltstack" : "no sigaltstack";
  op->body = [on](Worker& who) {
    stack_t s = {}, old = {};
    s.ss_sp = g_stacks[who.index];
    s.ss_size = kSignalStack;
    s.ss_flags = on ? 0 : SS_DISABLE;
    int e = sigaltstack(&s, &old);
    return by_errno(e, format("was %d %d", old.ss_flags, old.ss_sp == g_stacks[who.index]));
  };
  return true;
}

bool make_kill(World& world, Worker*, Op* op) {
  Worker* target = world.any_living();
  int i = world.random.below(kSignals);
  if (target == nullptr || g_dispositions[i].spent) return false;
  if (blocks(*target, i) && g_sent_while_blocked[target->index][i]) return false;
  make_send(world, target, i, op);
  return true;
}

bool make_raise(World& world, Worker* w, Op* op) {
  int i = world.random.below(kSignals);
  if (w == nullptr || g_dispositions[i].spent) return false;
  if (blocks(*w, i) && g_sent_while_blocked[w->index][i]) return false;
  make_send(world, w, i, op);
  op->name = format("raise %d", i);
  op->body = [i](Worker&) {
    g_for_process.store(false);
    return by_errno(raise(signal_number(i)));
  };
  return true;
}

// To the process: its first thread, which blocks nothing, gets it.
bool make_process(World& world, Worker*, Op* op) {
  int i = world.random.below(kSignals);
  if (g_dispositions[i].spent || g_dispositions[i].does == Does::Jumps) return false;
  for (Worker& w : world.workers)
    if (w.busy() && (w.current.waits_as == "sigwait" || w.current.waits_as == "suspend"))
      return false;
  bool queues = world.random.one_in(2);
  op->name = format("%s %d", queues ? "sigqueue" : "kill", i);
  if (g_dispositions[i].once()) g_dispositions[i].spent = true;
  op->body = [i, queues](Worker&) {
    sigval v;
    g_for_process.store(true);
    v.sival_int = 5;
    return by_errno(queues ? sigqueue(getpid(), signal_number(i), v)
                           : kill(getpid(), signal_number(i)));
  };
  return true;
}

bool make_none(World& world, Worker*, Op* op) {
  Worker* target = world.any_living();
  if (target == nullptr) return false;
  int sig = world.random.of({0, 65, -1, 999});
  op->name = format("pthread_kill of %d to w%d", sig, target->index);
  op->body = [target, sig](Worker&) { return by_number(pthread_kill(target->thread, sig)); };
  return true;
}

bool make_compute(World& world, Worker* w, Op* op) {
  for (Worker& each : world.workers)
    if (each.busy() && each.current.waits_as == "compute") {
      op->name = format("stop w%d", each.index);
      op->expects = [&each] { return !each.busy(); };
      op->body = [&each](Worker&) {
        each.stop.store(true);
        return Result{};
      };
      return true;
    }
  if (w == nullptr) return false;
  op->name = "compute";
  op->ends_by_itself = false;
  op->waits_as = "compute";
  op->body = [](Worker& who) {
    errno = 77;
    while (!who.stop.load(std::memory_order_relaxed)) {
    }
    who.stop.store(false);
    return Result{0, 0, errno == 77 ? "" : "ERRNO changed by a handler"};
  };
  return true;
}

// A wait that a handler may leave by a jump.
bool make_jumpable(World& world, Worker* w, Op* op) {
  if (w == nullptr || world.count_busy() > world.workers_wanted - 2) return false;
  int how = world.random.below(4);
  op->name = format("wait %d that may be left by a jump", how);
  op->ends_by_itself = false;
  op->waits_as = format("jumpable %d", how);
  if (how == 3 && world.waiting(op->waits_as) != nullptr) return false;  // which reads?
  op->body = [how](Worker& who) {
    sigjmp_buf buffer;
    int jumped = sigsetjmp(buffer, 1);
    if (jumped != 0) return Result{jumped, 0, "jumped"};
    who.jump = &buffer;
    uint32_t word = 0;
    timespec t{30, 0};
    char byte;
    long r = -1;
    if (how == 0) r = nanosleep(&t, nullptr);
    if (how == 1) r = pause();
    if (how == 2) r = syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
    if (how == 3) r = read(g_line[0], &byte, 1);
    int error = errno;
    who.jump = nullptr;
    return Result{r, r == -1 ? error : 0, ""};
  };
  return true;
}

bool make_posted(World&, Worker*, Op* op) {
  op->name = "what handlers have posted and written";
  op->body = [](Worker&) {
    int n = 0, bytes = 0;
    while (sem_trywait(&g_posted) == 0) ++n;
    char c;
    while (read(g_pipe[0], &c, 1) == 1) ++bytes;
    return Result{n * 100 + bytes};
  };
  return true;
}

}  // namespace

void make_send(World& world, Worker* target, int i, Op* op) {
  int how = world.random.below(5);
  static const char* const names[] = {"pthread_kill", "tgkill", "syscall tgkill", "syscall tkill",
                                      "pthread_sigqueue"};
  op->name = format("%s %d to w%d", names[how], i, target->index);
  if (blocks(*target, i)) g_sent_while_blocked[target->index][i] = true;
  if (g_dispositions[i].once()) g_dispositions[i].spent = true;
  if (target->current.waits_as == "compute" && target->busy() && !blocks(*target, i) &&
      !g_dispositions[i].ignored)
    op->expects = [target, before = target->events.count()] {
      return target->events.count() != before || !target->busy();
    };
  op->body = [how, target, i](Worker&) {
    g_for_process.store(false);
    int sig = signal_number(i);
    sigval v;
    v.sival_int = 3;
    switch (how) {
      case 0:
        return by_number(pthread_kill(target->thread, sig));
      case 1:
        return by_errno(tgkill(getpid(), target->tid, sig));
      case 2:
        return by_errno(syscall(SYS_tgkill, getpid(), target->tid, sig));
      case 3:
        return by_errno(syscall(SYS_tkill, target->tid, sig));
      default:
        return by_number(pthread_sigqueue(target->thread, sig, v));
    }
  };
}

Family signal_family() {
  return {
      "signal",
      prepare_signals,
      {make_action, make_mask, make_pending, make_stack, make_kill, make_kill, make_kill, make_kill,
       make_raise, make_process, make_none, make_compute, make_jumpable, make_posted}};
}

}  // namespace steps
