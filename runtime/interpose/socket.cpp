// Sockets. On a task the blocking calls go to io/transfer.h; what never blocks, and everything on
// kernel threads, goes to libc. Creation is noted on every thread: the descriptor table must know
// each new life of a number.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "interpose/descriptor_entry.h"
#include "io/descriptor.h"
#include "io/partners.h"
#include "io/transfer.h"
#include "io/wait.h"

using namespace wisp;

namespace {

constexpr int kNeverBlocks = MSG_DONTWAIT | MSG_ERRQUEUE | MSG_OOB;

uint32_t creation_flags(int domain, int type, int protocol) {
  uint32_t flags = io::kOwn;
  if ((type & SOCK_NONBLOCK) != 0) flags |= io::kNonBlocking;
  int base = type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (base == SOCK_STREAM && (domain == AF_INET || domain == AF_INET6) &&
      (protocol == 0 || protocol == IPPROTO_TCP))
    flags |= io::kTcp;
  return flags;
}

// accept's new descriptor: blocking unless asked otherwise, of the listener's protocol.
long accepted(long fd, int listener, int flags) {
  if (fd < 0) return fd;
  uint32_t known = io::kOwn | io::kAccepted;
  if ((flags & SOCK_NONBLOCK) != 0) known |= io::kNonBlocking;
  io::Descriptor* d = io::descriptor_get(listener);
  if (d != nullptr) known |= io::descriptor_know(listener, d) & (io::kTcp | io::kLowWater);
  io::descriptor_created(static_cast<int>(fd), io::kSocket, known);
  return fd;
}

// Descriptors that go with a message (SCM_RIGHTS): somebody else has the same files, or will have.
template <typename F>
WISP_NOINLINE void each_passed(const msghdr* m, F&& note) {
  const char* end = static_cast<const char*>(m->msg_control) + m->msg_controllen;
  for (cmsghdr* c = CMSG_FIRSTHDR(m); c != nullptr; c = CMSG_NXTHDR(const_cast<msghdr*>(m), c)) {
    // The program's own may be wrong: EINVAL, of all of it.
    size_t room = static_cast<size_t>(end - reinterpret_cast<const char*>(c));
    if (c->cmsg_len < CMSG_LEN(0) || c->cmsg_len > room) return;
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    const int* fds = reinterpret_cast<const int*>(CMSG_DATA(c));
    for (size_t i = 0; i < n; ++i) note(fds[i]);
  }
}
inline bool has_control(const msghdr* m) {
  return WISP_UNLIKELY(m->msg_controllen != 0) && m->msg_control != nullptr;
}
inline void note_if_passed(const msghdr* m) {
  if (has_control(m)) each_passed(m, [](int fd) { io::descriptor_created(fd, io::kUnknown, 0); });
}
// Before they are sent: from then on the file has events that are not ours, and outlives our close.
inline void note_if_passing(const msghdr* m) {
  if (interposing() && m != nullptr && has_control(m))
    each_passed(m, [](int fd) { io::descriptor_shared(fd); });
}

uint64_t nanoseconds(const timeval* t) {
  if (t->tv_sec < 0) return io::kAtOnce;
  if (t->tv_sec > 1000000000) return 0;
  return static_cast<uint64_t>(t->tv_sec) * 1000000000u + static_cast<uint64_t>(t->tv_usec) * 1000u;
}

}  // namespace

// ---- life ------------------------------------------------------------------------------------

WISP_EXPORT int socket(int domain, int type, int protocol) noexcept {
  real::ensure();
  int fd = real::socket(domain, type, protocol);
  if (fd >= 0 && interposing())
    io::descriptor_created(fd, io::kSocket, creation_flags(domain, type, protocol));
  return fd;
}

WISP_EXPORT int socketpair(int domain, int type, int protocol, int fds[2]) noexcept {
  real::ensure();
  int r = real::socketpair(domain, type, protocol, fds);
  if (r == 0 && interposing()) {
    for (int i = 0; i < 2; ++i)
      io::descriptor_created(fds[i], io::kSocket, creation_flags(domain, type, protocol));
    io::make_partners(fds[0], fds[1]);
  }
  return r;
}

WISP_EXPORT int accept4(int fd, sockaddr* address, socklen_t* length, int flags) {
  real::ensure();
  if (!interposing()) return real::accept4(fd, address, length, flags);
  if (current_task() == nullptr)
    return static_cast<int>(accepted(real::accept4(fd, address, length, flags), fd, flags));
  return static_cast<int>(answer(accepted(io::accept(fd, address, length, flags), fd, flags)));
}

WISP_EXPORT int accept(int fd, sockaddr* address, socklen_t* length) {
  real::ensure();
  // Off, it is the program's own call: accept4 may be what the kernel refuses (jvm/start_checks).
  if (!interposing()) return real::accept(fd, address, length);
  return accept4(fd, address, length, 0);
}

WISP_EXPORT int connect(int fd, const sockaddr* address, socklen_t length) {
  if (!on_task()) return real::ensure(), real::connect(fd, address, length);
  if (WISP_UNLIKELY(real::g_others.connect)) {
    BlockingRegion region;
    return real::connect(fd, address, length);
  }
  return static_cast<int>(answer(io::connect(fd, address, length)));
}

// A sender on a local socket is woken in the kernel, but epoll says nothing (io/wait.cpp). Who
// waits at the other end of it, shut down for receiving, looks by himself.
WISP_EXPORT int shutdown(int fd, int how) noexcept {
  real::ensure();
  int r = real::shutdown(fd, how);
  if (r == 0 && how != SHUT_RD && interposing()) io::look_again(fd, io::Direction::Out);
  return r;
}

