// Threads that begin, end, are joined, detached and cancelled; what runs at their end.
#include <limits.h>
#include <string.h>

#include "sync/steps.h"

namespace steps {

namespace {

pthread_key_t g_keys[2];

void at_end(void* value) {
  long left = reinterpret_cast<long>(value);
  Events& events = t_me != nullptr ? t_me->events : g_world->elsewhere;
  events.add("key destructor with %ld", left);
  if (left > 1) pthread_setspecific(g_keys[0], reinterpret_cast<void*>(left - 1));
}

struct Farewell {
  int value = 0;
  ~Farewell() {
    if (value != 0 && t_me != nullptr) t_me->events.add("thread_local destructor %ld", value);
  }
};
thread_local Farewell t_farewell;

void prepare(World&) {
  pthread_key_create(&g_keys[0], at_end);
  pthread_key_create(&g_keys[1], nullptr);
}

bool make_key(World& world, Worker* w, Op* op) {
  if (w == nullptr) return false;
  long value = world.random.below(6);
  op->name = format("keys and thread_local %ld", value);
  op->touches_others = false;
  op->body = [value](Worker&) {
    long before = reinterpret_cast<long>(pthread_getspecific(g_keys[0]));
    long other = reinterpret_cast<long>(pthread_getspecific(g_keys[1]));
    pthread_setspecific(g_keys[0], reinterpret_cast<void*>(value));
    pthread_setspecific(g_keys[1], reinterpret_cast<void*>(value + 1));
    int local = t_farewell.value;
    t_farewell.value = static_cast<int>(value);
    return Result{before, 0, format("%ld %d", other, local)};
  };
  return true;
}

void cleanup(void* n) { t_me->events.add("cleanup handler %ld", reinterpret_cast<long>(n)); }
struct Unwound {
  ~Unwound() { t_me->events.add("unwound"); }
};

bool make_exit(World& world, Worker* w, Op* op) {
  if (w == nullptr || world.random.one_in(2)) return false;
  int n = world.random.below(3);
  op->name = format("pthread_exit under %d handlers", n);
  op->body = [n](Worker& who) {
    who.end_value = 100 + who.index;
    Unwound unwound;
    pthread_cleanup_push(cleanup, reinterpret_cast<void*>(1));
    if (n > 0) {
      pthread_cleanup_push(cleanup, reinterpret_cast<void*>(2));
      if (n > 1) pthread_exit(reinterpret_cast<void*>(who.end_value));
      pthread_cleanup_pop(0);
    }
    pthread_exit(reinterpret_cast<void*>(who.end_value));
    pthread_cleanup_pop(0);
    return Result{};
  };
  return true;
}

bool make_cancel(World& world, Worker*, Op* op) {
  // Only who is idle: a task is not woken from a wait (runtime/interpose/threads.cpp).
  Worker* target = world.idle_worker();
  if (target == nullptr) return false;
  target->canceled = true;
  op->name = format("cancel w%d", target->index);
  op->body = [target](Worker&) { return by_number(pthread_cancel(target->thread)); };
  return true;
}

bool make_state(World& world, Worker* w, Op* op) {
  if (w == nullptr) return false;
  bool off = world.random.one_in(2);
  op->name = off ? "cancel disabled" : "cancel enabled";
  op->touches_others = false;
  op->body = [off](Worker&) {
    int before = -1, type = -1;
    int e = pthread_setcancelstate(off ? PTHREAD_CANCEL_DISABLE : PTHREAD_CANCEL_ENABLE, &before);
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
    return by_number(e, format("%d %d", before, type));
  };
  op->after = [off](Worker& who, const Result&) { who.cancel_off = off; };
  return true;
}

std::string value_name(Worker& w, void* value) {
  if (value == PTHREAD_CANCELED) return "canceled";
  return reinterpret_cast<long>(value) == w.end_value
             ? "its value"
             : format("%ld", reinterpret_cast<long>(value));
}

// how: 0 for ever, 1 try, 2 timed, 3 clock monotonic, 4 clock wrong
bool make_join(World& world, Worker* w, Op* op) {
  Worker& target = world.workers[world.random.below(kMaxWorkers)];
  State s = target.state.load();
  if (s == State::Gone || target.detached || target.joined_by_op || &target == w) return false;
  int how = world.random.below(5);
  bool ended = s == State::Ended;
  if (w == nullptr && how == 0 && !ended) return false;
  if (how == 0 && !ended && world.count_busy() > world.workers_wanted - 3) return false;
  if (how == 4 && ended) return false;
  op->name = format("join how %d of w%d", how, target.index);
  op->ends_by_itself = how != 0 || ended;
  op->waits_as = how == 0 ? "join" : "";
  target.joined_by_op = true;
  op->body = [how, &target](Worker&) {
    void* value = nullptr;
    clockid_t clock = how == 3   ? CLOCK_MONOTONIC
                      : how == 4 ? CLOCK_PROCESS_CPUTIME_ID
                                 : CLOCK_REALTIME;
    uint64_t start = now_ns(clock);
    timespec t = after_ms(clock, 6);
    int e = how == 0   ? pthread_join(target.thread, &value)
            : how == 1 ? pthread_tryjoin_np(target.thread, &value)
            : how == 2 ? pthread_timedjoin_np(target.thread, &value, &t)
                       : pthread_clockjoin_np(target.thread, &value, clock, &t);
    return by_number(e, e == 0           ? value_name(target, value)
                        : e == ETIMEDOUT ? unless_after(clock, start, 6)
                                         : "");
  };
  op->after = [&target](Worker&, const Result& r) {
    target.joined_by_op = false;
    if (r.error == 0) target.state.store(State::Gone);
  };
  return true;
}

bool make_self(World&, Worker* w, Op* op) {
  if (w == nullptr || w->detached || w->joined_by_op) return false;
  op->name = "join of itself";
  op->touches_others = false;
  op->body = [](Worker&) {
    return by_number(pthread_join(pthread_self(), nullptr),
                     format("%d", pthread_tryjoin_np(pthread_self(), nullptr)));
  };
  return true;
}

bool make_detach(World& world, Worker*, Op* op) {
  Worker* target = world.any_living();
  if (target == nullptr || target->detached || target->joined_by_op || !world.random.one_in(3))
    return false;
  target->detached = true;
  op->name = format("detach w%d", target->index);
  op->body = [target](Worker&) {
    int e = pthread_detach(target->thread);
    return by_number(e, format("%d", pthread_detach(target->thread)));
  };
  return true;
}

// A new worker in a place whose last one has ended.
bool make_start(World& world, Worker* w, Op* op) {
  for (Worker& place : world.workers) {
    if (place.index >= world.workers_wanted) continue;
    State s = place.state.load();
    if (s == State::Ended && place.detached) s = State::Gone;
    if (s != State::Gone || &place == w) continue;
    long stack =
        world.random.of({0L, static_cast<long>(PTHREAD_STACK_MIN) + 65536, 1L << 20, 3L << 20});
    bool detached = world.random.one_in(6);
    size_t guard = world.random.of({0u, 4096u, 65536u});
    uint64_t blocked = w != nullptr ? w->blocked : 0;
    Kind kind = world.random.one_in(4) ? Kind::Native : Kind::Java;
    op->name =
        format("start w%d stack %ld%s", place.index, stack, kind == Kind::Native ? " native" : "");
    op->body = [&place, stack, detached, guard, kind](Worker&) {
      pthread_attr_t a;
      pthread_attr_init(&a);
      if (stack != 0) pthread_attr_setstacksize(&a, static_cast<size_t>(stack));
      pthread_attr_setguardsize(&a, guard);
      if (detached) pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
      place.state.store(State::Gone);
      bool ok = g_world->start_worker(kind, place.index, &a, detached ? "detached" : "joinable");
      pthread_attr_destroy(&a);
      return Result{ok};
    };
    op->after = [&place, detached, blocked](Worker&, const Result&) {
      place.detached = detached;
      place.blocked = blocked;
    };
    return true;
  }
  return false;
}

bool make_wave(World& world, Worker*, Op* op) {
  int n = 1 + world.random.below(8);
  op->name = format("a wave of %d threads", n);
  op->body = [n](Worker&) {
    std::vector<pthread_t> list;
    long sum = 0;
    for (long i = 0; i < n; ++i) {
      pthread_t t;
      if (start_thread(
              Kind::Java, &t, nullptr,
              [](void* p) -> void* {
                sleep_ms(reinterpret_cast<long>(p) % 3);
                return p;
              },
              reinterpret_cast<void*>(i)) == 0)
        list.push_back(t);
    }
    for (pthread_t t : list) {
      void* value = nullptr;
      pthread_join(t, &value);
      sum += reinterpret_cast<long>(value);
    }
    return Result{sum};
  };
  return true;
}

bool make_ended_kill(World& world, Worker*, Op* op) {
  for (Worker& target : world.workers)
    if (target.state.load() == State::Ended && !target.detached && !target.joined_by_op) {
      int sig = world.random.of({0, static_cast<int>(SIGURG)});
      op->name = format("pthread_kill %d and cancel of ended w%d", sig, target.index);
      op->body = [&target, sig](Worker&) {
        int e = pthread_kill(target.thread, sig);
        return by_number(e, format("%d", pthread_cancel(target.thread)));
      };
      return true;
    }
  return false;
}

}  // namespace

bool accept_cancellation(World&, Worker* w, Op* op) {
  if (w == nullptr) return false;
  op->name = "testcancel";
  op->body = [](Worker& who) {
    who.end_value = -1;
    Unwound unwound;
    pthread_cleanup_push(cleanup, reinterpret_cast<void*>(5));
    pthread_testcancel();
    pthread_cleanup_pop(0);
    who.end_value = 0;
    return Result{};
  };
  return true;
}

Family thread_family() {
  return {"thread",
          prepare,
          {make_key, make_exit, make_exit, make_cancel, accept_cancellation, make_state, make_join,
           make_join, make_join, make_self, make_detach, make_start, make_start, make_start,
           make_wave, make_ended_kill}};
}

}  // namespace steps
