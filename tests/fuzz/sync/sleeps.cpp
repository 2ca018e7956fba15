// Sleeping, yielding, computing; timers of the process.
#include <sched.h>
#include <sys/time.h>
#include <threads.h>

#include "sync/steps.h"

namespace steps {

namespace {

// What is left of a sleep that a handler has ended.
std::string left_of(const timespec& left, long ms) {
  int64_t ns = left.tv_sec * 1000000000l + left.tv_nsec;
  return ns > 0 && ns <= ms * 1000000 ? "sane rest"
                                      : format("INSANE rest %ld", static_cast<long>(ns));
}

bool make_sleep(World& world, Worker* w, Op* op) {
  if (w == nullptr) return false;
  int how = world.random.below(7);
  bool waits = world.random.one_in(2);
  if (waits && (world.count_busy() > world.workers_wanted - 2)) return false;
  long ms = waits ? 30000 : world.random.of({0L, 1L, 7L});
  static const char* const names[] = {"nanosleep", "clock_nanosleep", "clock_nanosleep realtime",
                                      "until",     "until realtime",  "usleep",
                                      "thrd_sleep"};
  op->name = format("%s %ld ms", names[how], ms);
  op->ends_by_itself = !waits;
  op->touches_others = waits;
  op->waits_as = waits ? "sleep" : "";
  op->body = [how, ms](Worker&) {
    timespec t{ms / 1000, ms % 1000 * 1000000}, left{0, 0};
    uint64_t start = now_ns(CLOCK_MONOTONIC);
    clockid_t clock = how == 2 || how == 4 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
    Result r;
    if (how == 0)
      r = by_errno(nanosleep(&t, &left));
    else if (how == 1 || how == 2)
      r = by_number(clock_nanosleep(clock, 0, &t, &left));
    else if (how == 5)
      return by_errno(usleep(static_cast<useconds_t>(ms * 1000)));
    else if (how == 6)
      r = Result{thrd_sleep(&t, &left)};
    else {
      timespec at = after_ms(clock, ms);
      return by_number(clock_nanosleep(clock, TIMER_ABSTIME, &at, nullptr));
    }
    if (r.error == EINTR || (how == 6 && r.rc == -1))
      r.note = left_of(left, ms);
    else if (r.rc == 0)
      r.note = unless_after(CLOCK_MONOTONIC, start, ms);
    return r;
  };
  return true;
}

bool make_seconds(World& world, Worker* w, Op* op) {
  if (w == nullptr || world.count_busy() > world.workers_wanted - 2) return false;
  op->name = "sleep(30)";
  op->ends_by_itself = false;
  op->waits_as = "sleep";
  op->body = [](Worker&) {
    unsigned left = sleep(30);
    return Result{left <= 30 && left > 10 ? 1 : static_cast<long>(left)};
  };
  return true;
}

bool make_wrong(World& world, Worker* w, Op* op) {
  int how = world.random.below(6);
  op->name = format("wrong sleep %d", how);
  op->touches_others = false;
  op->body = [how](Worker&) {
    timespec bad{0, 1000000000}, negative{-1, 0}, none{0, 0}, ancient{1, 0};
    switch (how) {
      case 0:
        return by_errno(nanosleep(&bad, nullptr));
      case 1:
        return by_errno(nanosleep(&negative, nullptr));
      case 2:
        return by_number(clock_nanosleep(77, 0, &none, nullptr));
      case 3:
        return by_number(clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, 0, &none, nullptr));
      case 4:
        return by_number(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ancient, nullptr));
      default:
        return by_number(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &negative, nullptr));
    }
  };
  (void)w;
  return true;
}

bool make_yield(World&, Worker*, Op* op) {
  op->name = "sched_yield";
  op->touches_others = false;
  op->body = [](Worker&) {
    int e = 0;
    for (int i = 0; i < 100; ++i) e |= sched_yield();
    return by_errno(e);
  };
  return true;
}

// ---- timers of the process
// ----------------------

std::atomic<int> g_alarms{0};

// Linux prefers the thread that runs when the timer expires (from 6.4 on).
void on_alarm(int) {
  g_world->elsewhere.add("SIGALRM");
  g_alarms.fetch_add(1);
}
void wait_for_change(std::atomic<int>& number, int from) {
  for (int i = 0; number.load() == from && i < 3000; ++i) sleep_ms(1);
}

void prepare_timers(World&) {
  struct sigaction a = {};
  a.sa_handler = on_alarm;
  a.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &a, nullptr);
}

bool make_itimer(World& world, Worker* w, Op* op) {
  bool alarms = world.random.one_in(3);
  op->name = alarms ? "alarm, asked and taken back" : "setitimer of 3 ms";
  op->body = [alarms](Worker&) {
    if (alarms) {
      unsigned none = alarm(100), was = alarm(0);
      return Result{static_cast<long>(none) * 1000 + was};
    }
    int alarms_before = g_alarms.load();
    itimerval t{{0, 0}, {0, 3000}}, old;
    int e = setitimer(ITIMER_REAL, &t, &old);
    wait_for_change(g_alarms, alarms_before);
    return by_errno(e);
  };
  (void)w;
  return true;
}

bool make_timer(World& world, Worker* w, Op* op) {
  bool by_thread = world.random.one_in(2), monotonic = world.random.one_in(2);
  op->name = by_thread ? "timer that calls a function" : "timer that sends SIGALRM";
  op->body = [by_thread, monotonic](Worker&) {
    static std::atomic<int> called;
    called.store(0);
    int before = by_thread ? 0 : g_alarms.load();
    sigevent event = {};
    event.sigev_notify = by_thread ? SIGEV_THREAD : SIGEV_SIGNAL;
    event.sigev_signo = SIGALRM;
    if (by_thread) {
      event.sigev_value.sival_int = 17;
      event.sigev_notify_function = [](sigval v) {
        g_world->elsewhere.add("timer's function with %ld", v.sival_int);
        called.store(1);
      };
    }
    timer_t timer;
    int made = timer_create(monotonic ? CLOCK_MONOTONIC : CLOCK_REALTIME, &event, &timer);
    if (made != 0) return by_errno(made);
    itimerspec t{{0, 0}, {0, 4000000}}, left;
    int set = timer_settime(timer, 0, &t, nullptr);
    timer_gettime(timer, &left);
    bool sane = left.it_value.tv_sec == 0 && left.it_value.tv_nsec <= 4000000;
    wait_for_change(by_thread ? called : g_alarms, before);
    int deleted = timer_delete(timer);
    return Result{set, 0, format("%d %d", sane, deleted)};
  };
  (void)w;
  return true;
}

}  // namespace

Family sleep_family() {
  return {
      "sleep", nullptr, {make_sleep, make_sleep, make_sleep, make_seconds, make_wrong, make_yield}};
}
Family timer_family() { return {"timer", prepare_timers, {make_itimer, make_timer}}; }

}  // namespace steps
