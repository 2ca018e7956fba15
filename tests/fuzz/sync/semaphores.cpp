// Semaphores of all kinds, and pthread_once.
#include <fcntl.h>
#include <semaphore.h>
#include <sys/mman.h>

#include "sync/steps.h"

namespace steps {

namespace {

sem_t* g_sems[3];

void prepare(World& world) {
  auto* memory = static_cast<sem_t*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  for (int i = 0; i < 3; ++i) {
    g_sems[i] = &memory[i];
    int kind = world.random.below(4);
    if (kind == 3) {
      std::string name = format("/wisp-steps-%d-%d", getpid(), i);
      g_sems[i] = sem_open(name.c_str(), O_CREAT | O_EXCL, 0600, 1);
      sem_unlink(name.c_str());
    } else {
      sem_init(g_sems[i], kind == 2, 1);
    }
    world.log("s%d: %s", i, kind == 3 ? "named" : kind == 2 ? "shared" : "private");
  }
}

bool make_wait(World& world, Worker* w, Op* op) {
  if (w == nullptr) return false;
  int i = world.random.below(3), how = world.random.below(5);
  std::string as = format("sem %d", i);
  if (world.waiting(as) != nullptr) return false;
  sem_t* s = g_sems[i];
  int value = 0;
  sem_getvalue(s, &value);
  long ms = world.random.of({6L, 10L, -1L, 20000L});
  bool waits = value == 0 && (how == 0 || ((how == 2 || how == 3) && ms > 1000));
  op->name = format("%s s%d",
                    how == 0   ? "sem_wait"
                    : how == 1 ? "sem_trywait"
                    : how == 2 ? "sem_timedwait"
                    : how == 3 ? "sem_clockwait"
                               : "sem_timedwait of no time",
                    i);
  if (how >= 2) op->name += format(" %ld ms", ms);
  op->ends_by_itself = !waits;
  op->waits_as = waits ? as : "";
  op->body = [s, how, ms](Worker&) {
    if (how == 0) return by_errno(sem_wait(s));
    if (how == 1) return by_errno(sem_trywait(s));
    clockid_t clock = how == 3 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
    uint64_t start = now_ns(clock);
    timespec t = after_ms(clock, ms);
    if (how == 4) t.tv_nsec = -1;
    Result r = by_errno(how == 3 ? sem_clockwait(s, clock, &t) : sem_timedwait(s, &t));
    if (r.error == ETIMEDOUT) r.note = unless_after(clock, start, ms);
    return r;
  };
  return true;
}

bool make_post(World& world, Worker*, Op* op) {
  int i = world.random.below(3);
  sem_t* s = g_sems[i];
  int value = 0;
  sem_getvalue(s, &value);
  if (value > 2) return false;
  op->name = format("sem_post s%d", i);
  op->body = [s](Worker&) {
    int e = sem_post(s);
    return by_errno(e);
  };
  return true;
}

bool make_value(World& world, Worker*, Op* op) {
  int i = world.random.below(3);
  op->name = format("sem_getvalue s%d", i);
  op->touches_others = false;
  op->body = [s = g_sems[i]](Worker&) {
    int value = -9;
    int e = sem_getvalue(s, &value);
    return by_errno(e, format("%d", value));
  };
  return true;
}

bool make_full(World&, Worker*, Op* op) {
  op->name = "sem_post of a full one";
  op->touches_others = false;
  op->body = [](Worker&) {
    sem_t s;
    sem_init(&s, 0, 0x7fffffff);
    Result r = by_errno(sem_post(&s));
    sem_destroy(&s);
    return r;
  };
  return true;
}

// ---- once ---------------------------------------------------------------------------------------

pthread_once_t g_onces[4] = {PTHREAD_ONCE_INIT, PTHREAD_ONCE_INIT, PTHREAD_ONCE_INIT,
                             PTHREAD_ONCE_INIT};
sem_t g_gates[4];
int g_once_state[4];  // 0 not begun, 1 under way, 2 done

template <int i>
void init() {
  g_world->elsewhere.add("init of once %ld begins", i);
  while (sem_wait(&g_gates[i]) != 0) {
  }
  g_world->elsewhere.add("init of once %ld ends", i);
}

void prepare_once(World&) {
  for (sem_t& s : g_gates) sem_init(&s, 0, 0);
}

bool make_once(World& world, Worker* w, Op* op) {
  if (w == nullptr) return false;
  int i = world.random.below(4);
  if (g_once_state[i] != 2 && world.count_busy() > world.workers_wanted - 2) return false;
  op->name = format("once %d", i);
  op->ends_by_itself = g_once_state[i] == 2;
  if (g_once_state[i] == 0) g_once_state[i] = 1;
  op->body = [i](Worker&) {
    void (*const inits[])() = {init<0>, init<1>, init<2>, init<3>};
    return by_number(pthread_once(&g_onces[i], inits[i]));
  };
  return true;
}

bool make_open(World& world, Worker*, Op* op) {
  int i = world.random.below(4);
  if (g_once_state[i] != 1) return false;
  g_once_state[i] = 2;
  op->name = format("let init of once %d go on", i);
  op->body = [i](Worker&) {
    int r = sem_post(&g_gates[i]);
    return by_errno(r);
  };
  return true;
}

}  // namespace

Family semaphore_family() {
  return {"sem",
          prepare,
          {make_wait, make_wait, make_wait, make_post, make_post, make_value, make_full}};
}
Family once_family() { return {"once", prepare_once, {make_once, make_once, make_open}}; }

}  // namespace steps
