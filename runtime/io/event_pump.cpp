// See event_pump.h. An event carries the number and the life of its descriptor, so that what
// arrives for a number's former file moves nothing.
//
// Memory order, against io/wait.cpp. Waiter: reads the word (acquire), tries, parks if the word is
// unchanged (compared under the bucket lock). Pump: epoll_wait, moves the word, unparks if bit 0
// says somebody parks. A descriptor that became ready after the try makes an edge after the try, so
// the pump moves the word after the waiter has read it: either the waiter's comparison fails, or it
// has set bit 0 before and the pump's unpark, which takes the same lock, finds it. The registration
// itself is such an edge if the descriptor is ready by then.
//
// Of several who wait to receive the pump wakes one, and that one, when it leaves, the next
// (WakeDuty). Whoever clears bit 0 wakes somebody afterwards; whoever finds it clear although
// others are parked has moved the word, or left, before that somebody tries. So what one wake-up
// too few brought is found by the try of the next, and passed on from there until a try finds
// nothing.
#include "io/event_pump.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "io/poll_chain.h"
#include "io/ring.h"
#include "io/wait.h"
#include "platform/backoff.h"
#include "platform/kernel.h"
#include "platform/own_descriptors.h"
#include "scheduler/poller.h"
#include "scheduler/scheduler.h"

namespace wisp::io {

namespace {

// Epoll data with a life that no descriptor reaches, as kPumpRing.
constexpr uint64_t kInterrupt = ~0ull;

// One epoll instance each.
struct alignas(128) Part {
  int epoll = -1;
  int wakeup = -1;
  // A thread is inside the waiting poll's system call. seq_cst: see barrier(). Not in the line from
  // which all read the numbers above.
  alignas(kCacheLine) std::atomic<bool> inside{false};
  // What the waiting poll takes. The kernel writes its first event (never 0) in the same scan,
  // under the instance's mutex, in which it takes it from the ready ones; 0 means that all is
  // delivered.
  alignas(8) epoll_event taken[kPollBatch];

