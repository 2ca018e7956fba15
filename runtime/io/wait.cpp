// See wait.h; the memory-order argument stands in event_pump.cpp.
#include "io/wait.h"

#include <fcntl.h>

#include "io/event_pump.h"
#include "platform/kernel.h"
#include "signal/actions.h"
#include "sync/parking_lot.h"

namespace wisp::io {

Wait after_signal(WispTask* task) {
  constexpr uint64_t kNoSignals = kDeferredMark | kLoaderMark;
  uint64_t due =
      task->self->pending_signals.load(std::memory_order_relaxed) & ~task->signal_mask & ~kNoSignals;
  for (; due != 0; due &= due - 1) {
    struct sigaction action;
    if (action_set(__builtin_ctzll(due) + 1, nullptr, &action) != 0) continue;
    bool handled = action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
    if (handled && (action.sa_flags & SA_RESTART) == 0) return Wait::Interrupted;
  }
  return Wait::Restart;
}

Wait make_ready(int fd, Descriptor* d, uint32_t life, bool flag_matters) {
  uint64_t s = d->state.load(std::memory_order_acquire);
  if (WISP_UNLIKELY(life_of(s) != life)) return Wait::Ended;
  if (WISP_UNLIKELY((s & kOwn) == 0)) {
    // Its file may have other users: ask the kernel what it is now, each time.
    long flags = flag_matters ? kernel::call(SYS_fcntl, fd, F_GETFL) : 0;
    if (flags < 0) return Wait::Ended;
    if ((flags & O_NONBLOCK) != 0) return Wait::WouldBlock;
    if (!pump_register(fd, d, life, (s & (kRegistered | kRegistering)) != 0)) return Wait::Refused;
  } else if (WISP_UNLIKELY((s & (kRegistered | kRegistering)) == 0)) {
    if (!pump_register(fd, d, life, false)) return Wait::Refused;
  }
  return Wait::Ready;
}

Wait wait_for(int fd, Descriptor* d, uint32_t life, Direction direction, uint32_t seen,
              uint64_t deadline, bool flag_matters) {
  Wait ready = make_ready(fd, d, life, flag_matters);
  if (WISP_UNLIKELY(ready != Wait::Ready)) return ready;
  std::atomic<uint32_t>* word = direction == Direction::In ? &d->in : &d->out;
  RuntimeEntry entry;
  WakeReason reason = park(word, deadline, [word, seen] {
    uint32_t w = word->load(std::memory_order_relaxed);
    do {
      if ((w & ~1u) != seen) return false;
      // Under the bucket lock; seq_cst against the pump's exchange of the same word.
    } while ((w & 1) == 0 && !word->compare_exchange_weak(w, w | 1));
    return true;
  });
  if (WISP_UNLIKELY(life_of(d->state.load(std::memory_order_acquire)) != life)) return Wait::Ended;
  if (reason == WakeReason::TimedOut) return Wait::TimedOut;
  if (WISP_UNLIKELY(reason == WakeReason::Interrupted)) return after_signal(entry.task());
  return Wait::Ready;
}

long BlockingCall::wait(uint32_t seen) {
  if (!timed_) {
    Wait ready = make_ready(fd_, d_, life(), true);  // also what makes the timeouts known
    if (ready == Wait::Ended) return -EBADF;
    if (ready == Wait::WouldBlock) return -EAGAIN;
    if (ready == Wait::Refused) return kMakeTheCall;
    uint64_t ns = (direction_ == Direction::In ? d_->receive_timeout : d_->send_timeout)
                      .load(std::memory_order_relaxed);
    deadline_ = ns != 0 && kind() == kSocket ? monotonic_ns() + ns : kForever;
    timed_ = true;
  }
  switch (wait_for(fd_, d_, life(), direction_, seen, deadline_, true)) {
    case Wait::Ready:
      return 0;
    case Wait::TimedOut:
      return -EAGAIN;
    case Wait::Interrupted:
      return -EINTR;
    case Wait::Restart:
      // The kernel restarts no call with a timeout of its own.
      return deadline_ != kForever ? -EINTR : 0;
    case Wait::Ended:
      // dup2 put something else there: on plain threads the call would go on on the old file until a
      // signal comes, and the programs that do this send one. close: nothing left to go on with.
      return kernel::call(SYS_fcntl, fd_, F_GETFD) >= 0 ? -EINTR : -EBADF;
    case Wait::WouldBlock:
      return -EAGAIN;
    case Wait::Refused:
      return kMakeTheCall;
  }
  return 0;
}

}  // namespace wisp::io
