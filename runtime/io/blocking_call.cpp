// See blocking_call.h; the memory-order argument stands in event_pump.cpp.
#include "io/blocking_call.h"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>

#include "io/event_pump.h"
#include "io/kept.h"
#include "io/poll_wait.h"
#include "platform/kernel.h"
#include "platform/own_descriptors.h"

namespace wisp::io {

namespace {

// Counts a call in, or out. False: the life is over (counted in before: there is a claim). One step
// with the check of the life, so that who ends the life knows exactly how many claims there are.
// Where as many wait as can be counted the call is not: *counted.
bool count_in(Descriptor* d, uint32_t life, bool* counted) {
  uint64_t s = d->state.load(std::memory_order_relaxed);
  do {
    if (life_of(s) != life) return false;
    *counted = (s & kCallers) != kCallers;
  } while (*counted &&
           !d->state.compare_exchange_weak(s, s + kOneCaller, std::memory_order_acq_rel));
  return true;
}
bool count_out(Descriptor* d, uint32_t life, bool counted) {
  uint64_t s = d->state.load(std::memory_order_acquire);
  do {
    if (life_of(s) != life) return false;
  } while (counted &&
           !d->state.compare_exchange_weak(s, s - kOneCaller, std::memory_order_acq_rel));
  return true;
}

}  // namespace

// A sender on a local socket is woken in the kernel when its side, or the peer's other one, is shut
// down; but for epoll there is nothing (Linux's unix_poll says neither OUT nor HUP then): until
// when it waits before it tries again. (Where the number is shut down in this process, look_again.)
static uint64_t next_look(uint32_t looks) {
  constexpr uint64_t kFirstNs = 25'000'000, kDoublings = 5;
  return monotonic_ns() + (kFirstNs << std::min<uint64_t>(looks, kDoublings));
}

long BlockingCall::wait(uint32_t seen) {
  restarts_ = false;
  if (direction_ == Direction::Out) pump_ask_out(fd_, d_, life());
  // A terminal's read that is woken looks at O_NONBLOCK again (Linux's n_tty_read).
  bool flag_matters = !waited_ || kind() == kTerminal;
  Wait ready = make_ready(fd_, d_, life(), flag_matters);  // also what makes the timeouts known
  // `seen` is of the number's word: on with another one from the start.
  if (WISP_UNLIKELY(ready == Wait::Ended)) return life_over();
  if (WISP_UNLIKELY(ready != Wait::Ready))
    return ready == Wait::WouldBlock ? -EAGAIN : kMakeTheCall;
  if (!timed_) {
    bool in = direction_ == Direction::In;
    uint64_t ns = 0;
    if (kind() == kSocket) {
      // Another thread may be registering it right now: then the record has those of a former life.
      // acquire: kRegistered is set after they are stored.
      bool known = (d_->state.load(std::memory_order_acquire) & kRegistered) != 0;
      const std::atomic<uint64_t>& limit = in ? d_->receive_timeout : d_->send_timeout;
      ns = known ? limit.load(std::memory_order_relaxed)
                 : limit_of(fd_, in ? SO_RCVTIMEO : SO_SNDTIMEO, limit);
    }
    deadline_ = ns != 0 ? monotonic_ns() + ns : kForever;
    timed_ = true;
  }
  // What is not the process's own is registered anew for each wait, each time an event of all that
  // it is ready for: with an error that stays the wait would not wait.
  constexpr uint32_t kInVain = 3;
  if (WISP_UNLIKELY(in_vain_ > kInVain) && !is(kOwn)) return kMakeTheCall;
  RuntimeEntry entry;
  if (WISP_UNLIKELY(inside_)) leave_runtime();  // `entry` holds it from here on
  if (AfterSignal ran = handlers_.take(); WISP_UNLIKELY(ran != AfterSignal::GoesOn))
    return after(ran);
  bool counted;
  if (!count_in(d_, life(), &counted)) return life_over();
  // Who replaces the file may not have counted this one. seq_cst: counted in, then the mark; the
  // mark, then the count (keep_file). One of the two sees the other. One that has waited before may
  // so come to the new file; it would have no duplicate to go on with.
  if (WISP_UNLIKELY((d_->replacing.load() & kReplacing) != 0) && !holds_) {
    count_out(d_, life(), counted);
    return kMakeTheCall;
  }
  uint64_t until = deadline_;
  if (direction_ == Direction::Out && kind() == kSocket && !is(kTcp)) {
    uint64_t look = next_look(looks_++);
    if (until == kForever || look < until) until = look;
  }
  WakeReason reason = park_on(d_, direction_, seen, until);
  if (WISP_LIKELY(reason == WakeReason::Unparked)) {
    duty_.woken(d_, direction_);
    ++in_vain_;
  }
  if (reason != WakeReason::Mismatch) waited_ = true;
  AfterSignal signal =
      reason == WakeReason::Interrupted ? after_signal(entry.task()) : AfterSignal::GoesOn;
  if (WISP_UNLIKELY(!count_out(d_, life(), counted)) && !(counted && go_on_with_kept(life())) &&
      !go_on_with_held()) {
    // Counted in between who replaces or closes the file looked and the end of the life, and the
    // mark was gone when this one looked: but then the words had moved, and it has not waited.
    if (begins()) return life_over();
    // No duplicate could be had.
    return kernel::call(SYS_fcntl, fd_, F_GETFD) >= 0 ? -EINTR : -EBADF;
  }
  if (reason == WakeReason::TimedOut) return until == deadline_ ? -EAGAIN : 0;
  return after(signal);
}

bool BlockingCall::met_error() const {
  pollfd p{fd(), 0, 0};
  return poll_now(&p, 1) > 0 && (!is(kTcp) || (p.revents & ~POLLERR) != 0);
}

// The number was closed, or dup2 has put another file there, since the call began. Where it has
// neither waited nor done a part it comes after that: after dup2 it is made with that file; the
// number closed it has EBADF, also if that stands for a file again by now, whose bytes are not for
// a call that was there before it.
long BlockingCall::life_over() {
  if (go_on_with_held()) return 0;
  return begins() && (d_->replacing.load() & kReplaced) != 0 ? kMakeTheCall : -EBADF;
}

// What wait() returns then.
long BlockingCall::after(AfterSignal handlers) {
  restarts_ = handlers == AfterSignal::Restarts;
  if (restarts_) waited_ = false;  // the kernel makes the call once more
  return begins_anew(handlers, deadline_) ? 0 : -EINTR;
}

bool BlockingCall::go_on_with_kept(uint32_t life) {
  int fd = kept_claim(d_, life);
  if (fd < 0) return false;
  begin_to_hold();
  fd_ = fd;
  kept_ = true;
  d_ = descriptor_get(fd);
  if (d_ == nullptr) return false;
  state_ = descriptor_know(fd, d_);
  ThreadSelf& me = thread_self();
  me.depth.store(me.depth.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  inside_ = true;
  return true;
}

void BlockingCall::leave_runtime() {
  if (!inside_) return;
  inside_ = false;
  ThreadSelf& me = thread_self();
  me.depth.store(me.depth.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  RuntimeEntry deliver;  // what came meanwhile, when this ends
}

bool BlockingCall::go_on_with_held() {
  if (held_ < 0 || fd_ == held_ || kept_) return false;
  d_ = descriptor_get(held_);
  if (d_ == nullptr) return false;
  fd_ = held_;
  state_ = descriptor_know(fd_, d_);
  return true;
}

// How many calls hold a duplicate: one for each blocked sender of a server with slow readers.
static std::atomic<uint32_t> g_held{0};

bool BlockingCall::hold() {
  progressed();
  if (held_ >= 0 || kept_) return true;
  begin_to_hold();
  RuntimeEntry entry;  // no handler runs, and perhaps jumps out of the call, in between
  // With none to be had it goes on by the number, and asks again each time.
  held_ = high_duplicate(fd_, g_held.load(std::memory_order_relaxed));
  if (held_ >= 0) {
    g_held.fetch_add(1, std::memory_order_relaxed);
    kept_mark(held_, true);
  }
  return SameFile(d_, life()).still();  // perhaps it is another file's, and the call is over
}

void BlockingCall::begin_to_hold() {
  if (holds_) return;
  given_up_.begin([](void* call) { static_cast<BlockingCall*>(call)->let_go(); }, this);
  holds_ = true;
}

void BlockingCall::let_go() {
  given_up_.end();
  if (held_ >= 0) {
    g_held.fetch_sub(1, std::memory_order_relaxed);
    kept_mark(held_, false);
  }
  int last = -1;
  if (kept_) {
    RuntimeEntry entry;
    last = kept_release(fd_);
  }
  leave_runtime();
  // A file that has another descriptor is closed at once.
  if (held_ >= 0 && fd_ != held_ && last < 0 && SameFile(d_, life()).still()) {
    kernel::call(SYS_close, held_);
    return;
  }
  if (held_ < 0 && last < 0) return;
  if (held_ >= 0 && fd_ == held_) descriptor_closing(held_);
  BlockingRegion region;
  if (held_ >= 0) kernel::call(SYS_close, held_);
  if (last >= 0) kernel::call(SYS_close, last);
}

}  // namespace wisp::io
