// What belongs to a thread stays with it: names, numbers, clocks, floating-point state, locale.
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "sync/steps.h"

namespace steps {

namespace {

thread_local long t_number = 0;

bool make_name(World& world, Worker* w, Op* op) {
  Worker* target = world.any_living();
  if (target == nullptr || w == nullptr) return false;
  int how = world.random.below(4), n = world.random.below(1000);
  if (how != 0) target = w;
  op->name = format("name w%d n%d how %d", target->index, n, how);
  op->body = [=](Worker& who) {
    std::string name = how == 3 ? std::string(20, 'x') : format("n%d", n);
    int e = how == 1 ? prctl(PR_SET_NAME, name.c_str())
                     : pthread_setname_np(target->thread, name.c_str());
    char got[32] = "", by_prctl[17] = "", comm[32] = "";
    pthread_getname_np(target->thread, got, sizeof got);
    prctl(PR_GET_NAME, by_prctl);
    int fd = open(format("/proc/self/task/%d/comm", who.tid).c_str(), O_RDONLY);
    ssize_t length = fd >= 0 ? read(fd, comm, sizeof comm - 1) : -1;
    if (length > 0) comm[length - 1] = 0;
    close(fd);
    return by_number(e, format("%s %s %s", got, by_prctl, comm));
  };
  return true;
}

bool make_names(World& world, Worker*, Op* op) {
  op->name = "names of all";
  op->touches_others = false;
  (void)world;
  op->body = [](Worker&) {
    std::string all;
    for (Worker& w : g_world->workers) {
      if (!w.idle() && !w.busy()) continue;
      char got[32] = "";
      int e = pthread_getname_np(w.thread, got, sizeof got);
      all += format(" %s%d", got, e);
    }
    return Result{0, 0, all};
  };
  return true;
}

bool make_numbers(World&, Worker* w, Op* op) {
  if (w == nullptr) return false;
  op->name = "numbers";
  op->touches_others = false;
  op->body = [](Worker& who) {
    bool tids = gettid() == who.tid && syscall(SYS_gettid) == who.tid;
    int cpu = sched_getcpu();
    pthread_attr_t a;
    int e = pthread_getattr_np(pthread_self(), &a);
    void* base = nullptr;
    size_t size = 0;
    pthread_attr_getstack(&a, &base, &size);
    char* here = reinterpret_cast<char*>(&e);
    bool inside = here >= base && here < static_cast<char*>(base) + size;
    int detached = -1;
    pthread_attr_getdetachstate(&a, &detached);
    pthread_attr_destroy(&a);
    return by_number(e, format("%d %d %d %d", tids, cpu >= 0, inside, detached));
  };
  return true;
}

bool make_clock(World&, Worker* w, Op* op) {
  if (w == nullptr) return false;
  op->name = "its CPU clock";
  op->touches_others = false;
  op->body = [](Worker&) {
    clockid_t clock;
    int e = pthread_getcpuclockid(pthread_self(), &clock);
    uint64_t a = now_ns(clock), b = now_ns(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < 300000; ++i) {
      asm volatile("");
    }
    uint64_t c = now_ns(clock), d = now_ns(CLOCK_THREAD_CPUTIME_ID);
    rusage before, after;
    int u = getrusage(RUSAGE_THREAD, &before);
    u |= getrusage(RUSAGE_THREAD, &after);
    auto us = [](const rusage& r) {
      return r.ru_utime.tv_sec * 1000000l + r.ru_utime.tv_usec + r.ru_stime.tv_sec * 1000000l +
             r.ru_stime.tv_usec;
    };
    bool near = d - a < 2000000000u;
    return by_number(e, format("%d %d %d %d %d", a <= b, b <= c, c <= d, near,
                               u == 0 && us(before) <= us(after)));
  };
  return true;
}

// Clocks of the others do not go back either, nor does that of a thread that waits go on.
bool make_other_clock(World& world, Worker*, Op* op) {
  Worker* target = world.any_living();
  if (target == nullptr) return false;
  bool waits =
      target->busy() && target->current.waits_as != "compute" && target->current.waits_as != "spin";
  op->name = format("CPU clock of w%d", target->index);
  op->body = [target, waits](Worker& who) {
    clockid_t clock;
    int e = pthread_getcpuclockid(target->thread, &clock);
    uint64_t a = now_ns(clock);
    sleep_ms(2);
    uint64_t b = now_ns(clock);
    bool other = target != &who && waits;
    return by_number(e, format("%d %d", a <= b, !other || b - a < 2000000));
  };
  return true;
}

bool make_state(World& world, Worker* w, Op* op) {
  if (w == nullptr) return false;
  int round = world.random.of({FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO});
  bool local = world.random.one_in(2);
  long n = world.random.below(1000);
  op->name = format("rounding %x, locale %d, number %ld", round, local, n);
  op->touches_others = false;
  op->body = [=](Worker&) {
    static locale_t other = newlocale(LC_ALL_MASK, "C.UTF-8", nullptr);
    int was = fegetround();
    fesetround(round);
    // The sticky exception flags are not kept over waits (coroutine/switch_x86_64.S).
    locale_t before = uselocale(local ? other : LC_GLOBAL_LOCALE);
    long number = t_number;
    t_number = n;
    return Result{was, 0, format("%d %ld", before == LC_GLOBAL_LOCALE, number)};
  };
  return true;
}

bool make_scheduling(World& world, Worker* w, Op* op) {
  if (w == nullptr) return false;
  int how = world.random.below(5);
  op->name = format("scheduling %d", how);
  op->touches_others = false;
  op->body = [how](Worker&) {
    sched_param p = {};
    int policy = -1;
    cpu_set_t set;
    CPU_ZERO(&set);
    switch (how) {
      case 0: {
        int e = pthread_getschedparam(pthread_self(), &policy, &p);
        return by_number(e, format("%d %d", policy, p.sched_priority));
      }
      case 1:
        return by_number(pthread_setschedparam(pthread_self(), SCHED_OTHER, &p));
      case 2:
        p.sched_priority = 7;
        return by_number(pthread_setschedparam(pthread_self(), SCHED_OTHER, &p));
      case 3: {
        int e = pthread_getaffinity_np(pthread_self(), sizeof set, &set);
        int same = pthread_setaffinity_np(pthread_self(), sizeof set, &set);
        CPU_ZERO(&set);
        return by_number(
            e, format("%d %d", same, pthread_setaffinity_np(pthread_self(), sizeof set, &set)));
      }
      default:
        errno = 0;
        return by_errno(getpriority(PRIO_PROCESS, 0) >= -20 ? 0 : -1,
                        format("%d", sched_getscheduler(0)));
    }
  };
  return true;
}

bool make_errno(World&, Worker* w, Op* op) {
  if (w == nullptr) return false;
  op->name = "errno over waits";
  op->body = [](Worker& who) {
    errno = 500 + who.index;
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    pthread_mutex_lock(&m);
    timespec t = after_ms(CLOCK_REALTIME, 3);
    int e = pthread_cond_timedwait(&c, &m, &t);
    pthread_mutex_unlock(&m);
    sched_yield();
    usleep(200);
    return by_number(e, errno == 500 + who.index ? "kept" : format("errno %d", errno));
  };
  return true;
}

}  // namespace

Family identity_family() {
  return {"identity",
          nullptr,
          {make_name, make_names, make_numbers, make_clock, make_other_clock, make_state,
           make_scheduling, make_errno}};
}

}  // namespace steps