WISP_EXPORT int setsockopt(int fd, int level, int option, const void* value,
                           socklen_t length) noexcept {
  real::ensure();
  int r = real::setsockopt(fd, level, option, value, length);
  if (r != 0 || !interposing()) return r;
  if (level == SOL_SOCKET && option == SO_RCVLOWAT) {
    // 0 is 1 to the kernel, less than 0 the most there is (sock_set_rcvlowat).
    io::descriptor_set_low_water(fd, *static_cast<const unsigned*>(value) > 1);
  } else if (level == SOL_SOCKET && length >= sizeof(timeval)) {
    // The timeouts have two numbers each: with 32-bit and with 64-bit seconds, which are one here.
    constexpr int kReceiveNew = 66, kSendNew = 67;
    auto* t = static_cast<const timeval*>(value);
    if (option == SO_RCVTIMEO || option == kReceiveNew)
      io::descriptor_set_timeout(fd, true, nanoseconds(t));
    else if (option == SO_SNDTIMEO || option == kSendNew)
      io::descriptor_set_timeout(fd, false, nanoseconds(t));
  } else if (level == IPPROTO_TCP && (option == TCP_ULP || option == TCP_FASTOPEN_CONNECT)) {
    // A protocol on top (TLS in the kernel) reads by records: short reads say nothing. And connect
    // may only note the address, for the first send.
    uint32_t means = option == TCP_ULP ? io::kNeverDrained : io::kSendConnects;
    io::Descriptor* d = io::descriptor_find(fd);
    if (d != nullptr)
      io::descriptor_set_flags(d, io::life_of(d->state.load(std::memory_order_relaxed)), means, 0);
  }
  return r;
}

// ---- receiving -------------------------------------------------------------------------------

WISP_EXPORT ssize_t recvfrom(int fd, void* buffer, size_t size, int flags, sockaddr* from,
                             socklen_t* from_length) {
  if (!on_task() || (flags & kNeverBlocks) != 0)
    return real::ensure(), real::recvfrom(fd, buffer, size, flags, from, from_length);
  return answer(io::receive(fd, buffer, size, flags, from, from_length));
}

WISP_EXPORT ssize_t recv(int fd, void* buffer, size_t size, int flags) {
  if (!on_task() || (flags & kNeverBlocks) != 0)
    return real::ensure(), real::recv(fd, buffer, size, flags);
  return answer(io::receive(fd, buffer, size, flags, nullptr, nullptr));
}

WISP_EXPORT ssize_t recvmsg(int fd, msghdr* message, int flags) {
  real::ensure();
  ssize_t r = !on_task() || (flags & kNeverBlocks) != 0
                  ? real::recvmsg(fd, message, flags)
                  : answer(io::receive_message(fd, message, flags));
  if (r >= 0 && interposing()) note_if_passed(message);
  return r;
}

WISP_EXPORT int recvmmsg(int fd, mmsghdr* messages, unsigned count, int flags, timespec* timeout) {
  real::ensure();
  long r = !on_task() || (flags & kNeverBlocks) != 0
               ? real::recvmmsg(fd, messages, count, flags, timeout)
               : answer(io::receive_messages(fd, messages, count, flags, timeout));
  if (interposing())
    for (long i = 0; i < r; ++i) note_if_passed(&messages[i].msg_hdr);
  return static_cast<int>(r);
}

// What programs compiled with _FORTIFY_SOURCE call.
WISP_EXPORT ssize_t __recv_chk(int fd, void* buffer, size_t size, size_t room, int flags) {
  if (size > room) return real::ensure(), real::__recv_chk(fd, buffer, size, room, flags);
  return recv(fd, buffer, size, flags);
}
WISP_EXPORT ssize_t __recvfrom_chk(int fd, void* buffer, size_t size, size_t room, int flags,
                                   sockaddr* from, socklen_t* length) {
  if (size > room)
    return real::ensure(), real::__recvfrom_chk(fd, buffer, size, room, flags, from, length);
  return recvfrom(fd, buffer, size, flags, from, length);
}

// ---- sending ---------------------------------------------------------------------------------

WISP_EXPORT ssize_t send(int fd, const void* buffer, size_t size, int flags) {
  if (!on_task() || (flags & MSG_DONTWAIT) != 0)
    return real::ensure(), written_by_libc(real::send(fd, buffer, size, flags));
  long result = written(io::send(fd, buffer, size, flags, nullptr, 0));
  after_write(fd);
  return answer(result);
}

WISP_EXPORT ssize_t sendto(int fd, const void* buffer, size_t size, int flags, const sockaddr* to,
                           socklen_t to_length) {
  if (!on_task() || (flags & MSG_DONTWAIT) != 0)
    return real::ensure(), written_by_libc(real::sendto(fd, buffer, size, flags, to, to_length));
  return answer(written(io::send(fd, buffer, size, flags, to, to_length)));
}

WISP_EXPORT ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  note_if_passing(message);
  if (!on_task() || (flags & MSG_DONTWAIT) != 0)
    return real::ensure(), written_by_libc(real::sendmsg(fd, message, flags));
  return answer(written(io::send_message(fd, message, flags)));
}

WISP_EXPORT int sendmmsg(int fd, mmsghdr* messages, unsigned count, int flags) {
  constexpr unsigned kMost = 1024;  // the kernel's limit, beyond which it reads nothing
  for (unsigned i = 0; i < count && i < kMost && messages != nullptr; ++i)
    note_if_passing(&messages[i].msg_hdr);
  if (!on_task() || (flags & MSG_DONTWAIT) != 0)
    return real::ensure(),
           static_cast<int>(written_by_libc(real::sendmmsg(fd, messages, count, flags)));
  return static_cast<int>(answer(written(io::send_messages(fd, messages, count, flags))));
}
