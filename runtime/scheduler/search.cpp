// The search of a worker whose carrier has run dry: other carriers' rings and next slots, the
// global queue, its own timers. How long it lasts is learned: doubled by a find, halved by a
// failure.
#include "scheduler/home.h"
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
  if (n == 0 && !victim->inbox.empty() && (loot[0] = victim->inbox.pop()) != nullptr) n = 1;
  if (n == 0) return nullptr;
  for (uint32_t i = 1; i < n; ++i)
    if (!front || !c->front.push(loot[i])) push_local(c, loot[i]);
  for (uint32_t i = 0; i < n; ++i) {
    note_steal(c, loot[i], victim);
  }
  bump(c->steals);
  may_adopt(c);
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
  // acquire: one that is not got in the end counts that, and may have been made a moment ago.
  WispTask* t = victim->next.load(std::memory_order_acquire);
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

// In which order a carrier visits all: first its own group, to which the events of these tasks come
// as well, then the others; in each it begins anywhere.
class Order {
 public:
  Order(uint32_t part, uint32_t random) {
    uint32_t n = g_scheduler.carrier_count, parts = pump_parts();
    // As divide_pump: those with index * parts / n == part.
    first_ = (part * n + parts - 1) / parts;
    near_ = ((part + 1) * n + parts - 1) / parts - first_;
    far_ = n - near_;
    near_from_ = random % near_;
    far_from_ = far_ != 0 ? random % far_ : 0;
  }
  uint32_t at(uint32_t k) const {
    if (k < near_) return first_ + turned(k + near_from_, near_);
    return turned(first_ + near_ + turned(k - near_ + far_from_, far_), near_ + far_);
  }

 private:
  static uint32_t turned(uint32_t i, uint32_t n) { return i < n ? i : i - n; }

  uint32_t first_, near_, far_, near_from_, far_from_;
};

bool has_too_many(const Carrier* c) {
  // Below that each has its turn soon.
  constexpr uint32_t kMany = 256;
  uint32_t mine = c->queued();
  if (mine < kMany) return false;
  for (uint32_t i = 0; i < g_scheduler.carrier_count; ++i)
    if (2 * g_scheduler.carriers[i].queued() < mine) return true;
  return false;
}

bool left_to_it(const Carrier* c, uint64_t now) {
  // With 4 one query of Tomcat's made a tenth fewer requests with this than without.
  constexpr uint32_t kMany = 8;
  const Scheduler& s = g_scheduler;
  return s.carrier_count >= kMany && 2 * s.idle.wakeable() <= s.width() && comes_to_them(c, now);
}

constexpr uint64_t kHoldBackUs = 5;

// Few and brief tasks queue there, and their carrier comes to them: for a little while they are
// left to it (pace.h). If they are still there then, it may be stuck, and is the slower one in any
// case.
static bool left_alone(const Carrier* victim, uint64_t searched, uint64_t now) {
  constexpr uint64_t kWorthMovingUs = 40;
  if (left_to_it(victim, now)) return true;
  if (searched >= us_to_ticks(kHoldBackUs) || chaos()) return false;
  uint32_t queued = victim->queued();
  return queued != 0 && victim->current.load(std::memory_order_relaxed) != nullptr &&
         victim->pace.expected(queued) < us_to_ticks(kWorthMovingUs);
}

// Events of its own meanwhile are better than what others have.
static WispTask* look_meanwhile(Carrier* c) {
  c->now = ticks();
  return poll_events(c) != 0 ? pick_queued(c) : nullptr;
}

WispTask* search(Worker* w, Carrier* c) {
  Scheduler& s = g_scheduler;
  constexpr uint32_t kSightings = 64;
  Sighting seen[kSightings];
  uint32_t n = s.carrier_count;
  uint64_t start = ticks();
  for (uint32_t i = 0; i < n && i < kSightings; ++i) seen[i] = Sighting{nullptr, 0, start};
  Order order(c->part, next_random(w));
  uint64_t spin = w->spin_ticks;
  // Each of many pairs has something promising now and then: with 12 pairs there is always one.
  uint64_t longest = spin + us_to_ticks(50);
  for (;;) {
    uint64_t now = ticks();
    bool hope = false;  // somebody's next is ripening: stay a little longer
    bool held_back = false;
    if (!s.global.empty())
      if (WispTask* t = s.global.pop()) return t;
    if (!c->inbox.empty())
      if (WispTask* t = c->inbox.pop()) return t;
    for (uint32_t k = 0; k < n; ++k) {
      uint32_t i = order.at(k);
      Carrier* victim = &s.carriers[i];
      if (victim == c) continue;
      if (left_alone(victim, now - start, now)) {
        held_back = true;
        continue;
      }
      Sighting* sighting = k < kSightings ? &seen[k] : nullptr;  // the order stays
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
    if (held_back) {
      if (WispTask* t = look_meanwhile(c)) return t;
      if (now - start < us_to_ticks(kHoldBackUs)) continue;
    }
    if (now - start > (hope ? longest : spin)) break;
    for (int i = 0; i < 8; ++i) cpu_pause();
  }
  bump(c->failed_steals);
  return nullptr;
}

}  // namespace wisp
