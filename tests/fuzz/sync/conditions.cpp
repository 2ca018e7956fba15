// Conditions, each with a mutex of its own that only their operations hold.
#include <sys/mman.h>

#include "sync/steps.h"

namespace steps {

namespace {

struct Condition {
  pthread_cond_t* c;
  pthread_mutex_t* m;
  clockid_t clock;
  std::string name;
  int turn = 0;  // under m: changes with each wake-up
};
constexpr int kConditions = 3;
Condition g_conditions[kConditions];

void prepare_conditions(World& world) {
  char* memory = static_cast<char*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  for (int i = 0; i < kConditions; ++i) {
    Condition& x = g_conditions[i];
    x.c = reinterpret_cast<pthread_cond_t*>(memory + i * 256);
    x.m = reinterpret_cast<pthread_mutex_t*>(memory + i * 256 + 128);
    x.clock = world.random.of({CLOCK_REALTIME, CLOCK_MONOTONIC});
    x.name = format("c%d", i);
    bool shared = world.random.one_in(4), shared_mutex = shared || world.random.one_in(8);
    int type =
        world.random.of({PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_RECURSIVE});
    pthread_condattr_t ca;
    pthread_condattr_init(&ca);
    pthread_condattr_setclock(&ca, x.clock);
    if (shared) pthread_condattr_setpshared(&ca, PTHREAD_PROCESS_SHARED);
    pthread_cond_init(x.c, &ca);
    pthread_mutexattr_t ma;
    pthread_mutexattr_init(&ma);
    pthread_mutexattr_settype(&ma, type);
    if (shared_mutex) pthread_mutexattr_setpshared(&ma, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(x.m, &ma);
    world.log("c%d: clock %d%s, mutex type %d%s", i, static_cast<int>(x.clock),
              shared ? " shared" : "", type, shared_mutex ? " shared" : "");
  }
}

Condition& any_condition(World& world) { return g_conditions[world.random.below(kConditions)]; }

// how: 0 wait, 1 timedwait, 2 clockwait monotonic, 3 clockwait realtime. In a loop, as programs do:
// a handler may end the wait of a task (POSIX allows that; libc goes on).
int wait_on(Condition& x, int how, long ms, std::string* note) {
  clockid_t clock = how <= 1 ? x.clock : how == 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
  uint64_t start = now_ns(clock);
  timespec t = after_ms(clock, ms);
  int e = 0;
  for (int turn = x.turn; e == 0 && x.turn == turn;)
    e = how == 0   ? pthread_cond_wait(x.c, x.m)
        : how == 1 ? pthread_cond_timedwait(x.c, x.m, &t)
                   : pthread_cond_clockwait(x.c, x.m, clock, &t);
  if (e == ETIMEDOUT) *note = unless_after(clock, start, ms);
  return e;
}

bool make_wait(World& world, Worker* w, Op* op) {
  if (w == nullptr) return false;
  Condition& x = any_condition(world);
  int how = world.random.below(4);
  long ms = world.random.of({4L, 9L, -3L, 30000L, 30000L});
  bool waits = how == 0 || ms > 1000;
  if (waits && world.count_busy() > world.workers_wanted - 2) return false;
  op->name = format("%s %s",
                    how == 0   ? "cond_wait"
                    : how == 1 ? "cond_timedwait"
                    : how == 2 ? "cond_clockwait monotonic"
                               : "cond_clockwait realtime",
                    x.name.c_str());
  if (how != 0) op->name += format(" %ld ms", ms);
  op->ends_by_itself = !waits;
  op->waits_as = waits ? "cond " + x.name : "";
  op->body = [&x, how, ms](Worker&) {
    int l = pthread_mutex_lock(x.m);
    std::string note;
    int e = wait_on(x, how, ms, &note);
    int u = pthread_mutex_unlock(x.m);
    if (l != 0 || u != 0) note += format(" lock %d unlock %d", l, u);
    return by_number(e, note);
  };
  return true;
}

bool make_wake(World& world, Worker*, Op* op) {
  Condition& x = any_condition(world);
  int waiters = world.count_waiting("cond " + x.name);
  bool all = waiters > 1 || world.random.one_in(3);
  bool locked = world.random.one_in(2);
  op->name = format("%s %s%s", all ? "cond_broadcast" : "cond_signal", x.name.c_str(),
                    locked ? " locked" : "");
  op->body = [&x, all, locked](Worker&) {
    pthread_mutex_lock(x.m);
    ++x.turn;
    if (!locked) pthread_mutex_unlock(x.m);
    int e = all ? pthread_cond_broadcast(x.c) : pthread_cond_signal(x.c);
    if (locked) pthread_mutex_unlock(x.m);
    return by_number(e);
  };
  return true;
}

bool make_bad(World& world, Worker* w, Op* op) {
  if (w == nullptr) return false;
  Condition& x = any_condition(world);
  int how = world.random.below(3);
  op->name = format("%s %s",
                    how == 0   ? "cond_timedwait of no time"
                    : how == 1 ? "cond_clockwait of no clock"
                               : "cond_wait unlocked, errorcheck",
                    x.name.c_str());
  op->body = [&x, how](Worker&) {
    timespec bad{1, -1}, good{1, 0};
    if (how == 2) {
      pthread_mutex_t m = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
      pthread_cond_t c = PTHREAD_COND_INITIALIZER;
      return by_number(pthread_cond_timedwait(&c, &m, &good));
    }
    pthread_mutex_lock(x.m);
    int e = how == 0 ? pthread_cond_timedwait(x.c, x.m, &bad)
                     : pthread_cond_clockwait(x.c, x.m, CLOCK_PROCESS_CPUTIME_ID, &good);
    pthread_mutex_unlock(x.m);
    return by_number(e);
  };
  return true;
}

// One that waits is given up by its time while another one is woken.
bool make_two(World& world, Worker* w, Op* op) {
  if (w == nullptr) return false;
  Condition& x = any_condition(world);
  if (world.count_waiting("cond " + x.name) != 1) return false;
  op->name = "cond_timedwait behind another, then signal " + x.name;
  op->body = [&x](Worker&) {
    pthread_mutex_lock(x.m);
    std::string note;
    int e = wait_on(x, 1, 6, &note);
    ++x.turn;
    pthread_cond_signal(x.c);
    pthread_mutex_unlock(x.m);
    return by_number(e, note);
  };
  return true;
}

}  // namespace

Family condition_family() {
  return {
      "cond", prepare_conditions, {make_wait, make_wait, make_wake, make_wake, make_bad, make_two}};
}

}  // namespace steps