  std::atomic_ref<uint32_t> first_taken() {
    void* first = taken;
    return std::atomic_ref<uint32_t>(*static_cast<uint32_t*>(first));
  }
};
Part g_parts[kMaxPumpParts];
std::atomic<int> g_started{0};  // 0 no, 1 being started, 2 yes, 3 refused
std::atomic<bool> g_no_pwait2{false};
std::atomic<uint64_t> g_polls{0}, g_events{0}, g_stale{0}, g_turned_out{0};
std::atomic<uint64_t> g_counted[3];  // by Counted

inline void count(std::atomic<uint64_t>& counter, uint64_t n) {
  counter.fetch_add(n, std::memory_order_relaxed);
}

constexpr uint32_t kAll = ~0u;

// A deadline of the scheduler's as a relative timeout.
int wait_for_events(int epoll, epoll_event* events, uint64_t deadline_ns) {
  if (deadline_ns == kDontWait)
    return static_cast<int>(
        kernel::call(SYS_epoll_pwait, epoll, reinterpret_cast<long>(events), kPollBatch, 0, 0, 8));
  timespec left{0, 0};
  if (deadline_ns != kForever) left = time_left(deadline_ns);
  if (!g_no_pwait2.load(std::memory_order_relaxed)) {
    long r = kernel::call(kernel::kEpollPwait2, epoll, reinterpret_cast<long>(events), kPollBatch,
                          deadline_ns == kForever ? 0 : reinterpret_cast<long>(&left), 0, 8);
    // Before Linux 5.11, or forbidden by a sandbox's filter that does not know it.
    if (r != -ENOSYS && r != -EPERM) return static_cast<int>(r);
    g_no_pwait2.store(true, std::memory_order_relaxed);
  }
  uint64_t ms = (to_ns(left) + 999999) / 1000000;
  int timeout = deadline_ns == kForever ? -1 : ms > 0x7fffffff ? 0x7fffffff : static_cast<int>(ms);
  return static_cast<int>(kernel::call(SYS_epoll_pwait, epoll, reinterpret_cast<long>(events),
                                       kPollBatch, timeout, 0, 8));
}

bool deliver(const epoll_event& event) {
  int fd = static_cast<int>(static_cast<uint32_t>(event.data.u64));
  uint32_t life = static_cast<uint32_t>(event.data.u64 >> 32);
  Descriptor* d = descriptor_find(fd);
  uint64_t state = d->state.load(std::memory_order_acquire);
  if (WISP_UNLIKELY(life_of(state) != life)) return false;
  uint32_t e = event.events;
  // What is there for every reader, and for the next one as well.
  bool lasting = (e & (EPOLLRDHUP | EPOLLHUP | EPOLLERR | EPOLLPRI)) != 0;
  if (WISP_UNLIKELY(lasting && (state & kNeverDrained) == 0)) {
    // Before the word moves: a reader that sees it moved sees the flag as well.
    bool end = (e & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
    descriptor_set_flags(d, life, kNeverDrained | (end ? kEnded : 0), 0);
  }
  bool all = (e & (EPOLLHUP | EPOLLERR)) != 0;
  bool in = all || (e & (EPOLLIN | EPOLLPRI | EPOLLRDHUP)) != 0, out = all || (e & EPOLLOUT) != 0;
  // relaxed: a measure.
  bool waited =
      ((d->in.load(std::memory_order_relaxed) | d->out.load(std::memory_order_relaxed)) & 1) != 0;
  if (in) word_move(&d->in, lasting ? kAll : 1);
  if (out) word_move(&d->out, kAll);
  // seq_cst: poll_wait.cpp publishes its nodes, then asks the kernel once more; see there.
  if (WISP_UNLIKELY(d->pollers.load() != nullptr))
    poll_nodes_wake(
        d, static_cast<uint8_t>((in ? kPollIn : 0) | (out ? kPollOut : 0) | (all ? kPollAll : 0)));
  else if (!waited && (d->marks.fetch_add(1, std::memory_order_relaxed) & kNobodysEvents) >= kVain)
    pump_retire(fd, d, life);
  return true;
}

long watch_wakeup(int operation, int epoll, int wakeup) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kInterrupt;
  return kernel::call(SYS_epoll_ctl, epoll, operation, wakeup, reinterpret_cast<long>(&event));
}

void interrupt(uint32_t part) {
  uint64_t one = 1;
  kernel::call(SYS_write, g_parts[part].wakeup, reinterpret_cast<long>(&one), sizeof one);
}

void take_interrupt(const Part& part) {
  uint64_t value;
  kernel::call(SYS_read, part.wakeup, reinterpret_cast<long>(&value), sizeof value);
}

// Nobody inside: who was there came out, and the mark of what it took was there before; or it comes
// in after this.
void barrier(uint32_t part) {
  Part& of = g_parts[part];
  if (of.inside.load(std::memory_order_seq_cst)) watch_wakeup(EPOLL_CTL_MOD, of.epoll, of.wakeup);
}

bool delivered(uint32_t part) {
  // acquire: what was delivered, against the release in poll().
  return g_parts[part].first_taken().load(std::memory_order_acquire) == 0;
}

int poll(uint32_t part, uint64_t deadline_ns) {
  Part& of = g_parts[part];
  epoll_event looked[kPollBatch];
  bool waits = deadline_ns != kDontWait;
  epoll_event* events = waits ? of.taken : looked;
  if (waits) of.inside.store(true, std::memory_order_seq_cst);
  int n = wait_for_events(of.epoll, events, deadline_ns);
  if (waits) of.inside.store(false, std::memory_order_seq_cst);
  if (n <= 0) return 0;
  int stale = 0, woken = 0;
  for (int i = 0; i < n; ++i) {
    if (WISP_UNLIKELY(events[i].data.u64 == kInterrupt)) {
      // For the thread inside: the next one comes in after it has left (scheduler/polling.cpp).
      if (waits) take_interrupt(of);
      continue;
    }
    if (WISP_UNLIKELY((events[i].data.u64 & kPumpRing) == kPumpRing)) {
      woken += ring_reap(static_cast<uint32_t>(events[i].data.u64));
      continue;
    }
    if (deliver(events[i]))
      ++woken;
    else
      ++stale;
  }
  if (waits) of.first_taken().store(0, std::memory_order_release);
  count(g_polls, 1);
  count(g_events, static_cast<uint64_t>(woken));
  if (stale != 0) count(g_stale, static_cast<uint64_t>(stale));
  return n;
}

const Poller kPoller = {poll, interrupt, barrier, delivered};

bool start(Part* part) {
  int epoll = move_up(static_cast<int>(kernel::call(SYS_epoll_create1, EPOLL_CLOEXEC)));
  if (epoll < 0) return false;
  int wakeup = move_up(static_cast<int>(kernel::call(SYS_eventfd2, 0, EFD_CLOEXEC | EFD_NONBLOCK)));
  if (wakeup < 0 || watch_wakeup(EPOLL_CTL_ADD, epoll, wakeup) < 0) {
    if (wakeup >= 0) kernel::call(SYS_close, wakeup);
    kernel::call(SYS_close, epoll);
    return false;
  }
  part->epoll = epoll;
  part->wakeup = wakeup;
  return true;
}

bool start() {
  uint32_t n = pump_parts();
  for (uint32_t i = 0; i < n; ++i) {
    if (start(&g_parts[i])) continue;
    while (i-- > 0) {
      kernel::call(SYS_close, g_parts[i].wakeup);
      kernel::call(SYS_close, g_parts[i].epoll);
    }
    return false;
  }
  for (uint32_t i = 0; i < n; ++i) {
    own_descriptor_add(g_parts[i].epoll);
    own_descriptor_add(g_parts[i].wakeup);
  }
  return true;
}

bool ensure_started() {
  // acquire: the parts are written before state 2.
  int s = g_started.load(std::memory_order_acquire);
  if (WISP_LIKELY(s == 2)) return true;
  RuntimeEntry entry;  // nobody else waits long: no hand-off in between
  if (s == 0 || s == 3) {
    if (g_started.compare_exchange_strong(s, 1, std::memory_order_acq_rel)) {
      bool ok = start();
      // Refused for want of descriptors: the next wait tries again.
      g_started.store(ok ? 2 : 3, std::memory_order_release);
      if (ok) poller_start(&kPoller);
      return ok;
    }
  }
  for (Backoff backoff; (s = g_started.load(std::memory_order_acquire)) == 1;) backoff.wait();
  return s == 2;
}

}  // namespace

// Not before the scheduler, which says how many parts there are.
bool pump_start() { return scheduler_running() && ensure_started(); }

int pump_instance(uint32_t part) { return g_parts[part].epoll; }

void pump_turn_out() {
  // acquire: see ensure_started.
  if (g_started.load(std::memory_order_acquire) != 2) return;
  for (uint32_t i = 0; i < pump_parts(); ++i) {
    // seq_cst, after the close, as the store before the call in poll(): a look that was under way
    // during the close is seen, or has returned.
    if (!g_parts[i].inside.load(std::memory_order_seq_cst)) continue;
    interrupt(i);
    count(g_turned_out, 1);
  }
}

static std::atomic<uint64_t>& counted(Counted what) { return g_counted[static_cast<int>(what)]; }
void pump_count(Counted what) { count(counted(what), 1); }

bool runtime_owns(int first, int last) {
  return own_descriptor_in(first, last) || ring_owns(first, last);
}

void descriptor_wake_all(Descriptor* d) {
  word_move(&d->in, kAll);
  word_move(&d->out, kAll);
  if (d->pollers.load() != nullptr) poll_nodes_wake(d, kPollAll);
}

PumpCounts pump_counts() {
  auto of = [](Counted what) { return counted(what).load(); };
  return {g_polls.load(),    g_events.load(),     g_stale.load(),      of(Counted::Registration),
          of(Counted::Move), g_turned_out.load(), of(Counted::Retired)};
}

}  // namespace wisp::io
