// Waiting of the calling task for one direction of one descriptor: read the word - try without
// blocking - park if the word has not moved. A call that takes or gives data is in blocking_call.h.
// On tasks only, outside any RuntimeEntry, where nothing else is said. Nothing allocates once a
// descriptor is known.
#pragma once
#include "io/descriptor.h"
#include "scheduler/poller.h"
#include "scheduler/scheduler.h"
#include "sync/interruption.h"
#include "sync/parking_lot.h"

namespace wisp::io {

enum class Wait {
  Ready,  // the word has moved (or may have): try again
  TimedOut,
  Interrupted,  // a handler ran that does not restart calls: EINTR
  Restart,      // handlers ran, but only such as restart calls
  Ended,        // the number stands for something else now
  Refused,      // the kernel would not register it: make the call itself, in a BlockingRegion
  WouldBlock,   // somebody else who has the same file set O_NONBLOCK
};

enum class Direction { In, Out };

// What an event that woke one of several waiters leaves to that one. Data or a connection that
// arrives wakes the oldest waiter only, as in the kernel (all of them for an end, an error, room to
// write). Whoever was woken and leaves, with or without success, wakes the next, who tries and
// waits again if nothing is left. Who parks after the wake-up is owed nothing: its try came after
// the event. So it is enough to look once, when woken, whether others wait.
class WakeDuty {
 public:
  WakeDuty() = default;
  ~WakeDuty() {
    if (WISP_UNLIKELY(of_ != nullptr)) pass_on();
  }
  WakeDuty(const WakeDuty&) = delete;
  WakeDuty& operator=(const WakeDuty&) = delete;

  // Right after a park on a word of d that an event ended. A former duty is void: its owner has
  // tried since, in vain, or it would not have parked again.
  void woken(Descriptor* d, Direction direction);

 private:
  void pass_on();
  Descriptor* of_ = nullptr;
};

// One wait of a call that does not hold the file while it waits (poll, epoll_wait).
// deadline: kForever = none. duty: the caller takes what it waits for and passes the wake-up on
// when it leaves; without it the wake-up is passed on at once, because who only looks takes
// nothing.
Wait wait_for(int fd, Descriptor* d, uint32_t life, Direction direction, uint32_t seen,
              uint64_t deadline, HandlersSince* handlers, WakeDuty* duty = nullptr);

// One park on that direction's word, unless it has moved since `seen` was read. Inside the runtime.
WakeReason park_on(Descriptor* d, Direction direction, uint32_t seen, uint64_t deadline);

// Wakes the oldest `n` of those who are parked on a readiness word; if some remain, bit 0 says so.
void wake_parked(std::atomic<uint32_t>* word, uint32_t n);

// Moves a readiness word (an event of that direction) and wakes the oldest n who are parked on it,
// see WakeDuty. Needs a RuntimeEntry.
inline void word_move(std::atomic<uint32_t>* word, uint32_t n) {
  uint32_t w = word->load(std::memory_order_relaxed);
  // seq_cst: release for what was written before (the life, flags); a locked instruction anyway.
  while (!word->compare_exchange_weak(w, (w & ~1u) + 2)) {
  }
  if ((w & 1) != 0) wake_parked(word, n);
}

// Makes sure that events of this life arrive: Ready, Ended, Refused or WouldBlock.
// `flag_matters`: a blocking call, which becomes a non-blocking one where O_NONBLOCK is found set.
// `part`: of the event pump, by preference.
Wait make_ready(int fd, Descriptor* d, uint32_t life, bool flag_matters, uint32_t part = kAnyPart);

// Asks the kernel about one descriptor (POLLIN, POLLOUT). A signal that comes meanwhile makes
// poll(2) fail even with a timeout of 0 (Linux's do_poll): that is no answer, so false, and the
// wait that follows finds out whether the number still stands for the same file.
bool ready_now(int fd, short events);

// Who waits for that direction of the number tries again. Any thread.
void look_again(int fd, Direction direction);
// Who reads from a terminal, whatever its number, tries again: the mode of one of them has changed,
// by which the kernel wakes readers without an event for epoll.
void look_again_at_terminals();

inline uint32_t word_value(const std::atomic<uint32_t>& word) {
  // acquire: what the pump knew when it moved the word.
  return word.load(std::memory_order_acquire) & ~1u;
}

}  // namespace wisp::io
