// Sending. A blocking send on a stream returns when all is sent, or with what was sent before an
// error, a signal or a timeout; datagrams are sent whole or not at all.
#include <limits.h>
#include <poll.h>

#include "io/blocking_call.h"
#include "io/partners.h"
#include "io/transfer.h"
#include "platform/kernel.h"

namespace wisp::io {

namespace {

long send_once(int fd, const void* buffer, size_t size, int flags, const sockaddr* to,
               socklen_t length) {
  return kernel::call(SYS_sendto, fd, reinterpret_cast<long>(buffer), static_cast<long>(size),
                      flags, reinterpret_cast<long>(to), length);
}
long send_message_once(int fd, const msghdr* message, int flags) {
  return kernel::call(SYS_sendmsg, fd, reinterpret_cast<long>(message), flags);
}

// It connects, which without blocking is another call: by MSG_FASTOPEN, or because
// TCP_FASTOPEN_CONNECT has put that off to the first one, which this is. Or the kernel numbers such
// calls, and tells the program by the number when one has gone out (MSG_ZEROCOPY).
bool only_kernels_call(const BlockingCall& call, int flags) {
  constexpr int kFlags = MSG_FASTOPEN | MSG_ZEROCOPY;
  if (WISP_LIKELY((flags & kFlags) == 0 && !call.is(kSendConnects))) return false;
  descriptor_set_flags(call.record(), call.life(), 0, kSendConnects);
  return true;
}

// EAGAIN on a socket whose own buffer has room: a datagram socket that is not connected, and the
// addressee is full (AF_UNIX). The kernel has no event for that, and each attempt makes one that
// says "writable", so a wait would not wait. The kernel's own call does.
bool full_elsewhere(const BlockingCall& call) {
  return !call.is(kTcp) && ready_now(call.fd(), POLLOUT) &&
         socket_option(call.fd(), SO_TYPE) == SOCK_DGRAM;
}

// SO_SNDTIMEO is a limit of the whole call on TCP, and of each piece on a local stream (Linux's
// unix_stream_sendmsg).
void limit_piece(BlockingCall* call) {
  if (!call->is(kTcp)) call->begin_limit_anew();
}

// After a part: the peer has reset the connection meanwhile. That is for the next call, which may
// be a read: the next attempt would take it off the socket, and the read would see the end of the
// stream. (Of a local stream the kernel's call takes it along too.)
bool met_error(const BlockingCall& call) { return call.is(kTcp) && call.met_error(); }

// After a wait, when nothing has been sent: the peer has closed a local socket over unread bytes.
// The kernel's waiting call says so (Linux's sock_alloc_send_pskb); another attempt meets the
// shutdown first (EPIPE, and SIGPIPE).
long local_error(const BlockingCall& call, size_t done) {
  return done != 0 || call.is(kTcp) ? 0 : socket_option(call.fd(), SO_ERROR);
}

// What has been sent, or the error. The attempt after a look of its own, as the peer closes, meets
// the shutdown first here too: what the kernel's waiting call would have taken along goes with it.
long part_or_error(const BlockingCall& call, size_t done, long error) {
  if (done == 0) return error;
  if (error == -EPIPE && !call.is(kTcp)) socket_option(call.fd(), SO_ERROR);
  return static_cast<long>(done);
}

// Who has sent a part and then finds the stream shut down returns the part, without a SIGPIPE.
int next_part(int flags, size_t done) {
  return flags | MSG_DONTWAIT | (done != 0 ? MSG_NOSIGNAL : 0);
}

// All of it, or what there was.
inline long sent(const BlockingCall& call, long bytes) {
  if (bytes > 0) partner_sent(call.fd(), call.record());
  return bytes;
}

}  // namespace

long send(int fd, const void* buffer, size_t size, int flags, const sockaddr* to,
          socklen_t to_length) {
  BlockingCall call(fd, Direction::Out);
  if (call.straight()) return sent(call, send_once(call.fd(), buffer, size, flags, to, to_length));
  if (!call.has_record() || only_kernels_call(call, flags)) {
    return call.make([&] { return send_once(fd, buffer, size, flags, to, to_length); });
  }
  const char* p = static_cast<const char*>(buffer);
  size_t done = 0;
  for (;;) {
    uint32_t seen = call.word();
    long r = send_once(call.fd(), p + done, size - done, next_part(flags, done), to, to_length);
    if (WISP_LIKELY(r >= 0)) {
      done += static_cast<size_t>(r);
      // Only streams send a part (and a stream takes at least one byte, or says EAGAIN).
      if (done >= size || r == 0 || met_error(call) || !call.hold())
        return sent(call, static_cast<long>(done));
      limit_piece(&call);
      continue;
    }
    if (r == -EAGAIN) r = full_elsewhere(call) ? BlockingCall::kMakeTheCall : call.wait(seen);
    if (r == 0 && done != 0 && call.ends_with_part()) return static_cast<long>(done);
    if (r == 0) {
      if (long error = local_error(call, done); WISP_UNLIKELY(error > 0)) return -error;
      continue;
    }
    if (r == BlockingCall::kMakeTheCall) {
      r = call.make(
          [&] { return send_once(call.fd(), p + done, size - done, flags, to, to_length); });
      if (r >= 0) return static_cast<long>(done) + r;
    }
    return part_or_error(call, done, r);
  }
}

long send_message(int fd, const msghdr* m, int flags) {
  BlockingCall call(fd, Direction::Out);
  // With too many parts there may be fewer than it says: EMSGSIZE.
  if (call.straight() || WISP_UNLIKELY(m->msg_iovlen > IOV_MAX))
    return sent(call, send_message_once(call.fd(), m, flags));
  if (!call.has_record() || only_kernels_call(call, flags)) {
    return call.make([&] { return send_message_once(fd, m, flags); });
  }
  size_t size = total(m->msg_iov, m->msg_iovlen), done = 0;
  msghdr rest = *m;
  size_t offset = 0;  // sent of rest.msg_iov[0]
  for (;;) {
    uint32_t seen = call.word();
    // A part that was sent halfway is finished alone, so that no copy of the vector is needed.
    long r = offset == 0
                 ? send_message_once(call.fd(), &rest, next_part(flags, done))
                 : send_once(call.fd(), static_cast<char*>(rest.msg_iov->iov_base) + offset,
                             rest.msg_iov->iov_len - offset, next_part(flags, done), nullptr, 0);
    if (WISP_LIKELY(r >= 0)) {
      done += static_cast<size_t>(r);
      if (done >= size || r == 0 || met_error(call) || !call.hold())
        return sent(call, static_cast<long>(done));
      limit_piece(&call);
      // Descriptors and credentials went with the first byte.
      rest.msg_control = nullptr;
      rest.msg_controllen = 0;
      offset += static_cast<size_t>(r);
      while (rest.msg_iovlen != 0 && offset >= rest.msg_iov->iov_len) {
        offset -= rest.msg_iov->iov_len;
        ++rest.msg_iov;
        --rest.msg_iovlen;
      }
      continue;
    }
    if (r == -EAGAIN) r = full_elsewhere(call) ? BlockingCall::kMakeTheCall : call.wait(seen);
    if (r == 0 && done != 0 && call.ends_with_part()) return static_cast<long>(done);
    if (r == 0) {
      if (long error = local_error(call, done); WISP_UNLIKELY(error > 0)) return -error;
      continue;
    }
    if (r == BlockingCall::kMakeTheCall && done == 0) {
      return call.make([&] { return send_message_once(call.fd(), m, flags); });
    }
    return part_or_error(call, done, r);
  }
}

long send_messages(int fd, mmsghdr* messages, unsigned count, int flags) {
  BlockingCall call(fd, Direction::Out);
  if (call.straight() || WISP_UNLIKELY(count == 0))
    return kernel::call(SYS_sendmmsg, fd, reinterpret_cast<long>(messages), count, flags);
  if (count > 1024) count = 1024;  // the kernel's own limit
  // Datagrams go as many at once as there is room for; the one that would wait goes alone. A stream
  // might take the last one in part, so there they all go alone.
  bool whole = !call.is(kTcp) && socket_option(fd, SO_TYPE) != SOCK_STREAM;
  SameFile file(fd);
  unsigned done = 0;
  while (done < count && (done == 0 || file.still())) {
    if (whole) {
      long r = kernel::call(SYS_sendmmsg, fd, reinterpret_cast<long>(messages + done), count - done,
                            flags | MSG_DONTWAIT);
      if (r > 0) {
        done += static_cast<unsigned>(r);
        continue;
      }
      // Said once, it is not said to the next attempt.
      if (r != -EAGAIN) return done != 0 ? static_cast<long>(done) : r;
    }
    long r = send_message(fd, &messages[done].msg_hdr, flags);
    if (r < 0) return done != 0 ? static_cast<long>(done) : r;
    messages[done].msg_len = static_cast<unsigned>(r);
    // What ended one after a part ends the call.
    const msghdr& m = messages[done++].msg_hdr;
    if (static_cast<size_t>(r) < total(m.msg_iov, m.msg_iovlen)) break;
  }
  return done;
}

long write_socket(int fd, const iovec* parts, int count) {
  if (count == 1) return send(fd, parts->iov_base, parts->iov_len, 0, nullptr, 0);
  msghdr m{};
  m.msg_iov = const_cast<iovec*>(parts);
  m.msg_iovlen = static_cast<size_t>(count);
  return send_message(fd, &m, 0);
}

}  // namespace wisp::io
