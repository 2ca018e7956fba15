// Receiving. A short read from a registered TCP stream shows that it is drained: the next data, or
// the end of the stream, makes an edge (epoll(7)). The next receive then parks at once instead of
// asking the kernel for an EAGAIN, a third of the system calls of a request/reply server. Ends and
// urgent data that were there already at the short read make no further edge: the pump has seen
// those and marked the descriptor (kNeverDrained) before its word moved.
#include <limits.h>
#include <poll.h>
#include <sys/ioctl.h>

#include "io/blocking_call.h"
#include "io/poll_wait.h"
#include "io/transfer.h"
#include "platform/kernel.h"
#include "sync/words.h"

namespace wisp::io {

namespace {

inline bool known_drained(const BlockingCall& call, uint32_t seen) {
  return call.record()->drained.load(std::memory_order_relaxed) == (seen | 1);
}

// After a receive that asked for `size` bytes with result r; `seen` was read before it. An EAGAIN
// shows any socket drained, a short read only a stream.
inline void note_drained(const BlockingCall& call, uint32_t seen, long r, size_t size) {
  bool empty = r == -EAGAIN;
  if (!empty && (r <= 0 || static_cast<size_t>(r) >= size || !call.is(kTcp))) return;
  constexpr uint64_t kFlags = kOwn | kRegistered | kNeverDrained;
  uint64_t s = call.record()->state.load(std::memory_order_relaxed);
  // Relaxed: a mark for a word that has moved since means nothing to anybody.
  if ((s & kFlags) == (kOwn | kRegistered) && kind_of(s) == kSocket)
    call.record()->drained.store(seen | 1, std::memory_order_relaxed);
}

// Other flags ask for something else than the next bytes (a look, urgent data, the error queue).
constexpr int kPlainFlags = MSG_DONTWAIT | MSG_WAITALL | MSG_NOSIGNAL | MSG_CMSG_CLOEXEC;

long receive_once(int fd, void* buffer, size_t size, int flags, sockaddr* from, socklen_t* length) {
  return kernel::call(SYS_recvfrom, fd, reinterpret_cast<long>(buffer), static_cast<long>(size),
                      flags, reinterpret_cast<long>(from), reinterpret_cast<long>(length));
}

// Whether MSG_WAITALL makes the call wait for more than one piece: on streams. Local: pieces that
// the call puts together must be of one sender, and descriptors come with the last of them, so only
// the kernel's own call will do (Linux's unix_stream_read_generic; it does not wait while it
// peeks). So will it for a peek on TCP, which sees the same bytes again: where they end in urgent
// data nothing tells.
enum class Whole { No, Pieces, KernelsCall };
Whole waits_for_all(int fd, int flags) {
  if ((flags & MSG_WAITALL) == 0 || socket_option(fd, SO_TYPE) != SOCK_STREAM) return Whole::No;
  bool local = socket_option(fd, SO_DOMAIN) == AF_UNIX, peek = (flags & MSG_PEEK) != 0;
  if (local && peek) return Whole::No;
  return local || peek ? Whole::KernelsCall : Whole::Pieces;
}

// Urgent data comes next: what is before it is not put together with what is behind.
bool at_mark(const BlockingCall& call) {
  int at = 0;
  return kernel::call(SYS_ioctl, call.fd(), SIOCATMARK, reinterpret_cast<long>(&at)) == 0 &&
         at != 0;
}

// Leaves out the first `done` bytes of the parts; fewer than there are. A part that is filled
// halfway is filled alone, in `half`, so that no copy of the vector is needed.
void skip_parts(msghdr* message, size_t done, iovec* half) {
  while (done >= message->msg_iov->iov_len) {
    done -= message->msg_iov->iov_len;
    ++message->msg_iov;
    --message->msg_iovlen;
  }
  if (done == 0) return;
  half->iov_base = static_cast<char*>(message->msg_iov->iov_base) + done;
  half->iov_len = message->msg_iov->iov_len - done;
  message->msg_iov = half;
  message->msg_iovlen = 1;
}

// SO_RCVLOWAT: the kernel's own call waits for as many bytes. Without blocking it takes what is
// there, and its event comes for the low-water mark only, which may be more than is asked for.
inline bool has_low_water(const BlockingCall& call) {
  return WISP_UNLIKELY(call.is(kLowWater)) && !call.straight();
}

// A handler has run, or there is an error, which is for the next call, after what has been received
// (as in send.cpp).
bool ends_with_part(const BlockingCall& call) {
  int bytes = 0;
  return call.restarts() ||
         (call.met_error() &&
          kernel::call(SYS_ioctl, call.fd(), FIONREAD, reinterpret_cast<long>(&bytes)) == 0 &&
          bytes == 0);
}

// MSG_WAITALL on a stream: until the buffer is full, the stream ends, or something goes wrong; what
// has been taken by then is the result. `take(done)` is one receive without blocking of the rest.
template <typename Take, typename Plain>
long receive_all(BlockingCall& call, size_t size, Take&& take, Plain&& plain) {
  size_t done = 0;
  for (;;) {
    uint32_t seen = call.word();
    long r = take(done);
    if (r == 0) return static_cast<long>(done);
    if (r > 0) {
      done += static_cast<size_t>(r);
      if (done >= size || at_mark(call) || ends_with_part(call) || !call.hold())
        return static_cast<long>(done);
      continue;
    }
    if (r != -EAGAIN) return done != 0 ? static_cast<long>(done) : r;
    long w = call.wait(seen);
    // A receive of its own would go on behind an urgent byte.
    if (w == 0 && done != 0 && (at_mark(call) || ends_with_part(call)))
      return static_cast<long>(done);
    if (w == 0) continue;
    if (w == BlockingCall::kMakeTheCall && done == 0) return call.make(plain);
    return done != 0 ? static_cast<long>(done) : w;
  }
}

}  // namespace

// There is an error, which the next attempt would take off the socket.
static bool has_error(const BlockingCall& call) {
  pollfd p{call.fd(), 0, 0};
  return poll_now(&p, 1) > 0 && (p.revents & POLLERR) != 0;
}

// Found empty, of datagrams: shut down, which ends the call itself with 0, while one that may not
// wait goes on saying EAGAIN (Linux, __skb_try_recv_datagram).
static bool shut_down(const BlockingCall& call) {
  if (WISP_LIKELY((call.record()->state.load(std::memory_order_acquire) & kEnded) == 0))
    return false;
  pollfd p{call.fd(), POLLRDHUP, 0};
  // Of the next file that was said, if the life is over (acquire): the wait finds that out.
  return !call.is(kTcp) && poll_now(&p, 1) > 0 && (p.revents & (POLLRDHUP | POLLHUP)) != 0 &&
         life_of(call.record()->state.load(std::memory_order_acquire)) == call.life();
}

long receive(int fd, void* buffer, size_t size, int flags, sockaddr* from, socklen_t* from_length) {
  BlockingCall call(fd, Direction::In);
  auto plain = [&] { return receive_once(call.fd(), buffer, size, flags, from, from_length); };
  if (!call.has_record() || has_low_water(call)) return call.make(plain);
  Whole whole = WISP_UNLIKELY((flags & MSG_WAITALL) != 0) && !call.straight() && size != 0
                    ? waits_for_all(fd, flags)
                    : Whole::No;
  if (whole == Whole::KernelsCall) return call.make(plain);
  if (whole == Whole::Pieces)
    return receive_all(
        call, size,
        [&](size_t done) {
          return receive_once(call.fd(), static_cast<char*>(buffer) + done, size - done,
                              (flags & ~MSG_WAITALL) | MSG_DONTWAIT, from, from_length);
        },
        plain);
  bool consumes = (flags & ~kPlainFlags) == 0;
  if (call.straight()) {
    uint32_t seen = call.word();
    long r = plain();
    if (consumes) note_drained(call, seen, r, size);
    return r;
  }
  return call_until_done(
      call,
      [&]() -> long {
        uint32_t seen = call.word();
        if (consumes && known_drained(call, seen) && size != 0) return -EAGAIN;
        long r = receive_once(call.fd(), buffer, size, flags | MSG_DONTWAIT, from, from_length);
        if (consumes) note_drained(call, seen, r, size);
        return r == -EAGAIN && shut_down(call) ? call.make(plain) : r;
      },
      plain);
}

long receive_message(int fd, msghdr* m, int flags) {
  BlockingCall call(fd, Direction::In);
  auto once = [&](msghdr* message, int with) {
    return kernel::call(SYS_recvmsg, call.fd(), reinterpret_cast<long>(message), with);
  };
  if (call.straight()) return once(m, flags);
  auto plain = [&] { return once(m, flags); };
  if (!call.has_record() || has_low_water(call)) return call.make(plain);
  Whole whole = WISP_UNLIKELY((flags & MSG_WAITALL) != 0) && m->msg_iovlen <= IOV_MAX
                    ? waits_for_all(fd, flags)
                    : Whole::No;
  if (whole == Whole::KernelsCall) return call.make(plain);
  if (whole == Whole::Pieces) {
    size_t size = total(m->msg_iov, m->msg_iovlen);
    const msghdr asked = *m;  // the kernel writes lengths
    auto take = [&](size_t done) {
      msghdr message = asked;
      iovec half;
      skip_parts(&message, done, &half);
      if (done != 0) {
        message.msg_control = nullptr;
        message.msg_controllen = 0;
      }
      long r = once(&message, (flags & ~MSG_WAITALL) | MSG_DONTWAIT);
      if (r >= 0 && done == 0) {
        m->msg_controllen = message.msg_controllen;
        m->msg_namelen = message.msg_namelen;
        m->msg_flags = message.msg_flags;
      }
      return r;
    };
    if (size != 0) return receive_all(call, size, take, plain);
  }
  // The kernel writes lengths into the header only on success: the same one serves every try.
  return call_until_done(
      call,
      [&] {
        long r = once(m, flags | MSG_DONTWAIT);
        return r == -EAGAIN && shut_down(call) ? call.make(plain) : r;
      },
      plain);
}

long receive_messages(int fd, mmsghdr* messages, unsigned count, int flags, timespec* timeout) {
  BlockingCall call(fd, Direction::In);
  auto once = [&](mmsghdr* m, unsigned n, int with, timespec* limit) {
    return kernel::call(SYS_recvmmsg, call.fd(), reinterpret_cast<long>(m), n, with,
                        reinterpret_cast<long>(limit));
  };
  if (call.straight()) return once(messages, count, flags, timeout);
  auto plain = [&] { return once(messages, count, flags, timeout); };
  bool bad_limit = timeout != nullptr && (timeout->tv_sec < 0 || !valid_nsec(*timeout));
  if (!call.has_record() || count == 0 || bad_limit || has_low_water(call)) return call.make(plain);
  // As in the kernel, the timeout is looked at after each message only (recvmmsg(2), BUGS).
  uint64_t deadline = timeout != nullptr ? deadline_after(*timeout) : kForever;
  bool one = (flags & MSG_WAITFORONE) != 0;
  SameFile file(fd);
  unsigned done = 0;
  auto rest = [&](int with) {
    timespec left{}, *limit = nullptr;
    if (deadline != kForever) {
      left = time_left(deadline);
      limit = &left;
    }
    return once(messages + done, count - done, with, limit);
  };
  for (;;) {
    uint32_t seen = call.word();
    // It is for the next call: the kernel puts it back after a message (do_recvmmsg).
    if (done != 0 && has_error(call)) break;
    long r = rest(flags | MSG_DONTWAIT);
    if (r > 0) {
      done += static_cast<unsigned>(r);
      call.progressed();
      if (done == count || one) break;
      if (deadline != kForever && monotonic_ns() >= deadline) break;
      if (!file.still()) break;
      continue;
    }
    if (r == -EAGAIN && shut_down(call)) {
      // The rest are messages without a byte, each of which comes at once.
      r = call.make([&] { return rest(flags); });
      if (r > 0) done += static_cast<unsigned>(r);
      if (done == 0) return r;
      break;
    }
    if (r == -EAGAIN) r = call.wait(seen);
    if (r == 0 && (done == 0 || !call.restarts())) continue;
    if (done != 0) break;
    if (r != BlockingCall::kMakeTheCall) return r;
    return call.make(plain);
  }
  if (timeout != nullptr) *timeout = time_left(deadline);
  return done;
}

long read_socket(int fd, const iovec* parts, int count) {
  size_t size = total(parts, count);
  if (count == 1) return receive(fd, parts->iov_base, size, 0, nullptr, nullptr);
  msghdr m{};
  m.msg_iov = const_cast<iovec*>(parts);
  m.msg_iovlen = static_cast<size_t>(count);
  return receive_message(fd, &m, 0);
}

}  // namespace wisp::io
