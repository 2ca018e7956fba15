// See poll_wait.h.
//
// Memory order. Waiter: chains its nodes - full fence - asks the kernel (poll with timeout 0) -
// parks on `fired`. Pump: takes an event from the kernel, then reads `pollers`. If the kernel's
// answer "not ready" came before the descriptor became ready, the fence has made the nodes visible
// before that, and the pump, which learns of the readiness from the kernel, sees them.
#include "io/poll_wait.h"

#include <stdlib.h>
#include <string.h>

#include "io/event_pump.h"
#include "io/poll_chain.h"
#include "io/wait.h"
#include "platform/kernel.h"
#include "sync/interruption.h"
#include "sync/parking_lot.h"

namespace wisp::io {

namespace {

// The call itself, for what cannot be waited for otherwise. A handler that has run since the call
// began would have ended it.
long poll_plain(pollfd* fds, nfds_t n, uint64_t deadline, HandlersSince* handlers) {
  timespec left{0, 0};
  if (deadline != kForever) left = time_left(deadline);
  BlockingRegion region;
  if (WISP_UNLIKELY(handlers->take() != AfterSignal::GoesOn)) return -EINTR;
  return kernel::call(SYS_ppoll, reinterpret_cast<long>(fds), static_cast<long>(n),
                      deadline != kForever ? reinterpret_cast<long>(&left) : 0, 0, 8);
}

// After a wait that an event for d has ended, in d's word or in a node: true if that alone says
// that a socket can be read, so that the kernel need not be asked. Its bytes may be gone by now,
// taken by another thread or by a receive that overlapped with the pump's delivery; so only for
// sockets that the program reads without blocking, where poll(2) is a hint anyway (the JDK's timed
// reads). The pump sets kNeverDrained before the word moves for anything but data.
bool readable_by_event(const Descriptor* d, uint32_t life) {
  constexpr uint64_t kFlags = kOwn | kNonBlocking | kRegistered | kNeverDrained;
  uint64_t s = d->state.load(std::memory_order_acquire);
  return life_of(s) == life && kind_of(s) == kSocket &&
         (s & kFlags) == (kOwn | kNonBlocking | kRegistered);
}

uint8_t interest_of(const pollfd& p) { return poll_interest(static_cast<uint16_t>(p.events)); }

bool asks_for_data(const pollfd& p) {
  return p.events != 0 && (p.events & ~(POLLIN | POLLRDNORM)) == 0;
}

constexpr int kInVain = 3;  // wake-ups without an event; then the kernel waits

// One descriptor, one direction: no node, the record's own word.
int poll_single(pollfd* p, Direction direction, uint64_t deadline) {
  Descriptor* d = descriptor_get(p->fd);
  HandlersSince handlers;
  if (d == nullptr) return static_cast<int>(poll_plain(p, 1, deadline, &handlers));
  for (int in_vain = 0;; ++in_vain) {
    uint64_t state = d->state.load(std::memory_order_acquire);
    uint32_t life = life_of(state);
    // Registered anew for each wait, which makes an event of all that it is ready for, asked for or
    // not (unread bytes, for who waits for POLLRDHUP): the waits would not wait.
    if (in_vain > kInVain && (state & kOwn) == 0)
      return static_cast<int>(poll_plain(p, 1, deadline, &handlers));
    std::atomic<uint32_t>& word = direction == Direction::In ? d->in : d->out;
    uint32_t seen = word_value(word);
    bool data = asks_for_data(*p);
    if (!data || d->drained.load(std::memory_order_relaxed) != (seen | 1)) {
      long r = poll_now(p, 1);
      if (r != 0) return static_cast<int>(r);
    }
    switch (wait_for(p->fd, d, life, direction, seen, deadline, &handlers)) {
      case Wait::TimedOut:
        return static_cast<int>(poll_now(p, 1));  // as the kernel: a last look
      case Wait::Interrupted:
      case Wait::Restart:  // poll is never restarted
        return -EINTR;
      case Wait::Refused:
        return static_cast<int>(poll_plain(p, 1, deadline, &handlers));
      case Wait::Ready:
        if (!data || word_value(word) == seen || !readable_by_event(d, life)) break;
        p->revents = p->events;
        return 1;
      default:
        break;
    }
  }
}

// The nodes of one call: on its stack as far as they fit, else from malloc (once per call).
class Nodes {
 public:
  explicit Nodes(nfds_t n) : nodes_(few_) {
    if (n > kFew) nodes_ = static_cast<PollNode*>(malloc(n * sizeof(PollNode)));
  }
  ~Nodes() {
    if (nodes_ != few_) free(nodes_);
  }
  Nodes(const Nodes&) = delete;
  Nodes& operator=(const Nodes&) = delete;
  bool ok() const { return nodes_ != nullptr; }
  // False if events of fd cannot be had. index: for each_readable.
  bool add(int fd, uint8_t interest, uint32_t index) {
    Descriptor* d = descriptor_get(fd);
    if (d == nullptr) return false;
    uint64_t state = d->state.load(std::memory_order_acquire);
    uint32_t life = life_of(state);
    if ((state & kOwn) == 0) any_shared_ = true;
    if ((interest & kPollOut) != 0) pump_ask_out(fd, d, life);
    Wait ready = make_ready(fd, d, life, false);
    if (ready == Wait::Ended) replaced_ = true;  // closed just now: another look tells
    if (ready != Wait::Ready) return ready == Wait::Ended;
    PollNode* node = &nodes_[count_++];
    node->d = d;
    node->life = life;
    node->fired = &fired_;
    node->interest = interest | kPollAll;
    node->told = 0;
    node->index = index;
    SpinGuard guard(poll_chain_lock(d));
    poll_chain_add(node);
    return true;
  }
  void remove_all() {
    removed_ = count_;
    while (count_ != 0) {
      PollNode* node = &nodes_[--count_];
      SpinGuard guard(poll_chain_lock(node->d));
      poll_chain_remove(node);
    }
    replaced_ = false;
  }
  // Of those just removed: f(index) for each socket of which an event has said that it can be read.
  template <typename F>
  void each_readable(F&& f) const {
    for (uint32_t i = 0; i < removed_; ++i)
      if ((nodes_[i].told & kPollIn) != 0 && readable_by_event(nodes_[i].d, nodes_[i].life))
        f(nodes_[i].index);
  }
  // Some number has got another file since it was added, or has been taken out of the pump
  // (pump_retire): nobody watches that. After a full fence.
  bool replaced() const {
    if (replaced_) return true;
    for (uint32_t i = 0; i < count_; ++i) {
      uint64_t s = nodes_[i].d->state.load();
      if (life_of(s) != nodes_[i].life || (s & (kRegistered | kRegistering)) == 0) return true;
    }
    return false;
  }
  // See poll_single.
  bool any_shared() const { return any_shared_; }
  std::atomic<uint32_t>& fired() { return fired_; }

