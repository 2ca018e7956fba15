// See wait.h; the memory-order argument stands in event_pump.cpp.
#include "io/wait.h"

#include <fcntl.h>
#include <poll.h>

#include "io/event_pump.h"
#include "io/poll_wait.h"
#include "platform/kernel.h"

namespace wisp::io {

static Wait wait_after(AfterSignal handlers) {
  switch (handlers) {
    case AfterSignal::GoesOn:
      return Wait::Ready;
    case AfterSignal::Restarts:
      return Wait::Restart;
    case AfterSignal::Ends:
      break;
  }
  return Wait::Interrupted;
}

bool ready_now(int fd, short events) {
  pollfd p{fd, events, 0};
  return poll_now(&p, 1) > 0;
}

Wait make_ready(int fd, Descriptor* d, uint32_t life, bool flag_matters, uint32_t part) {
  uint64_t s = d->state.load(std::memory_order_acquire);
  if (WISP_UNLIKELY(life_of(s) != life)) return Wait::Ended;
  bool registered = (s & (kRegistered | kRegistering)) != 0;
  if (WISP_LIKELY((s & kOwn) != 0)) {
    if (WISP_UNLIKELY(!registered)) return pump_register(fd, d, life, false, part);
    pump_waited_for(d);
    if (pump_parts() != 1) pump_follow(fd, d, life);
    return Wait::Ready;
  }
  // Its file may have other users: ask the kernel what it is now, each time.
  long flags = flag_matters ? kernel::call(SYS_fcntl, fd, F_GETFL) : 0;
  if (flags < 0) return Wait::Ended;
  if ((flags & O_NONBLOCK) != 0) return Wait::WouldBlock;
  return pump_register(fd, d, life, registered);
}

namespace {

inline std::atomic<uint32_t>* word_of(Descriptor* d, Direction direction) {
  return direction == Direction::In ? &d->in : &d->out;
}

inline bool brings_answer(const Descriptor* d, Direction direction) {
  return direction == Direction::In &&
         is_opened_connection(d->state.load(std::memory_order_relaxed));
}

}  // namespace

WakeReason park_on(Descriptor* d, Direction direction, uint32_t seen, uint64_t deadline) {
  std::atomic<uint32_t>* word = word_of(d, direction);
  WispTask* self = current_task();
  uint64_t left = self != nullptr ? ticks() : 0;
  if (self != nullptr) {
    self->awaits_answer = brings_answer(d, direction);
    self->awaits_partner = d->partner.load(std::memory_order_relaxed) != 0;
  }
  WakeReason reason = park(word, deadline, [d, word, seen] {
    // acquire: another's bit is set before the look at the flags below.
    uint32_t w = word->load(std::memory_order_acquire);
    do {
      if ((w & ~1u) != seen) return false;
      // Under the bucket lock; seq_cst against the pump's exchange of the same word.
    } while ((w & 1) == 0 && !word->compare_exchange_weak(w, w | 1));
    // seq_cst, after the bit: taken out of the pump meanwhile (pump_retire)? Then a wait from the
    // start registers it.
    return (d->state.load() & (kRegistered | kRegistering)) != 0;
  });
  if (self != nullptr) {
    self->awaits_answer = self->awaits_partner = false;
    if (reason != WakeReason::Mismatch) account_io_wait(self, left);
  }
  return reason;
}

// The bit is set again under the lock under which it was set: nobody can come in between and find
// it clear while he waits.
void wake_parked(std::atomic<uint32_t>* word, uint32_t n) {
  ParkingLot::unpark(word, n, [word](uint32_t, bool more) {
    // relaxed: see event_pump.cpp, the lock orders it with those who park.
    if (more) word->fetch_or(1, std::memory_order_relaxed);
  });
}

void look_again(int fd, Direction direction) {
  Descriptor* d = descriptor_find(fd);
  if (d == nullptr) return;
  RuntimeEntry entry;
  word_move(word_of(d, direction), ~0u);
}

void look_again_at_terminals() {
  descriptor_each(
      // relaxed: who waits has made it known before. Also of those that are not counted yet, which
      // have looked at O_NONBLOCK and not parked.
      [](const Descriptor& d) {
        return kind_of(d.state.load(std::memory_order_relaxed)) == kTerminal;
      },
      [](int fd) { look_again(fd, Direction::In); });
}

void WakeDuty::woken(Descriptor* d, Direction direction) {
  of_ = nullptr;
  if (direction != Direction::In) return;
  // relaxed: who was parked before us was so before the event, whose wake-up we have seen. Found
  // clear by another event's pump that is about to wake the next: then that one tries after us.
  if ((d->in.load(std::memory_order_relaxed) & 1) == 0) return;
  of_ = d;
  // A handler may run for long before the next try, or never come back (siglongjmp).
  if (WISP_UNLIKELY(thread_self().pending_signals.load() != 0)) pass_on();
}

void WakeDuty::pass_on() {
  RuntimeEntry entry;
  std::atomic<uint32_t>* word = &of_->in;
  of_ = nullptr;
  if ((word->fetch_and(~1u, std::memory_order_relaxed) & 1) != 0) wake_parked(word, 1);
}

Wait wait_for(int fd, Descriptor* d, uint32_t life, Direction direction, uint32_t seen,
              uint64_t deadline, HandlersSince* handlers, WakeDuty* duty) {
  if (direction == Direction::Out) pump_ask_out(fd, d, life);
  Wait ready = make_ready(fd, d, life, false);
  if (WISP_UNLIKELY(ready != Wait::Ready)) return ready;
  RuntimeEntry entry;
  if (Wait ended = wait_after(handlers->take()); WISP_UNLIKELY(ended != Wait::Ready)) return ended;
  WakeDuty at_once;
  WakeReason reason = park_on(d, direction, seen, deadline);
  if (reason == WakeReason::Unparked) (duty != nullptr ? duty : &at_once)->woken(d, direction);
  if (WISP_UNLIKELY(life_of(d->state.load(std::memory_order_acquire)) != life)) return Wait::Ended;
  if (reason == WakeReason::TimedOut) return Wait::TimedOut;
  if (WISP_UNLIKELY(reason == WakeReason::Interrupted))
    return wait_after(after_signal(entry.task()));
  return Wait::Ready;
}

}  // namespace wisp::io
