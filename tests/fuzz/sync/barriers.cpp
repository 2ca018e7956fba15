// Barriers.
#include "sync/steps.h"

namespace steps {

namespace {

pthread_barrier_t g_barriers[2];
int g_barrier_size[2];

void prepare_barriers(World& world) {
  for (int i = 0; i < 2; ++i) {
    g_barrier_size[i] = 1 + world.random.below(3);
    pthread_barrierattr_t a;
    pthread_barrierattr_init(&a);
    bool shared = world.random.one_in(3);
    if (shared) pthread_barrierattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
    int e = pthread_barrier_init(&g_barriers[i], &a, static_cast<unsigned>(g_barrier_size[i]));
    world.log("b%d: %d%s %d", i, g_barrier_size[i], shared ? " shared" : "", e);
  }
}

bool make_barrier(World& world, Worker* w, Op* op) {
  if (w == nullptr) return false;
  int i = world.random.below(2);
  std::string as = format("barrier %d", i);
  bool last = world.count_waiting(as) + 1 == g_barrier_size[i];
  if (!last && world.count_busy() > world.workers_wanted - 2) return false;
  op->name = as;
  op->ends_by_itself = last;
  op->waits_as = as;
  op->body = [i](Worker&) {
    int r = pthread_barrier_wait(&g_barriers[i]);
    if (r == PTHREAD_BARRIER_SERIAL_THREAD) g_world->elsewhere.add("one serial thread");
    return by_number(r == PTHREAD_BARRIER_SERIAL_THREAD ? 0 : r);
  };
  return true;
}

bool make_new_barrier(World& world, Worker* w, Op* op) {
  int i = world.random.below(2);
  if (world.count_waiting(format("barrier %d", i)) != 0) return false;
  int n = world.random.of({0, 1, 2, 3});
  op->name = format("destroy and init barrier %d for %d", i, n);
  op->body = [i, n](Worker&) {
    int d = pthread_barrier_destroy(&g_barriers[i]);
    int e = pthread_barrier_init(&g_barriers[i], nullptr, static_cast<unsigned>(n));
    if (e != 0)
      pthread_barrier_init(&g_barriers[i], nullptr, static_cast<unsigned>(g_barrier_size[i]));
    return by_number(e, format("%d", d));
  };
  op->after = [i, n](Worker&, const Result& r) {
    if (r.error == 0) g_barrier_size[i] = n;
  };
  (void)w;
  return true;
}

}  // namespace

Family barrier_family() {
  return {
      "barrier", prepare_barriers, {make_barrier, make_barrier, make_barrier, make_new_barrier}};
}

}  // namespace steps
