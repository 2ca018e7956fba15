// The search of a worker whose carrier has run dry: other carriers' rings and next slots, the
// global queue, its own timers. How long it lasts is learned: doubled by a find, halved by a
// failure.
#include "scheduler/internal.h"
#include "scheduler/pick.h"

namespace wisp {

static void note_steal(Carrier* c, WispTask* task, const Carrier* victim) {
  bump(task->times_stolen);
  trace(c, TraceKind::Steal, task, victim->index);
  if (logs(LogKind::Steal)) log_event(LogKind::Steal, task, c, 0, victim->index);
}

// Half of a victim's ring, or of its front: the oldest runs now, the rest goes to our own queue of
// that kind.
static WispTask* steal_queued(Carrier* c, Carrier* victim) {
  constexpr uint32_t kMax = 128;
  WispTask* loot[kMax];
  uint32_t n = victim->queue.steal(loot, kMax);
  bool front = n == 0;
  if (front) n = victim->front.steal(loot, kMax);
  if (n == 0) return nullptr;
  for (uint32_t i = 1; i < n; ++i)
    if (!front || !c->front.push(loot[i])) push_local(c, loot[i]);
  for (uint32_t i = 0; i < n; ++i) {
    note_steal(c, loot[i], victim);
  }
  bump(c->steals);
  return loot[0];
}

// What a thief remembers of a task that its carrier is usually about to run itself: it is taken
// only if nothing moved for a while. Such are a lone next task, whose waker is about to park; and
// the only task in the queues of a carrier that is between two tasks, or has just come out of the
// event pump with it. (Taken at once, one carrier would be the other's doorman for good, and two
// processors busy with one connection.)
struct Sighting {
  const void* of;  // the task, or the queue
  uint64_t switches;
  uint64_t at;

  bool ripe(const void* what, uint64_t moved, uint64_t now) {
    constexpr uint64_t kFreshUs = 1;
    if ((of != what || switches != moved) && !(chaos() && chaos_one_in(4))) {
      *this = Sighting{what, moved, now};
      return false;
    }
    return now - at >= us_to_ticks(kFreshUs) || (chaos() && chaos_one_in(2));
  }
  // It may be ripe soon: worth to go on searching.
  bool promises(uint64_t now) const { return of != nullptr && now - at < us_to_ticks(5); }
};

static bool about_to_run_it(const Carrier* victim) {
  return victim->queued() == 1 && victim->current.load(std::memory_order_relaxed) == nullptr;
}

static WispTask* steal_next(Carrier* c, Carrier* victim, Sighting* seen, uint64_t now) {
  WispTask* t = victim->next.load(std::memory_order_relaxed);
  if (t == nullptr || victim->current.load(std::memory_order_relaxed) == nullptr) {
    seen->of = nullptr;
    return nullptr;
  }
  if (!seen->ripe(t, victim->switches.load(std::memory_order_relaxed), now)) return nullptr;
  // acq_rel: see Carrier::swap_next.
  WispTask* wanted = t;
  if (!victim->next.compare_exchange_strong(t, nullptr, std::memory_order_acq_rel,
                                            std::memory_order_relaxed)) {
    wanted->times_steal_failed.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  note_steal(c, t, victim);
  bump(c->steals);
  return t;
}

static uint32_t next_random(Worker* w) {
  w->random ^= w->random << 13;
  w->random ^= w->random >> 17;
  w->random ^= w->random << 5;
  return w->random;
}

WispTask* search(Worker* w, Carrier* c) {
  Scheduler& s = g_scheduler;
  constexpr uint32_t kSightings = 64;
  Sighting seen[kSightings];
  uint32_t n = s.carrier_count;
  uint64_t start = ticks();
  for (uint32_t i = 0; i < n && i < kSightings; ++i) seen[i] = Sighting{nullptr, 0, start};
  // Its group's first, whose tasks' descriptors it looks at; then from any on.
  uint32_t own = c->index, others = n > 1 ? next_random(w) % n : 0;
  while (own > 0 && s.carriers[own - 1].part == c->part) --own;
  uint32_t group = 0;
  while (own + group < n && s.carriers[own + group].part == c->part) ++group;
  if (group == n) {  // there is but one
    group = 0;
  }
  uint64_t spin = w->spin_ticks;
  for (;;) {
    uint64_t now = ticks();
    bool hope = false;  // somebody's next is ripening: stay a little longer
    if (!s.global.empty())
      if (WispTask* t = s.global.pop()) return t;
    for (uint32_t k = 0; k < group + n; ++k) {
      uint32_t i = k < group ? own + k : others + (k - group);
      if (i >= n) i -= n;
      Carrier* victim = &s.carriers[i];
      if (victim == c || (k >= group && group != 0 && victim->part == c->part)) continue;
      Sighting* sighting = i < kSightings ? &seen[i] : nullptr;
      if (sighting == nullptr || !about_to_run_it(victim) ||
          sighting->ripe(&victim->queue, victim->switches.load(std::memory_order_relaxed), now)) {
        if (WispTask* t = steal_queued(c, victim)) return t;
        // The next tasks of so many others perhaps in another search.
        if (sighting != nullptr)
          if (WispTask* t = steal_next(c, victim, sighting, now)) return t;
      }
      hope |= sighting != nullptr && sighting->promises(now);
    }
    c->now = now;
    if (c->timer_check_due(now) && fire_timers(c, c, monotonic_ns()) != 0)
      if (WispTask* t = c->pop()) return t;
    if (now - start > spin && !hope) break;
    for (int i = 0; i < 8; ++i) cpu_pause();
  }
  bump(c->failed_steals);
  return nullptr;
}

}  // namespace wisp
