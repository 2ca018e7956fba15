// Read-write locks, of both preferences.
#include "sync/steps.h"

namespace steps {

namespace {

struct Lock {
  pthread_rwlock_t l;
  bool writers_first;
  // The driver's picture.
  int writer = -1;
  int readers[kMaxWorkers] = {};
  bool dead = false;  // a holder has ended
  std::string name;
  bool held() const {
    for (int n : readers)
      if (n > 0) return true;
    return writer >= 0;
  }
};
Lock g_locks[2];

void prepare(World& world) {
  for (int i = 0; i < 2; ++i) {
    Lock& x = g_locks[i];
    x.writers_first = world.random.one_in(2);
    x.name = format("rw%d", i);
    pthread_rwlockattr_t a;
    pthread_rwlockattr_init(&a);
    if (x.writers_first)
      pthread_rwlockattr_setkind_np(&a, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    bool shared = world.random.one_in(4);
    if (shared) pthread_rwlockattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
    pthread_rwlock_init(&x.l, &a);
    world.log("rw%d:%s%s", i, x.writers_first ? " writers first" : "", shared ? " shared" : "");
  }
  world.when_ended.push_back([](int index) {
    for (Lock& x : g_locks)
      if (x.writer == index || x.readers[index] > 0) x.dead = true;
  });
}

// how: 0 for ever, 1 at once, 2 timed, 3 clock monotonic, 4 no time.
int enter(Lock& x, bool write, int how, long ms, std::string* note) {
  if (how == 0) return write ? pthread_rwlock_wrlock(&x.l) : pthread_rwlock_rdlock(&x.l);
  if (how == 1) return write ? pthread_rwlock_trywrlock(&x.l) : pthread_rwlock_tryrdlock(&x.l);
  clockid_t clock = how == 3 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
  uint64_t start = now_ns(clock);
  timespec t = after_ms(clock, ms);
  if (how == 4) t.tv_nsec = 1000000000;
  int e;
  if (how == 3)
    e = write ? pthread_rwlock_clockwrlock(&x.l, clock, &t)
              : pthread_rwlock_clockrdlock(&x.l, clock, &t);
  else
    e = write ? pthread_rwlock_timedwrlock(&x.l, &t) : pthread_rwlock_timedrdlock(&x.l, &t);
  if (e == ETIMEDOUT) *note = unless_after(clock, start, ms);
  return e;
}

bool make_enter(World& world, Worker* w, Op* op) {
  if (w == nullptr) return false;
  Lock& x = g_locks[world.random.below(2)];
  bool write = world.random.one_in(2);
  int how = world.random.of({0, 0, 1, 2, 3, 4});
  long ms = world.random.of({5L, 9L, -2L});
  std::string reads = "read " + x.name, writes = "write " + x.name;
  int r = world.count_waiting(reads), wr = world.count_waiting(writes);
  // One writer at most waits: which of several is next nobody says.
  if (write && wr != 0) return false;
  bool ends = how != 0;
  if (how == 0) {
    if (x.dead && x.held()) return false;
    if (x.readers[w->index] > 0 && write) return false;  // waits for itself
    if (x.readers[w->index] > 0 && x.writers_first && wr != 0) return false;
    bool mine = x.writer == w->index;
    bool enters = write ? !x.held() : x.writer < 0 && !(x.writers_first && wr != 0);
    ends = enters || mine;
    if (!ends && world.count_busy() > world.workers_wanted - 2) return false;
  }
  (void)r;
  op->name = format("%s %s how %d %ld ms", write ? "wrlock" : "rdlock", x.name.c_str(), how, ms);
  op->ends_by_itself = ends;
  op->waits_as = ends ? "" : write ? writes : reads;
  op->body = [&x, write, how, ms](Worker&) {
    std::string note;
    int e = enter(x, write, how, ms, &note);
    return by_number(e, note);
  };
  op->after = [&x, write](Worker& who, const Result& result) {
    if (result.error != 0) return;
    if (write)
      x.writer = who.index;
    else
      ++x.readers[who.index];
  };
  return true;
}

bool make_leave(World& world, Worker* w, Op* op) {
  Lock& x = g_locks[world.random.below(2)];
  if (x.dead) return false;
  for (Worker& each : world.workers)
    if (each.idle() && (x.writer == each.index || x.readers[each.index] > 0)) w = &each;
  if (w == nullptr || !(x.writer == w->index || x.readers[w->index] > 0)) return false;
  Op leave;
  leave.name = "unlock " + x.name;
  leave.body = [&x](Worker&) { return by_number(pthread_rwlock_unlock(&x.l)); };
  if (x.writer == w->index)
    x.writer = -1;
  else
    --x.readers[w->index];
  world.give(w, std::move(leave));
  (void)op;
  return false;
}

}  // namespace

Family rwlock_family() {
  return {"rwlock", prepare, {make_enter, make_enter, make_enter, make_leave, make_leave}};
}

}  // namespace steps
