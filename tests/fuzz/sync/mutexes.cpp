// Mutexes of all types, spin locks, pthread_once and C11's locks.
#include <sys/mman.h>
#include <threads.h>

#include "sync/steps.h"

namespace steps {

namespace {

struct Mutex {
  pthread_mutex_t* m;
  int type;  // PTHREAD_MUTEX_*
  bool robust, shared;
  // The driver's picture. Ended: the owner's thread has ended.
  int owner = -1;
  int count = 0;
  bool owner_ended = false, inconsistent = false, lost = false;
  std::string name;
};
constexpr int kMutexes = 3;
Mutex g_mutexes[kMutexes];
pthread_spinlock_t g_spin;
int g_spin_owner = -1;
constexpr int kNobody = kMaxWorkers;  // its owner has ended

void prepare_mutexes(World& world) {
  auto* memory = static_cast<pthread_mutex_t*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  for (int i = 0; i < kMutexes; ++i) {
    Mutex& x = g_mutexes[i];
    x.m = &memory[i];
    x.type = world.random.of({PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
                              PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP});
    if (x.type == PTHREAD_MUTEX_ADAPTIVE_NP && world.random.one_in(2))
      x.type = PTHREAD_MUTEX_NORMAL;
    x.robust = world.random.one_in(3);
    x.shared = world.random.one_in(3);
    // Private priority inheritance is known to differ (docs/compatibility.md).
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    int e = pthread_mutexattr_settype(&a, x.type);
    if (x.robust) e |= pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
    if (x.shared) e |= pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
    int made = pthread_mutex_init(x.m, &a);
    pthread_mutexattr_destroy(&a);
    x.name = format("m%d", i);
    world.log("m%d: type %d%s%s %d %d", i, x.type, x.robust ? " robust" : "",
              x.shared ? " shared" : "", e, made);
  }
  pthread_spin_init(&g_spin, PTHREAD_PROCESS_PRIVATE);
  // An owner that has ended leaves its robust mutexes; the others nobody may unlock.
  world.when_ended.push_back([](int index) {
    for (Mutex& x : g_mutexes)
      if (x.owner == index) x.owner_ended = true;
    if (g_spin_owner == index) g_spin_owner = kNobody;
  });
}

Mutex& any_mutex(World& world) { return g_mutexes[world.random.below(kMutexes)]; }

void got(Mutex& x, Worker& w, int rc) {
  if (rc == ENOTRECOVERABLE) x.lost = true;
  if (rc != 0 && rc != EOWNERDEAD) return;
  if (x.owner == w.index && !x.owner_ended && rc == 0) {
    ++x.count;
    return;
  }
  x.owner = w.index;
  x.owner_ended = false;
  x.count = 1;
  if (rc == EOWNERDEAD) x.inconsistent = true;
}

bool free_now(const Mutex& x) { return x.owner < 0 || x.lost || (x.owner_ended && x.robust); }

bool make_lock(World& world, Worker* w, Op* op) {
  Mutex& x = any_mutex(world);
  if (w == nullptr) return false;
  bool mine = x.owner == w->index && !x.owner_ended;
  bool recurses = x.type == PTHREAD_MUTEX_RECURSIVE || x.type == PTHREAD_MUTEX_ERRORCHECK;
  std::string as = "mutex " + x.name;
  if (mine && !recurses) return false;
  if (mine && x.count > 3) return false;
  if (!free_now(x) && !mine) {
    if (world.waiting(as) != nullptr) return false;
    if (x.owner_ended) return false;  // for ever
  }
  if (free_now(x) && world.waiting(as) != nullptr) return false;
  op->name = "lock " + x.name;
  op->ends_by_itself = free_now(x) || mine;
  op->waits_as = op->ends_by_itself ? "" : as;
  op->body = [&x](Worker&) { return by_number(pthread_mutex_lock(x.m)); };
  op->after = [&x](Worker& who, const Result& r) { got(x, who, r.error); };
  return true;
}

bool make_try(World& world, Worker* w, Op* op) {
  Mutex& x = any_mutex(world);
  if (w == nullptr || (free_now(x) && world.waiting("mutex " + x.name) != nullptr)) return false;
  op->name = "trylock " + x.name;
  op->body = [&x](Worker&) { return by_number(pthread_mutex_trylock(x.m)); };
  op->after = [&x](Worker& who, const Result& r) { got(x, who, r.error); };
  return true;
}

bool make_timed(World& world, Worker* w, Op* op) {
  Mutex& x = any_mutex(world);
  std::string as = "mutex " + x.name;
  if (w == nullptr || world.waiting(as) != nullptr) return false;
  bool mine = x.owner == w->index && !x.owner_ended;
  if (mine && x.count > 3) return false;
  int how = world.random.below(4);
  bool at_once = free_now(x);
  long ms = world.random.of({5L, 5L, 12L, -5L, 30000L});
  if (ms > 1000 && (mine || x.owner_ended) && !at_once && x.type != PTHREAD_MUTEX_RECURSIVE &&
      x.type != PTHREAD_MUTEX_ERRORCHECK)
    return false;
  if (ms > 1000 && x.owner_ended && !x.robust) return false;
  bool waits = ms > 1000 && !at_once && !mine;
  op->name = format("%s %s %ld ms",
                    how == 0   ? "timedlock"
                    : how == 1 ? "clocklock monotonic"
                    : how == 2 ? "clocklock realtime"
                               : "clocklock cpu",
                    x.name.c_str(), ms);
  if (how == 3) {
    waits = false;
    // Only of those that have to wait is it asked whether the clock is one.
    if (!at_once) return false;
  }
  op->ends_by_itself = !waits;
  op->waits_as = waits ? as : "";
  op->body = [&x, how, ms](Worker&) {
    clockid_t clock = how == 1   ? CLOCK_MONOTONIC
                      : how == 3 ? CLOCK_PROCESS_CPUTIME_ID
                                 : CLOCK_REALTIME;
    uint64_t start = now_ns(clock);
    timespec t = after_ms(clock, ms);
    int e = how == 0 ? pthread_mutex_timedlock(x.m, &t) : pthread_mutex_clocklock(x.m, clock, &t);
    return by_number(e, e == ETIMEDOUT ? unless_after(clock, start, ms) : "");
  };
  op->after = [&x](Worker& who, const Result& r) { got(x, who, r.error); };
  return true;
}

bool make_bad_time(World& world, Worker* w, Op* op) {
  Mutex& x = any_mutex(world);
  if (w == nullptr || free_now(x) || world.waiting("mutex " + x.name) != nullptr) return false;
  op->name = "timedlock of no time " + x.name;
  op->body = [&x](Worker&) {
    timespec t{1, 1000000000};
    return by_number(pthread_mutex_timedlock(x.m, &t));
  };
  op->after = [&x](Worker& who, const Result& r) { got(x, who, r.error); };
  return true;
}

bool make_unlock(World& world, Worker* w, Op* op) {
  Mutex& x = any_mutex(world);
  if (x.owner < 0 || x.owner_ended) {
    // Wrong ones, where that is defined.
    if (w == nullptr || x.lost) return false;
    bool knows =
        x.type == PTHREAD_MUTEX_RECURSIVE || x.type == PTHREAD_MUTEX_ERRORCHECK || x.robust;
    if (!knows) return false;
  } else if (w == nullptr || w->index != x.owner) {
    if (w == nullptr || !world.random.one_in(3)) return false;
    bool knows =
        x.type == PTHREAD_MUTEX_RECURSIVE || x.type == PTHREAD_MUTEX_ERRORCHECK || x.robust;
    if (!knows) return false;
  }
  op->name = "unlock " + x.name;
  op->body = [&x](Worker&) { return by_number(pthread_mutex_unlock(x.m)); };
  op->after = [&x](Worker& who, const Result& r) {
    if (r.error != 0 || x.owner != who.index) return;
    if (--x.count > 0) return;
    x.owner = -1;
    if (x.inconsistent) x.lost = true;
  };
  return true;
}

// The owner of one that somebody waits for, if it is idle, so that waits end at times.
bool make_release(World& world, Worker*, Op* op) {
  for (Mutex& x : g_mutexes) {
    if (x.owner < 0 || x.owner_ended || !world.workers[x.owner].idle()) continue;
    Worker& owner = world.workers[x.owner];
    op->name = format("unlock %s by its owner w%d", x.name.c_str(), owner.index);
    op->body = [&x](Worker&) { return by_number(pthread_mutex_unlock(x.m)); };
    op->after = [&x](Worker& who, const Result& r) {
      // Who has waited for it may be told of first.
      if (r.error != 0 || x.owner != who.index || --x.count > 0) return;
      x.owner = -1;
      if (x.inconsistent) x.lost = true;
    };
    world.give(&owner, std::move(*op));
    return false;
  }
  return false;
}

bool make_consistent(World& world, Worker* w, Op* op) {
  Mutex& x = any_mutex(world);
  if (w == nullptr || x.lost || (x.inconsistent && x.owner != w->index)) return false;
  if (x.owner >= 0 && (x.owner != w->index || x.owner_ended)) return false;
  op->name = "consistent " + x.name;
  op->body = [&x](Worker&) { return by_number(pthread_mutex_consistent(x.m)); };
  op->after = [&x](Worker&, const Result& r) {
    if (r.error == 0) x.inconsistent = false;
  };
  return true;
}

bool make_destroy(World& world, Worker* w, Op* op) {
  Mutex& x = any_mutex(world);
  if (w == nullptr || x.owner < 0 || x.lost || x.owner_ended || x.robust) return false;
  op->name = "destroy locked " + x.name;
  op->body = [&x](Worker&) { return by_number(pthread_mutex_destroy(x.m)); };
  return true;
}

bool make_spin(World& world, Worker* w, Op* op) {
  if (w == nullptr) return false;
  if (g_spin_owner == w->index) {
    op->name = "spin_unlock";
    op->body = [](Worker&) { return by_number(pthread_spin_unlock(&g_spin)); };
    op->after = [](Worker&, const Result&) { g_spin_owner = -1; };
    return true;
  }
  if (g_spin_owner >= 0) {
    Worker& owner = world.workers[g_spin_owner % kMaxWorkers];
    if (g_spin_owner == kNobody || !owner.idle() || world.random.one_in(2)) {
      op->name = "spin_trylock";
      op->body = [](Worker&) { return by_number(pthread_spin_trylock(&g_spin)); };
      return true;
    }
    // A waiter that spins, and the unlock right after.
    Op wait;
    wait.name = "spin_lock";
    wait.ends_by_itself = false;
    wait.waits_as = "spin";
    wait.body = [](Worker&) { return by_number(pthread_spin_lock(&g_spin)); };
    wait.after = [](Worker& who, const Result&) { g_spin_owner = who.index; };
    world.give(w, std::move(wait));
    Op unlock;
    unlock.name = "spin_unlock";
    unlock.expects = [w] { return !w->busy(); };
    unlock.body = [](Worker&) { return by_number(pthread_spin_unlock(&g_spin)); };
    world.give(&owner, std::move(unlock));
    return false;
  }
  op->name = "spin_lock";
  op->body = [](Worker&) { return by_number(pthread_spin_lock(&g_spin)); };
  op->after = [](Worker& who, const Result&) { g_spin_owner = who.index; };
  return true;
}

}  // namespace

Family mutex_family() {
  return {"mutex",
          prepare_mutexes,
          {make_lock, make_lock, make_lock, make_try, make_timed, make_timed, make_bad_time,
           make_unlock, make_unlock, make_release, make_release, make_consistent, make_destroy,
           make_spin}};
}

}  // namespace steps
