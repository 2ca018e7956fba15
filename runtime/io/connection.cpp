// accept and connect: neither has a flag for "without blocking" as receive and send have, and
// O_NONBLOCK belongs to the file, which other processes may have as well.
//
// accept: the program's listening socket is left as it is. A task asks poll(2) first and then
// accepts; between the two only another acceptor can take the connection away, so tasks do it one
// at a time (accept_lock). An acceptor outside this protocol (another process, a kernel thread of
// the program) costs at worst one accept that blocks its kernel thread: SysMonitor hands its
// carrier on. Those who come while that one has the lock do the same after a moment, so that
// handlers, limits and closes end their calls, too.
//
// connect: O_NONBLOCK is set for the length of the system call. A socket that is being connected
// has no other users yet (reads and writes of tasks do not look at the flag).
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>

#include "io/blocking_call.h"
#include "io/transfer.h"
#include "platform/kernel.h"
#include "sync/parking_lot.h"

namespace wisp::io {

namespace {

// A mutex of three states over the parking lot. Held only over calls that do not block, but for an
// accept whose connection somebody else was quicker to take: so nobody waits for it long.
class AcceptLock {
 public:
  explicit AcceptLock(std::atomic<uint32_t>* word) : word_(word), held_(lock()) {}
  ~AcceptLock() {
    if (!held_) return;
    RuntimeEntry entry;
    given_up_.end();
    unlock(word_);
  }
  AcceptLock(const AcceptLock&) = delete;
  AcceptLock& operator=(const AcceptLock&) = delete;
  bool held() const { return held_; }

 private:
  static constexpr uint64_t kLongNs = 10'000'000;

  // Inside the runtime: no handler runs, and perhaps jumps out of the call, while it is held and
  // nothing says so.
  bool lock() {
    {
      RuntimeEntry entry;
      uint32_t free = 0;
      // acquire/release as in any lock.
      if (word_->compare_exchange_strong(free, 1, std::memory_order_acquire)) return mine();
    }
    for (uint64_t until = monotonic_ns() + kLongNs;;) {
      RuntimeEntry entry;
      if (word_->exchange(2, std::memory_order_acquire) == 0) return mine();
      // The 2 of who gives up makes the holder look for somebody to wake: no harm.
      WakeReason reason =
          park(word_, until, [this] { return word_->load(std::memory_order_relaxed) == 2; });
      if (reason == WakeReason::TimedOut) return false;
    }
  }
  bool mine() {
    given_up_.begin(&unlock, word_);
    return true;
  }
  static void unlock(void* of) {
    auto* word = static_cast<std::atomic<uint32_t>*>(of);
    if (word->exchange(0, std::memory_order_release) != 2) return;
    RuntimeEntry entry;
    ParkingLot::unpark(word, 1);
  }

  std::atomic<uint32_t>* word_;
  Cleanup given_up_;  // by a handler that jumps out of the call
  bool held_;
};

long accept_once(int fd, sockaddr* address, socklen_t* length, int flags) {
  return kernel::call(SYS_accept4, fd, reinterpret_cast<long>(address),
                      reinterpret_cast<long>(length), flags);
}

// What became of a connect that is over, if `fd` is still its socket. A second connect(2) tells: on
// one that is connected it returns 0, once (and EISCONN where a shutdown came first). SO_ERROR
// alone does not, because another thread may have put another file under the number since the poll
// (the JDK's close does, by dup2), and that file has no error. After an error the second call makes
// the socket one that can be connected anew, as a blocking connect leaves it; but not after
// ECONNRESET, which shutdown(2) gives to a connect that it ends (Linux's inet_shutdown): that
// socket is so already, and would be connected.
template <typename Connect>
long outcome(const BlockingCall& call, Connect&& again) {
  long error = socket_option(call.fd(), SO_ERROR);
  if (error < 0) return error;
  if (error == 0) {
    long r = again();
    // acquire: as in every look at a life.
    bool same = life_of(call.record()->state.load(std::memory_order_acquire)) == call.life();
    return r == -EISCONN && same ? 0 : r;
  }
  if (error != ECONNRESET) again();
  return -error;
}

}  // namespace

long accept(int fd, sockaddr* address, socklen_t* length, int flags) {
  BlockingCall call(fd, Direction::In);
  bool bad_flags = (flags & ~(SOCK_CLOEXEC | SOCK_NONBLOCK)) != 0;  // EINVAL at once
  if (call.straight() || bad_flags) return accept_once(fd, address, length, flags);
  auto plain = [&] { return accept_once(call.fd(), address, length, flags); };
  if (!call.has_record()) return call.make(plain);
  return call_until_done(
      call,
      [&]() -> long {
        AcceptLock lock(&call.record()->accept_lock);
        if (WISP_UNLIKELY(!lock.held())) return call.make(plain);
        // What does not listen has no event to wait for: an error at once.
        if (!ready_now(call.fd(), POLLIN) && socket_option(call.fd(), SO_ACCEPTCONN) > 0)
          return -EAGAIN;
        long r = WISP_UNLIKELY(call.kept()) ? call.make(plain) : plain();
        // O_NONBLOCK was set meanwhile, and a local socket shut down: that ends a call that waits,
        // but one that may not wait is told EAGAIN.
        return r == -EAGAIN && ready_now(call.fd(), POLLRDHUP) ? -EINVAL : r;
      },
      plain);
}

long connect(int fd, const sockaddr* address, socklen_t length) {
  BlockingCall call(fd, Direction::Out);
  auto plain = [&] {
    return kernel::call(SYS_connect, call.fd(), reinterpret_cast<long>(address), length);
  };
  if (call.straight() || call.kind() != kSocket) return plain();
  // Datagram sockets and AF_UNSPEC never block; local ones hardly ever, and where they do (a full
  // backlog) a non-blocking one cannot be waited for.
  bool internet = length >= sizeof(sa_family_t) && address != nullptr &&
                  (address->sa_family == AF_INET || address->sa_family == AF_INET6);
  if (!internet || !call.is(kTcp) || !call.has_record()) return call.make(plain);
  long flags = kernel::call(SYS_fcntl, fd, F_GETFL);
  if (flags < 0) return flags;
  if ((flags & O_NONBLOCK) != 0) return plain();
  if (kernel::call(SYS_fcntl, fd, F_SETFL, flags | O_NONBLOCK) < 0) return call.make(plain);
  uint32_t seen = call.word();
  long r = plain();
  kernel::call(SYS_fcntl, fd, F_SETFL, flags);
  // EALREADY: an earlier call on this socket has ended before the connection stood (a signal,
  // SO_SNDTIMEO). A second blocking one waits for the same attempt (Linux's __inet_stream_connect).
  if (r != -EINPROGRESS && r != -EALREADY) return r;
  for (;;) {
    if (ready_now(call.fd(), POLLOUT)) return outcome(call, plain);
    r = call.wait(seen);
    if (r == -EAGAIN) return -EINPROGRESS;  // SO_SNDTIMEO, as connect(2) says
    // That second one, as above: with the kernel's own limit and end by a handler. Not for another
    // file than that of the first one.
    if (r == BlockingCall::kMakeTheCall) {
      if (!SameFile(call.record(), call.life()).still()) return -EBADF;
      r = call.make(plain);
      return r == -EALREADY ? -EINPROGRESS : r;  // its limit has passed, as above
    }
    if (r != 0) return r;
    seen = call.word();
  }
}

}  // namespace wisp::io