 private:
  static constexpr nfds_t kFew = 32;
  PollNode few_[kFew];
  PollNode* nodes_;
  uint32_t count_ = 0, removed_ = 0;
  bool replaced_ = false, any_shared_ = false;
  std::atomic<uint32_t> fired_{0};
};

// look(): the call with timeout 0; each(add): calls add(fd, interest, index) for all descriptors;
// readable(index): notes it in the answer, which is empty, or not (false); plain(handlers): the
// call.
//
// Who waits beside others that read the same socket finds nothing when they were quicker, and on
// few carriers they always are: an event wakes all of them at once, but not on processors of their
// own. On plain threads the look mostly comes first, and programs count on that (AWT's event loop,
// beside threads that wait for answers on the same connection to the X server: half a second per
// event without it).
template <typename Look, typename Each, typename Readable, typename Plain>
long wait_for_any(nfds_t n, uint64_t deadline, Look&& look, Each&& each, Readable&& readable,
                  Plain&& plain) {
  HandlersSince handlers;
  long r = look();
  if (r != 0) return r;
  Nodes nodes(n);
  if (!nodes.ok()) return plain(&handlers);
  for (int in_vain = 0;; ++in_vain) {
    if (in_vain > kInVain && nodes.any_shared()) return plain(&handlers);
    WakeReason reason;
    bool refused = false;
    {
      RuntimeEntry entry;
      nodes.fired().store(0, std::memory_order_relaxed);
      each([&](int fd, uint8_t interest, uint32_t index) {
        return !(refused = refused || !nodes.add(fd, interest, index));
      });
      std::atomic_thread_fence(std::memory_order_seq_cst);
      if (!refused && (r = look()) == 0 && handlers.take() != AfterSignal::GoesOn) r = -EINTR;
      if (!refused && r == 0 && !nodes.replaced()) {
        reason = park(&nodes.fired(), deadline,
                      [&] { return nodes.fired().load(std::memory_order_relaxed) == 0; });
        if (reason == WakeReason::TimedOut) r = look();
        if (reason == WakeReason::Interrupted && after_signal(entry.task()) != AfterSignal::GoesOn)
          r = -EINTR;
      } else {
        reason = WakeReason::Mismatch;
      }
      nodes.remove_all();
    }
    if (refused) return plain(&handlers);
    if (r != 0 || reason == WakeReason::TimedOut) return r;
    if ((r = look()) != 0) return r;
    nodes.each_readable([&](uint32_t index) { r += readable(index) ? 1 : 0; });
    if (r != 0) return r;
  }
}

}  // namespace

long poll_now(pollfd* fds, nfds_t n) {
  timespec zero{0, 0};
  return kernel::call(SYS_ppoll, reinterpret_cast<long>(fds), static_cast<long>(n),
                      reinterpret_cast<long>(&zero), 0, 8);
}

int poll_until(pollfd* fds, nfds_t n, uint64_t deadline) {
  if (n == 1 && fds->fd >= 0) {
    uint8_t interest = interest_of(*fds);
    if (interest != (kPollIn | kPollOut))
      return poll_single(fds, interest == kPollOut ? Direction::Out : Direction::In, deadline);
  }
  return static_cast<int>(wait_for_any(
      n, deadline, [&] { return poll_now(fds, n); },
      [&](auto&& add) {
        for (nfds_t i = 0; i < n; ++i)
          if (fds[i].fd >= 0 && !add(fds[i].fd, interest_of(fds[i]), static_cast<uint32_t>(i)))
            return;
      },
      [&](uint32_t i) {
        fds[i].revents = asks_for_data(fds[i]) ? fds[i].events : 0;
        return fds[i].revents != 0;
      },
      [&](HandlersSince* handlers) { return poll_plain(fds, n, deadline, handlers); }));
}

int select_until(int n, fd_set* in, fd_set* out, fd_set* except, uint64_t deadline) {
  // As many words as the caller's sets have: n may be above FD_SETSIZE.
  constexpr int kMaxWords = 1024 / 64;
  int words = (n + 63) / 64;
  fd_set* sets[3] = {in, out, except};
  uint64_t asked[3][kMaxWords], answer[3][kMaxWords];
  auto call = [&](const timespec* timeout) -> long {
    for (int s = 0; s < 3; ++s) memcpy(answer[s], asked[s], sizeof(uint64_t) * words);
    timespec copy;
    if (timeout != nullptr) copy = *timeout;
    return kernel::call(SYS_pselect6, n, sets[0] ? reinterpret_cast<long>(answer[0]) : 0,
                        sets[1] ? reinterpret_cast<long>(answer[1]) : 0,
                        sets[2] ? reinterpret_cast<long>(answer[2]) : 0,
                        timeout != nullptr ? reinterpret_cast<long>(&copy) : 0, 0);
  };
  auto plain = [&](HandlersSince* handlers) -> long {
    timespec left{0, 0};
    if (deadline != kForever) left = time_left(deadline);
    BlockingRegion region;
    if (WISP_UNLIKELY(handlers->take() != AfterSignal::GoesOn)) return -EINTR;
    return call(deadline != kForever ? &left : nullptr);
  };
  if (n < 0) return -EINVAL;
  if (words > kMaxWords) {  // larger than fd_set: in place, as the caller built it
    timespec left{0, 0};
    if (deadline != kForever) left = time_left(deadline);
    BlockingRegion region;
    return static_cast<int>(
        kernel::call(SYS_pselect6, n, reinterpret_cast<long>(in), reinterpret_cast<long>(out),
                     reinterpret_cast<long>(except),
                     deadline != kForever ? reinterpret_cast<long>(&left) : 0, 0));
  }
  uint64_t any[kMaxWords] = {};
  for (int s = 0; s < 3; ++s) {
    if (sets[s] == nullptr) continue;
    memcpy(asked[s], sets[s], sizeof(uint64_t) * words);
    for (int w = 0; w < words; ++w) any[w] |= asked[s][w];
  }
  nfds_t count = 0;
  for (int w = 0; w < words; ++w) count += static_cast<nfds_t>(__builtin_popcountll(any[w]));
  timespec zero{0, 0};
  long r = wait_for_any(
      count, deadline, [&] { return call(&zero); },
      [&](auto&& add) {
        for (int w = 0; w < words; ++w)
          for (uint64_t left = any[w]; left != 0; left &= left - 1) {
            int fd = w * 64 + __builtin_ctzll(left);
            auto asked_in = [&](int s) {
              return sets[s] != nullptr && (asked[s][w] >> (fd % 64) & 1) != 0;
            };
            int interest =
                (asked_in(0) || asked_in(2) ? kPollIn : 0) | (asked_in(1) ? kPollOut : 0);
            if (fd < n && !add(fd, static_cast<uint8_t>(interest), static_cast<uint32_t>(fd)))
              return;
          }
      },
      [&](uint32_t fd) {
        if (sets[0] == nullptr || (asked[0][fd / 64] >> (fd % 64) & 1) == 0) return false;
        answer[0][fd / 64] |= uint64_t{1} << (fd % 64);
        return true;
      },
      plain);
  if (r >= 0)
    for (int s = 0; s < 3; ++s)
      if (sets[s] != nullptr) memcpy(sets[s], answer[s], sizeof(uint64_t) * words);
  return static_cast<int>(r);
}

}  // namespace wisp::io
