// The event pump's place in the scheduler: who looks at it, who waits in it, where what it wakes
// goes. Three kinds of visit:
//   - an idle worker waits in it (at most one; it is the last to be chosen for other work);
//   - a busy carrier looks every now and then between two tasks, and before it goes idle. Also
//     while a worker waits there: that one may have been woken and not run yet, if the kernel has
//     put it on the processor of the event's maker, who goes on (seen with a back end: 250 us and
//     more, the other processor idle);
//   - SysMonitor looks when no carrier has looked for some 250 us (400 where the last looked
//     beside a waiting worker and found nothing).
// Who leaves the pump sends another worker there if that pays (attendance.h).
//
// The pump has parts (poller.h), and each of them its visitors. A busy carrier looks at its own,
// and at those of others that are neglected: no worker waits there and no carrier of the group has
// looked, be they asleep or busy. A worker that has nothing to do waits in its own, or else in any
// other.
#include "platform/backoff.h"
#include "platform/running.h"
#include "scheduler/home.h"
#include "scheduler/internal.h"
#include "scheduler/pick.h"
#include "scheduler/placement.h"

namespace wisp {

std::atomic<const Poller*> g_poller{nullptr};
PumpPart g_pump_parts[kMaxPumpParts];

// Between two looks of busy carriers, all together. A look costs about half a microsecond.
constexpr uint64_t kBusyPollUs = 50;
// A carrier whose slices are briefer than this comes round to its part in time.
constexpr uint64_t kBriefUs = 20;
// Between two looks, after one in vain while a worker waits there.
constexpr uint64_t kWatchedPollUs = 200;

void poller_start(const Poller* poller) {
  running_threads_open();  // for placement: together with the pump's own descriptors
  g_poller.store(poller, std::memory_order_release);
  for (uint32_t i = 0; i < pump_parts(); ++i)
    g_pump_parts[i].poll_at.store(0, std::memory_order_relaxed);
  // Workers that sleep on their futex do not know of it yet: SysMonitor sends one.
  sysmon_notice_slow();
}

void wake_worker(Worker* w, WakeWord what) {
  // seq_cst: see Worker::polling. Release: the worker sees the carrier it was bound to.
  w->wake.store(what, std::memory_order_seq_cst);
  if (uint32_t part = w->polling.load(std::memory_order_seq_cst); part != 0)
    g_poller.load(std::memory_order_relaxed)->interrupt(part - 1);
  else
    kernel::futex_wake(&w->wake, 1);
}

// Returns how many have stayed.
static uint32_t hand_out(TaskList* woken, Carrier* into) {
  uint32_t stay = 0;
  while (WispTask* t = woken->pop()) {
    if (send_home(t, into, IdleHome::Wake)) continue;
    queue_arrival(into, t);
    ++stay;
  }
  return stay;
}

// The one sent is a spare again when it arrives (sleep_until_bound). Who announces work meanwhile
// and finds none tells SysMonitor, which makes one: that happens once or twice in a process's life.
// With several parts, carriers of other groups look here too when they run dry (poll_neglected). If
// most of them are busy that is soon.
static void attend_pump(uint32_t part) {
  Scheduler& s = g_scheduler;
  if (pump_parts() > 1 && 2 * s.idle.wakeable() < s.width()) return;
  if (!s.attendance.wants_another(s.idle.wakeable(), s.idle.polling(part))) return;
  if (Worker* other = s.idle.take_any_spare()) {
    s.attendance.sent();
    other->part = part;
    placement_before_wake(other);
    wake_worker(other, kGoToPump);
  }
}

// Relaxed, two may be at it: a lost one does not matter.
static void note_woken(uint32_t part, uint32_t n) {
  if (n != 0) add(g_pump_parts[part].woken, n);
}

enum class Take { OneBatch, All };

// By who is `looking` there: what it wakes goes home, else to `into`, or to the global queue.
// Returns how many are there now.
static uint32_t look_and_let_go(const Poller* poller, uint32_t part, Carrier* into, Take take) {
  TaskList woken;
  ThreadSelf& me = thread_self();
  me.collect = &woken;
  while (poller->poll(part, kDontWait) == kPollBatch && take == Take::All) {
  }
  me.collect = nullptr;
  uint32_t n = woken.count;
  note_woken(part, n);
  uint64_t pause = n == 0 && g_scheduler.idle.polling(part) ? kWatchedPollUs : kBusyPollUs;
  PumpPart& of = g_pump_parts[part];
  uint64_t now = ticks();
  of.poll_at.store(now + us_to_ticks(pause), std::memory_order_relaxed);
  if (into != nullptr && into->pace.expected(1) < us_to_ticks(kBriefUs))
    of.seen_to_until.store(now + us_to_ticks(2 * kBusyPollUs), std::memory_order_relaxed);
  of.looking.store(0, std::memory_order_release);
  n = hand_out(&woken, into);
  announce_arrivals(n, take == Take::OneBatch ? into : nullptr);
  return n;
}

uint32_t poll_events(uint32_t part, Carrier* into) {
  const Poller* poller = g_poller.load(std::memory_order_acquire);
  if (poller == nullptr) return 0;
  if (g_pump_parts[part].looking.exchange(1, std::memory_order_acquire) != 0) return 0;
  if (into != nullptr) {
    bump(into->polls);
    placement_look_around(into);
    into->spills = has_too_many(into);
    into->pace.look(into->run_ticks.load(std::memory_order_relaxed),
                    into->switches.load(std::memory_order_relaxed));
  }
  return look_and_let_go(poller, part, into, Take::OneBatch);
}

uint32_t poll_neglected(Carrier* into) {
  uint32_t parts = pump_parts(), n = 0;
  if (parts == 1 || !pump_is_empty()) return 0;
  uint64_t before = ticks() - us_to_ticks(kBusyPollUs);
  for (uint32_t i = 0; i < parts; ++i)
    if (i != into->part && poll_is_due(i, before) && !g_scheduler.idle.polling(i))
      n += poll_events(i, into);
  return n;
}

uint32_t poll_in_turn(Carrier* into) { return poll_events(into) + poll_neglected(into); }

uint32_t pump_part_wanted(uint32_t part) {
  const Scheduler& s = g_scheduler;
  if (pump_parts() == 1) return 0;
  const WispTask* self = current_task();
  const Carrier* c = self != nullptr ? self->carrier : nullptr;
  if (c == nullptr) return kAnyPart;
  uint32_t idle = s.idle.wakeable(), width = s.width();
  if (4 * idle >= 3 * width || idle + 1 == width) return 0;
  if (2 * idle > width) return kAnyPart;
  // The first ones, as many as are wanted. Those beyond keep nothing for themselves.
  uint32_t home = (width * pump_parts() + s.carrier_count - 1) / s.carrier_count;
  if (c->part < home) return c->part;
  return part < home ? kAnyPart : c->part % home;
}

bool pump_part_adopts() {
  const WispTask* self = current_task();
  Carrier* c = self != nullptr ? self->carrier : nullptr;
  if (c == nullptr || !c->adopts.load(std::memory_order_relaxed)) return false;
  c->adopts.store(false, std::memory_order_relaxed);
  return true;
}

bool wakes_past_pump(const WispTask* self) {
  // Two who answer each other make some four round trips in 15 us. With 100 connections p99 is then
  // 1.2 ms (plain threads 0.9 to 1.3), with all of a slice 4 to 12. Where so many queue that the
  // caches hold none of them the first trip alone takes that long.
  constexpr uint64_t kTurnUs = 15, kColdTurnUs = 40;
  constexpr uint32_t kCold = 128;
  const Carrier* c = self != nullptr ? self->carrier : nullptr;
  // relaxed: a thief may take it at any time.
  if (c == nullptr || c->next.load(std::memory_order_relaxed) != nullptr) return false;
  uint32_t queued = c->queued();
  uint64_t turn_us = queued < kCold ? kTurnUs : kColdTurnUs;
  return queued == 0 || c->now + us_to_ticks(kSliceUs - turn_us) < c->slice_end;
}

void pump_may_be_empty() {
  // seq_cst: a carrier was taken (the idle set), then this looks at SysMonitor's laziness.
  // SysMonitor stores that, then looks at the idle set once more: one of the two sees the other.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (pump_is_empty()) sysmon_notice();
}

// The part where the worker waits from now on, its own if that is free; false: none is. It is in
// the idle set as the part's poller then. Not in a part that a busy carrier sees to: should that
// one look no more, SysMonitor sends somebody (look_at_pump), and does not sleep long until then.
static bool occupy_part(Worker* w, uint32_t* occupied) {
  uint32_t parts = pump_parts(), part = w->part;
  uint64_t now = ticks();
  if (g_scheduler.idle.wakeable() == 0) parts = 1;  // nobody else's: those see to it themselves
  for (uint32_t i = 0; i < parts; ++i, part = part + 1 < parts ? part + 1 : 0) {
    PumpPart& of = g_pump_parts[part];
    if (i != 0 && pump_part_is_seen_to(part, now)) continue;
    if (of.occupied.load(std::memory_order_relaxed) ||
        of.occupied.exchange(true, std::memory_order_acquire))
      continue;
    if (g_scheduler.idle.become_poller(w, part)) {
      *occupied = part;
      return true;
    }
    of.occupied.store(false, std::memory_order_release);
  }
  return false;
}

EventWait wait_for_events(Worker* w, uint64_t deadline_ns) {
  const Poller* poller = g_poller.load(std::memory_order_acquire);
  if (poller == nullptr || w->wake.load(std::memory_order_relaxed) != 0) return EventWait::NotThere;
  // With every carrier busy each event would wake a kernel thread only to put a task into the
  // global queue, and preempt a sender for it (seen: two context switches for each message). Busy
  // carriers look for themselves, in batches. Who is in here when the last carrier gets busy leaves
  // with the next event.
  if (g_scheduler.idle.idle() == 0) {
    pump_may_be_empty();
    return EventWait::NotThere;
  }
  uint32_t part;
  if (!occupy_part(w, &part)) {
    pump_may_be_empty();
    return EventWait::NotThere;
  }
  placement_before_wait(w);
  w->polling.store(part + 1, std::memory_order_seq_cst);
  TaskList woken;
  if (w->wake.load(std::memory_order_seq_cst) == 0) {
    ThreadSelf& me = thread_self();
    if (me.pending_signals.load(std::memory_order_relaxed) != 0) {
      me.depth.store(0, std::memory_order_relaxed);
      runtime_leave_slow(me);
      me.depth.store(1, std::memory_order_relaxed);
    }
    me.collect = &woken;
    poller->poll(part, deadline_ns);
    me.collect = nullptr;
  }
  w->polling.store(0, std::memory_order_seq_cst);
  g_pump_parts[part].occupied.store(false, std::memory_order_release);
  note_woken(part, woken.count);
  if (woken.count == 0) {
    g_scheduler.idle.stop_polling(w);  // false: chosen for a carrier, `wake` says so or is about to
    return EventWait::Waited;
  }
  // An idle carrier for what we woke, of that group if there is one; unless we were given one
  // meanwhile.
  if (w->wake.load(std::memory_order_relaxed) == 0) w->part = part;
  if (g_scheduler.idle.take_back(w)) {
    w->carrier->now = ticks();
    g_pump_parts[part].poll_at.store(w->carrier->now + us_to_ticks(kBusyPollUs),
                                     std::memory_order_relaxed);
    if (hand_out(&woken, w->carrier) > 1) announce_work();
    attend_pump(part);
    return EventWait::Bound;
  }
  g_scheduler.idle.stop_polling(w);
  if (hand_out(&woken, nullptr) != 0) announce_work_from(nullptr);
  return EventWait::Waited;
}

static bool drain_part(const Poller* poller, uint32_t part, Carrier* into) {
  // Who looks right now delivers before it lets go.
  std::atomic<uint32_t>& looking = g_pump_parts[part].looking;
  for (Backoff backoff; looking.exchange(1, std::memory_order_acquire) != 0;) backoff.wait();
  // A look may find nothing while the kernel hands events to a waiting poll, even of those that it
  // leaves: ep_events_available (Linux, fs/eventpoll.c) asks two lists without a lock, and an event
  // may move from the second to the first in between. So a barrier goes before it. If it still
  // finds the lists empty by such a chance, the waiting poll began after the barrier, takes all
  // that was there (up to kPollBatch), and the second barrier makes that known.
  poller->barrier(part);
  look_and_let_go(poller, part, into, Take::All);
  poller->barrier(part);
  return poller->delivered(part);
}

bool drain_events(PumpParts parts) {
  const Poller* poller = g_poller.load(std::memory_order_acquire);
  if (poller == nullptr) return true;
  WispTask* self = current_task();
  Carrier* into = self != nullptr ? self->carrier : nullptr;
  bool all = true;
  for (; parts != 0; parts &= parts - 1)
    all &= drain_part(poller, static_cast<uint32_t>(__builtin_ctz(parts)), into);
  return all;
}

bool poll_if_due(PumpParts parts) {
  WispTask* self = current_task();
  uint64_t now = ticks();
  bool any = false;
  for (; parts != 0; parts &= parts - 1) {
    uint32_t part = static_cast<uint32_t>(__builtin_ctz(parts));
    if (!poll_is_due(part, now)) continue;
    poll_events(part, self != nullptr ? self->carrier : nullptr);
    any = true;
  }
  return any;
}

bool settle_events(PumpParts parts) {
  const Poller* poller = g_poller.load(std::memory_order_acquire);
  if (poller == nullptr) return true;
  // About a tenth of a second: it may have lost its processor, and an instance that is given up for
  // that is the kernel's for good.
  int tries = 16'000;
  for (; parts != 0; parts &= parts - 1)
    for (Backoff backoff; !poller->delivered(static_cast<uint32_t>(__builtin_ctz(parts)));
         backoff.wait())
      if (--tries == 0) return false;
  return true;
}

}  // namespace wisp
