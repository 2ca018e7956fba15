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
#include "platform/backoff.h"
#include "platform/running.h"
#include "scheduler/internal.h"
#include "scheduler/pick.h"
#include "scheduler/placement.h"

namespace wisp {

std::atomic<const Poller*> g_poller{nullptr};
std::atomic<uint64_t> g_poll_at{~0ull};

// Between two looks of busy carriers, all together. A look costs about half a microsecond.
constexpr uint64_t kBusyPollUs = 50;
// The same after a look in vain while a worker waits there.
constexpr uint64_t kWatchedPollUs = 200;

// One looker at a time: epoll_wait hands an edge to one caller only, and two lookers would only
// share the events between carriers. Exchange: acquire on success, release by the store below.
static std::atomic<uint32_t> g_looking{0};

void poller_start(const Poller* poller) {
  running_threads_open();  // for placement: together with the pump's own descriptors
  g_poller.store(poller, std::memory_order_release);
  g_poll_at.store(0, std::memory_order_relaxed);
  // Workers that sleep on their futex do not know of it yet: SysMonitor sends one.
  sysmon_notice_slow();
}

void wake_worker(Worker* w, WakeWord what) {
  // seq_cst: see Worker::polling. Release: the worker sees the carrier it was bound to.
  w->wake.store(what, std::memory_order_seq_cst);
  if (w->polling.load(std::memory_order_seq_cst))
    g_poller.load(std::memory_order_relaxed)->interrupt();
  else
    kernel::futex_wake(&w->wake, 1);
}

static void hand_out(TaskList* woken, Carrier* into) {
  while (WispTask* t = woken->pop()) queue_arrival(into, t);
}

// The one sent is a spare again when it arrives (sleep_until_bound). Who announces work meanwhile
// and finds none tells SysMonitor, which makes one: that happens once or twice in a process's life.
static void attend_pump() {
  Scheduler& s = g_scheduler;
  if (!s.attendance.wants_another(s.idle.idle(), s.idle.polling())) return;
  if (Worker* other = s.idle.take_any_spare()) {
    s.attendance.sent();
    placement_before_wake(other);
    wake_worker(other, kGoToPump);
  }
}

enum class Take { OneBatch, All };

// By who has g_looking: what it wakes goes to `into`, or to the global queue. Returns how many.
static uint32_t look_and_let_go(const Poller* poller, Carrier* into, Take take) {
  TaskList woken;
  ThreadSelf& me = thread_self();
  me.collect = &woken;
  while (poller->poll(kDontWait) == kPollBatch && take == Take::All) {
  }
  me.collect = nullptr;
  uint32_t n = woken.count;
  uint64_t pause = n == 0 && g_scheduler.idle.polling() ? kWatchedPollUs : kBusyPollUs;
  g_poll_at.store(ticks() + us_to_ticks(pause), std::memory_order_relaxed);
  g_looking.store(0, std::memory_order_release);
  hand_out(&woken, into);
  // A carrier between two tasks runs a single one itself, at once.
  bool next = into != nullptr && take == Take::OneBatch;
  if (n > 1 || (n == 1 && !next)) announce_work();
  return n;
}

uint32_t poll_events(Carrier* into) {
  const Poller* poller = g_poller.load(std::memory_order_acquire);
  if (poller == nullptr) return 0;
  if (g_looking.exchange(1, std::memory_order_acquire) != 0) return 0;
  if (into != nullptr) bump(into->polls);
  return look_and_let_go(poller, into, Take::OneBatch);
}

void pump_may_be_empty() {
  // seq_cst: a carrier was taken (the idle set), then this looks at SysMonitor's laziness.
  // SysMonitor stores that, then looks at the idle set once more: one of the two sees the other.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (pump_is_empty()) sysmon_notice();
}

// A worker is inside the waiting poll, or about to enter it. The idle set forgets its poller as
// soon as that one is chosen for a carrier, but until it has really left nobody else may go in: the
// other would take away the interruption that was meant for it, and the carrier would wait with it.
// Exchange: acquire, against the release of the one who leaves.
static std::atomic<bool> g_occupied{false};

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
  if (g_occupied.exchange(true, std::memory_order_acquire)) return EventWait::NotThere;
  if (!g_scheduler.idle.become_poller(w)) {
    g_occupied.store(false, std::memory_order_release);
    return EventWait::NotThere;
  }
  w->polling.store(true, std::memory_order_seq_cst);
  TaskList woken;
  if (w->wake.load(std::memory_order_seq_cst) == 0) {
    ThreadSelf& me = thread_self();
    if (me.pending_signals.load(std::memory_order_relaxed) != 0) {
      me.depth.store(0, std::memory_order_relaxed);
      runtime_leave_slow(me);
      me.depth.store(1, std::memory_order_relaxed);
    }
    me.collect = &woken;
    poller->poll(deadline_ns);
    me.collect = nullptr;
  }
  w->polling.store(false, std::memory_order_seq_cst);
  g_occupied.store(false, std::memory_order_release);
  if (woken.count == 0) {
    g_scheduler.idle.stop_polling(w);  // false: chosen for a carrier, `wake` says so or is about to
    return EventWait::Waited;
  }
  // An idle carrier for what we woke, unless we were given one meanwhile.
  if (g_scheduler.idle.take_back(w)) {
    w->carrier->now = ticks();
    g_poll_at.store(w->carrier->now + us_to_ticks(kBusyPollUs), std::memory_order_relaxed);
    uint32_t n = woken.count;
    hand_out(&woken, w->carrier);
    if (n > 1) announce_work();
    attend_pump();
    return EventWait::Bound;
  }
  g_scheduler.idle.stop_polling(w);
  hand_out(&woken, nullptr);
  announce_work();
  return EventWait::Waited;
}

bool drain_events() {
  const Poller* poller = g_poller.load(std::memory_order_acquire);
  if (poller == nullptr) return true;
  // Who looks right now delivers before it lets go.
  for (Backoff backoff; g_looking.exchange(1, std::memory_order_acquire) != 0;) backoff.wait();
  // A look may find nothing while the kernel hands events to a waiting poll, even of those that it
  // leaves: ep_events_available (Linux, fs/eventpoll.c) asks two lists without a lock, and an event
  // may move from the second to the first in between. So a barrier goes before it. If it still
  // finds the lists empty by such a chance, the waiting poll began after the barrier, takes all
  // that was there (up to kPollBatch), and the second barrier makes that known.
  poller->barrier();
  WispTask* self = current_task();
  look_and_let_go(poller, self != nullptr ? self->carrier : nullptr, Take::All);
  poller->barrier();
  return poller->delivered();
}

bool settle_events() {
  const Poller* poller = g_poller.load(std::memory_order_acquire);
  // About a tenth of a second: it may have lost its processor, and an instance that is given up for
  // that is the kernel's for good.
  Backoff backoff;
  for (int tries = 16'000; poller != nullptr && !poller->delivered(); backoff.wait())
    if (--tries == 0) return false;
  return true;
}

}  // namespace wisp
