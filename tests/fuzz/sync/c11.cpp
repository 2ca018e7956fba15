// C11's locks, conditions and threads.
#include <threads.h>

#include "sync/steps.h"

namespace steps {

namespace {

mtx_t g_mtx[2];
cnd_t g_cnd;
mtx_t g_cnd_mtx;
int g_mtx_owner[2] = {-1, -1};

void prepare_c11(World& world) {
  world.when_ended.push_back([](int index) {
    for (int& owner : g_mtx_owner)
      if (owner == index) owner = kMaxWorkers;  // nobody's for good
  });
  mtx_init(&g_mtx[0], mtx_plain | mtx_timed);
  mtx_init(&g_mtx[1], mtx_timed | mtx_recursive);
  mtx_init(&g_cnd_mtx, mtx_plain);
  cnd_init(&g_cnd);
}

bool make_mtx(World& world, Worker* w, Op* op) {
  if (w == nullptr) return false;
  int i = world.random.below(2), how = world.random.below(3);
  std::string as = format("mtx %d", i);
  if (g_mtx_owner[i] == w->index) {
    op->name = "unlock " + as;
    op->body = [i](Worker&) { return Result{mtx_unlock(&g_mtx[i])}; };
    g_mtx_owner[i] = -1;  // now: who waits for it may be told of first
    return true;
  }
  if (world.waiting(as) != nullptr) return false;
  bool free = g_mtx_owner[i] < 0;
  if (how == 0 && g_mtx_owner[i] == kMaxWorkers) return false;
  op->name = format("%s %s", how == 0 ? "lock" : how == 1 ? "trylock" : "timedlock", as.c_str());
  op->ends_by_itself = how != 0 || free;
  if (!op->ends_by_itself) op->waits_as = as;
  op->body = [i, how](Worker&) {
    timespec t = after_ms(CLOCK_REALTIME, 6);
    return Result{how == 0   ? mtx_lock(&g_mtx[i])
                  : how == 1 ? mtx_trylock(&g_mtx[i])
                             : mtx_timedlock(&g_mtx[i], &t)};
  };
  op->after = [i](Worker& who, const Result& r) {
    if (r.rc == thrd_success) g_mtx_owner[i] = who.index;
  };
  return true;
}

bool make_cnd(World& world, Worker* w, Op* op) {
  if (w == nullptr || world.random.one_in(2)) {
    bool all = world.count_waiting("cnd") > 1 || world.random.one_in(3);
    op->name = all ? "cnd_broadcast" : "cnd_signal";
    op->body = [all](Worker&) { return Result{all ? cnd_broadcast(&g_cnd) : cnd_signal(&g_cnd)}; };
    return true;
  }
  bool timed = world.random.one_in(2);
  if (!timed && world.count_busy() > world.workers_wanted - 2) return false;
  op->name = timed ? "cnd_timedwait" : "cnd_wait";
  op->ends_by_itself = timed;
  if (!timed) op->waits_as = "cnd";
  op->body = [timed](Worker&) {
    mtx_lock(&g_cnd_mtx);
    timespec t = after_ms(CLOCK_REALTIME, 7);
    int r = timed ? cnd_timedwait(&g_cnd, &g_cnd_mtx, &t) : cnd_wait(&g_cnd, &g_cnd_mtx);
    mtx_unlock(&g_cnd_mtx);
    return Result{r};
  };
  return true;
}

tss_t g_tss;
once_flag g_once = ONCE_FLAG_INIT;

bool make_thrd(World&, Worker* w, Op* op) {
  if (w == nullptr) return false;
  op->name = "thrd_create, tss, call_once, join";
  op->body = [](Worker&) {
    call_once(&g_once, [] {
      tss_create(&g_tss, [](void* v) {
        g_world->elsewhere.add("tss destructor %ld", reinterpret_cast<long>(v));
      });
    });
    thrd_t t;
    int made = thrd_create(
        &t,
        [](void* p) -> int {
          tss_set(g_tss, p);
          timespec wait{0, 3000000};
          int slept = thrd_sleep(&wait, nullptr);
          thrd_yield();
          if (tss_get(g_tss) != p) return -1;
          thrd_exit(40 + slept);
        },
        reinterpret_cast<void*>(7));
    int code = 0, joined = thrd_join(t, &code);
    return Result{made, 0, format("%d %d", joined, code)};
  };
  return true;
}

}  // namespace

Family c11_family() { return {"c11", prepare_c11, {make_mtx, make_mtx, make_cnd, make_thrd}}; }

}  // namespace steps
