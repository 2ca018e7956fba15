// The loop every blocking call on a descriptor is made of: read the word - try without blocking -
// park if it has not moved. On tasks only, outside any RuntimeEntry, where nothing else is said.
// Nothing allocates once a descriptor is known.
#pragma once
#include <errno.h>
#include <sys/socket.h>

#include "io/wait.h"
#include "platform/cleanup.h"

namespace wisp::io {

// One blocking call: keeps the record, its life, and the deadline that SO_RCVTIMEO/SO_SNDTIMEO
// give.
class BlockingCall {
 public:
  BlockingCall(int fd, Direction direction)
      : fd_(fd), direction_(direction), d_(descriptor_get(fd)) {
    if (WISP_LIKELY(d_ != nullptr)) state_ = descriptor_know(fd, d_);
  }
  ~BlockingCall() {
    if (WISP_UNLIKELY(holds_)) let_go();
  }
  BlockingCall(const BlockingCall&) = delete;
  BlockingCall& operator=(const BlockingCall&) = delete;

  // Nothing to add to what the kernel does: bad, always ready, or non-blocking by the program's
  // wish.
  bool straight() const {
    return d_ != nullptr && (kind() == kUnknown || kind() == kStraight || kind() == kDisk ||
                             (state_ & kNonBlocking) != 0);
  }
  // It goes on with a duplicate, inside the runtime: a call that may wait after all needs make().
  bool kept() const { return kept_; }
  // The number to make the call with: another one after the program's was closed (io/kept.h), or
  // once a part is done.
  int fd() const { return WISP_UNLIKELY(held_ >= 0) ? held_ : fd_; }
  bool has_record() const { return d_ != nullptr; }
  Kind kind() const { return kind_of(state_); }
  bool is(uint32_t flag) const { return (state_ & flag) != 0; }
  Descriptor* record() const { return d_; }
  uint32_t life() const { return life_of(state_); }
  uint32_t word() const { return word_value(direction_ == Direction::In ? d_->in : d_->out); }

  // 0: try again. Otherwise what the call returns (-errno), or kMakeTheCall.
  static constexpr long kMakeTheCall = -100000;
  long wait(uint32_t seen);
  // The last wait was ended by a handler with SA_RESTART: who has done a part ends with that all
  // the same, since only a call without any effect is begun anew.
  bool restarts() const { return restarts_; }
  // After a wait: a call that has done a part is over, because a handler has run, or the descriptor
  // has an error, which is for the next call (another attempt would take it off the socket).
  bool ends_with_part() const {
    if (restarts_) return true;
    if (!met_error()) return false;
    // Of a local stream the kernel's call takes it along.
    if (kind() == kSocket && !is(kTcp)) socket_option(fd(), SO_ERROR);
    return true;
  }
  // It has an error, or no direction is open. TCP that has an error is closed (POLLHUP): without
  // that it is what queues for recvmsg(MSG_ERRQUEUE), time stamps and the like, and ends no call.
  bool met_error() const;
  // A part is done and there is more to do: from here on the call holds its file, whatever the
  // number stands for. False: that is something else already, so the call ends with its part.
  bool hold();
  // Something is done: what woke it has been worth it.
  void progressed() { in_vain_ = 0; }
  // A handler has run since the call began, or since the last wait: whoever has done a part, and
  // goes on by a call that may wait, is over.
  bool signal_came() { return handlers_.take() != AfterSignal::GoesOn; }
  // The limit counts from the next wait on.
  void begin_limit_anew() { timed_ = false; }

  // The call itself, where there is nothing better. A handler that has run since the call began, or
  // since its last wait, would have ended it (one that was put off runs here).
  template <typename F>
  long make(F&& call) {
    leave_runtime();
    BlockingRegion region;
    if (WISP_UNLIKELY(handlers_.end_call())) return -EINTR;
    return call();
  }

 private:
  long after(AfterSignal handlers);
  long life_over();
  // One that were made now could not be told from it.
  bool begins() const { return !waited_ && !holds_; }
  void begin_to_hold();
  void let_go();
  void leave_runtime();
  bool go_on_with_kept(uint32_t life);
  bool go_on_with_held();

  int fd_;
  Direction direction_;
  Descriptor* d_;
  uint64_t state_ = 0;
  uint64_t deadline_ = kForever;
  HandlersSince handlers_;
  int held_ = -1;         // a duplicate of its own
  uint32_t looks_ = 0;    // of a wait whose end may have no event
  uint32_t in_vain_ = 0;  // events since something was done
  bool timed_ = false;    // deadline_ is known
  bool waited_ = false;   // so it is a blocking one, whatever O_NONBLOCK says by now
  bool restarts_ = false;
  bool kept_ = false;  // fd_ is a kept duplicate
  // From the end of a life to the next wait the call stays inside the runtime: a signal sent after
  // the close finds it waiting, as it would in the kernel.
  bool inside_ = false;
  bool holds_ = false;  // a duplicate, perhaps, which let_go gives back
  Cleanup given_up_;    // ... also where a handler jumps out of the call
  WakeDuty duty_;
};

// attempt() is the call made without blocking (-EAGAIN: it would), plain() the call itself.
template <typename Attempt, typename Plain>
long call_until_done(BlockingCall& call, Attempt&& attempt, Plain&& plain) {
  for (;;) {
    uint32_t seen = call.word();
    long r = attempt();
    if (WISP_LIKELY(r != -EAGAIN)) return r;
    r = call.wait(seen);
    if (r == BlockingCall::kMakeTheCall) return call.make(plain);
    if (r != 0) return r;
  }
}

}  // namespace wisp::io
