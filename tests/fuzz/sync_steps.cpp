// sync_steps SEED [--steps K] [--settle MS] [--families a,b]: see sync/steps.h. Ends with 0, or as
// the seed says; 3: somebody hangs, and the log says in what.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "sync/steps.h"

using namespace steps;

namespace {

int g_steps = 40;
const char* g_only = nullptr;

std::vector<Family> draw_families(World& world) {
  std::vector<Family> all = {mutex_family(),     condition_family(),   rwlock_family(),
                             semaphore_family(), barrier_family(),     futex_family(),
                             once_family(),      c11_family(),         sleep_family(),
                             signal_family(),    signal_wait_family(), timer_family(),
                             thread_family(),    identity_family(),    process_family()};
  std::vector<Family> chosen;
  if (g_only != nullptr) {
    std::string list = std::string(",") + g_only + ",";
    for (Family& f : all)
      if (list.find(std::string(",") + f.name + ",") != std::string::npos) chosen.push_back(f);
    return chosen;
  }
  int wanted = 2 + world.random.below(4);
  for (int i = 0; i < wanted; ++i) {
    int at = world.random.below(static_cast<int>(all.size()));
    chosen.push_back(all[at]);
    all.erase(all.begin() + at);
  }
  return chosen;
}

void* drive(void*) {
  World& world = *g_world;
  std::vector<Family> families = draw_families(world);
  world.workers_wanted = 3 + world.random.below(4);
  world.idle_by =
      world.random.of({IdleBy::Sleeps, IdleBy::Semaphore, IdleBy::Pipe, IdleBy::Condition});
  std::string names;
  for (Family& f : families) names += std::string(" ") + f.name;
  world.log("seed %lu: %d workers, idle by %d, driver is %s;%s", world.seed, world.workers_wanted,
            static_cast<int>(world.idle_by),
            world.driver_is_thread ? "a thread" : "the first thread", names.c_str());
  for (Family& f : families)
    if (f.prepare != nullptr) f.prepare(world);
  for (int i = 0; i < world.workers_wanted; ++i) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    Kind kind = world.random.one_in(4) ? Kind::Native : Kind::Java;
    world.start_worker(kind, i, &attributes, kind == Kind::Native ? "native" : "java");
    pthread_attr_destroy(&attributes);
  }
  for (int tries = 0; world.step < g_steps && tries < g_steps * 50; ++tries) {
    Family& f = families[world.random.below(static_cast<int>(families.size()))];
    Maker make = f.makers[world.random.below(static_cast<int>(f.makers.size()))];
    Worker* w = world.random.one_in(8) ? nullptr : world.idle_worker();
    // The next op is where its cancellation is accepted: elsewhere a task accepts none.
    if (w != nullptr && w->canceled && !w->cancel_off) make = accept_cancellation;
    Op op;
    if (make(world, w, &op)) world.give(w, std::move(op));
  }
  for (Worker& w : world.workers)
    if (w.busy()) world.log("at the end w%d is in %s", w.index, w.current.name.c_str());
  end_program(world);
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t seed = 1;
  int settle = 15;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--steps") == 0 && i + 1 < argc)
      g_steps = atoi(argv[++i]);
    else if (strcmp(argv[i], "--settle") == 0 && i + 1 < argc)
      settle = atoi(argv[++i]);
    else if (strcmp(argv[i], "--families") == 0 && i + 1 < argc)
      g_only = argv[++i];
    else
      seed = strtoull(argv[i], nullptr, 0);
  }
  g_world = new World(seed);
  g_world->seed = seed;
  g_world->settle_ms = settle;
  g_world->driver_is_thread = g_world->random.one_in(2);
  if (!g_world->driver_is_thread) {
    drive(nullptr);
    return 0;
  }
  pthread_t driver;
  if (start_thread(Kind::Java, &driver, nullptr, drive, nullptr) != 0) return 2;
  pthread_join(driver, nullptr);
  return 0;
}
