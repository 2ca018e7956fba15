// Timed waits: arming, disarming, firing. Each carrier's heap is under its timer_lock; a fired
// timer cancels the wait in the parking lot while it still holds that lock, so that a task which
// has disarmed its timer can be sure that no firing is under way for an older wait.
#include <algorithm>

#include "scheduler/internal.h"
#include "scheduler/pick.h"
#include "sync/parking_lot.h"

namespace wisp {

// timer_lock held.
static void refresh(Carrier* c) {
  TimerNode* first = c->timers.first();
  c->next_deadline.store(first != nullptr ? first->deadline : ~0ull, std::memory_order_relaxed);
}

// When a busy carrier is to see to it: by then the kernel would have woken a thread
// (kTimerSlackNs).
static uint64_t check_at(uint64_t deadline_ns, uint64_t now_ns) {
  if (deadline_ns == ~0ull) return ~0ull;
  if (timer_overdue(deadline_ns, now_ns)) return 0;
  constexpr uint64_t kHourUs = 3600000000;  // what is further away is looked at once more then
  return ticks() +
         std::min((deadline_ns + kTimerSlackNs - now_ns) / 1000, kHourUs) * g_ticks_per_us;
}

// timer_lock held. Relaxed: the owner may see it a switch late, and takes the lock to act on it.
static void set_check(Carrier* c, uint64_t at) {
  c->timer_check_at.store(at, std::memory_order_relaxed);
}

void timer_arm(WispTask* self, uint64_t deadline_ns) {
  Scheduler& s = g_scheduler;
  // A handed-off task has no carrier: any heap will do, SysMonitor watches them all.
  Carrier* c = self->carrier != nullptr ? self->carrier : &s.carriers[self->tid % s.carrier_count];
  TimerNode* node = &self->timer;
  node->deadline = deadline_ns;
  node->task = self;
  node->carrier_index = c->index;
  c->timer_lock.lock();
  c->timers.insert(node);
  bool first = c->timers.first() == node;
  bool own = self->carrier == c;
  refresh(c);
  // A foreign carrier that switches all the time is not looked at by SysMonitor: it is to look for
  // itself, at its next switch.
  if (first) set_check(c, own ? check_at(deadline_ns, monotonic_ns()) : 0);
  c->timer_lock.unlock();
  if (!first) return;
  if (own) {
    // If the carrier goes on with a task that never comes back, only SysMonitor sees this deadline.
    if (c->next.load(std::memory_order_relaxed) != nullptr || c->anything_queued())
      sysmon_watch_deadline(deadline_ns);
  } else {
    sysmon_watch_deadline(deadline_ns);
  }
}

void timer_disarm(WispTask* self) {
  if (self->waiter.reason == WakeReason::TimedOut) return;  // the firing took it out
  Carrier* c = &g_scheduler.carriers[self->timer.carrier_index];
  SpinGuard guard(c->timer_lock);
  if (!self->timer.queued) return;
  c->timers.remove(&self->timer);
  refresh(c);
}

uint32_t fire_timers(Carrier* heap, Carrier* into, uint64_t now_ns) {
  WispTask* fired = nullptr;
  WispTask** last = &fired;
  uint32_t count = 0;
  {
    SpinGuard guard(heap->timer_lock);
    while (TimerNode* node = heap->timers.pop_if_due(now_ns)) {
      WispTask* t = node->task;
      if (!ParkingLot::cancel(&t->waiter, WakeReason::TimedOut)) continue;  // woken just now
      // queue_next is free: a parked task is in no queue.
      t->queue_next = nullptr;
      *last = t;
      last = &t->queue_next;
      ++count;
    }
    refresh(heap);
    if (into == heap)
      set_check(heap, check_at(heap->next_deadline.load(std::memory_order_relaxed), now_ns));
  }
  while (fired != nullptr) {
    WispTask* t = fired;
    fired = t->queue_next;
    trace(into, TraceKind::Timer, t);
    t->state.store(TaskState::Ready, std::memory_order_relaxed);
    if (into != nullptr)
      push_local(into, t);
    else
      g_scheduler.global.push(t);
  }
  if (count != 0) {
    heap->timeouts.fetch_add(count, std::memory_order_relaxed);
    // The sleeper that watched this deadline need not come: it may have been woken for something
    // else, and sees no deadline any more.
    announce_arrivals(count, into);
  }
  return count;
}

uint64_t earliest_deadline() {
  uint64_t earliest = ~0ull;
  for (uint32_t i = 0; i < g_scheduler.carrier_count; ++i) {
    uint64_t d = g_scheduler.carriers[i].next_deadline.load(std::memory_order_relaxed);
    if (d < earliest) earliest = d;
  }
  return earliest;
}

}  // namespace wisp
