// read and write on whatever a descriptor is. What is not a socket has no MSG_DONTWAIT: the
// kernel's RWF_NOWAIT where the file knows it, else a look with poll(2) first. Somebody else may
// take the bytes between the look and the read; that read then blocks its kernel thread, and
// SysMonitor hands the carrier on: slow, not stuck.
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <termios.h>

#include "io/blocking_call.h"
#include "io/disk.h"
#include "io/partners.h"
#include "io/transfer.h"
#include "platform/kernel.h"

namespace wisp::io {

namespace {

// One part goes by the plain calls: some files (ttys, /proc) have only those.
long read_once(int fd, const iovec* parts, int count) {
  if (count == 1)
    return kernel::call(SYS_read, fd, reinterpret_cast<long>(parts->iov_base),
                        static_cast<long>(parts->iov_len));
  return kernel::call(SYS_readv, fd, reinterpret_cast<long>(parts), count);
}
long write_once(int fd, const iovec* parts, int count) {
  if (count == 1)
    return kernel::call(SYS_write, fd, reinterpret_cast<long>(parts->iov_base),
                        static_cast<long>(parts->iov_len));
  return kernel::call(SYS_writev, fd, reinterpret_cast<long>(parts), count);
}

// preadv2/pwritev2 at the file's own position, never waiting.
long nowait(long number, int fd, const iovec* parts, int count) {
  return kernel::call(number, fd, reinterpret_cast<long>(parts), count, -1, -1, RWF_NOWAIT);
}
// Not on this file, or no such call: EPERM is what seccomp profiles answer that do not know it. A
// file that refuses the write itself so (memfd_create(2), sealed) says it to the plain call too.
bool no_nowait(long r) { return r == -EOPNOTSUPP || r == -ENOSYS || r == -ESPIPE || r == -EPERM; }

// Not ready, of a file that has no RWF_NOWAIT: it never will be, if it was not opened for that
// direction. The call says so at once.
long not_ready(int fd, int other_direction) {
  long flags = kernel::call(SYS_fcntl, fd, F_GETFL);
  return flags >= 0 && (flags & O_ACCMODE) == other_direction ? -EBADF : -EAGAIN;
}

// Neither a pipe nor a FIFO: an eventfd, a fanotify group and the like.
bool is_anonymous(int fd) {
  struct stat file = {};  // not by libc: its fstat is a newer symbol than we may need
  return kernel::call(SYS_fstat, fd, reinterpret_cast<long>(&file)) == 0 &&
         (file.st_mode & S_IFMT) == 0;
}

long read_nowait(BlockingCall& call, const iovec* parts, int count) {
  // An eventfd that has been written to is marked too; it may have to say that so little is no
  // room.
  if (call.kind() == kStream &&
      ((call.record()->state.load(std::memory_order_relaxed) & kNoNowait) == 0 ||
       WISP_UNLIKELY(total(parts, count) < sizeof(uint64_t)))) {
    long r = nowait(SYS_preadv2, call.fd(), parts, count);
    // Too little room for what eventfd, timerfd or signalfd give at once, or a file that cannot be
    // read (an epoll instance): the call itself says so without waiting.
    if (r == -EINVAL || (r == 0 && total(parts, count) == 0))
      return call.make([&] { return read_once(call.fd(), parts, count); });
    if (!no_nowait(r)) return r;
    descriptor_set_flags(call.record(), call.life(), kNoNowait, 0);
  }
  if (!ready_now(call.fd(), POLLIN)) return not_ready(call.fd(), O_WRONLY);
  if (WISP_UNLIKELY(call.kept()))
    return call.make([&] { return read_once(call.fd(), parts, count); });
  return read_once(call.fd(), parts, count);
}

long write_nowait(BlockingCall& call, const iovec* parts, int count) {
  if ((call.record()->state.load(std::memory_order_relaxed) & kNoNowait) == 0) {
    long r = nowait(SYS_pwritev2, call.fd(), parts, count);
    if (r == -EINVAL || (r == 0 && total(parts, count) == 0))
      return call.make([&] { return write_once(call.fd(), parts, count); });
    if (!no_nowait(r)) return r;
    descriptor_set_flags(call.record(), call.life(), kNoNowait, 0);
  }
  if (!ready_now(call.fd(), POLLOUT)) {
    long r = not_ready(call.fd(), O_RDONLY);
    // An event for it may never come (a fanotify group takes answers, and poll(2) does not say so).
    // What else is written to so hardly ever waits (an eventfd).
    return r == -EAGAIN && is_anonymous(call.fd())
               ? call.make([&] { return write_once(call.fd(), parts, count); })
               : r;
  }
  // A pipe that says POLLOUT takes PIPE_BUF bytes without waiting; more it might not. Up to that
  // size a write must stay whole, above it never was.
  iovec first{parts->iov_base, PIPE_BUF};
  bool long_one = count == 1 && parts->iov_len > PIPE_BUF;
  auto write = [&] {
    return long_one ? write_once(call.fd(), &first, 1) : write_once(call.fd(), parts, count);
  };
  return WISP_UNLIKELY(call.kept()) ? call.make(write) : write();
}

// A terminal in raw mode can end a read where poll(2) says nothing: without a byte (VMIN 0), after
// a time (VTIME), with fewer bytes than VMIN because no more were asked for, or a signal came (what
// was there is its answer then). Only the call itself knows.
bool ends_as_poll_says(int fd, size_t size) {
  termios mode = {};  // libc's, of which the kernel's is a part
  if (kernel::call(SYS_ioctl, fd, TCGETS, reinterpret_cast<long>(&mode)) != 0) return true;
  if ((mode.c_lflag & ICANON) != 0) return size != 0;
  return mode.c_cc[VMIN] == 1 && mode.c_cc[VTIME] == 0 && size != 0;
}

// The terminal belongs to another process group: a read stops the job (SIGTTIN), or fails, at once,
// and not when there is something to read, of which poll(2) tells. Not our session's terminal: no.
// (A pseudo-terminal's master names the group of the other side's session.)
bool in_background(int fd) {
  pid_t foreground = 0, session = 0;
  return kernel::call(SYS_ioctl, fd, TIOCGPGRP, reinterpret_cast<long>(&foreground)) == 0 &&
         foreground != kernel::call(SYS_getpgid, 0) &&
         kernel::call(SYS_ioctl, fd, TIOCGSID, reinterpret_cast<long>(&session)) == 0 &&
         session == kernel::call(SYS_getsid, 0);
}

// The other end of a pseudo-terminal has been closed. The kernel's waiting read says EIO then; one
// that begins afterwards, as ours does, the end of the file (Linux's n_tty_read, hung_up_tty_read).
bool other_end_closed(int fd) {
  struct stat file = {};  // not by libc: its fstat is a newer symbol than we may need
  constexpr unsigned kFirst = 136, kLast = 143;  // UNIX98_PTY_SLAVE_MAJOR
  return ready_now(fd, 0) && kernel::call(SYS_fstat, fd, reinterpret_cast<long>(&file)) == 0 &&
         major(file.st_rdev) >= kFirst && major(file.st_rdev) <= kLast;
}

// The descriptor is of another kind than its record says: learn it again.
void relearn(BlockingCall& call) {
  descriptor_set_flags(
      call.record(), call.life(), 0,
      kKindMask | kRegistered | kRegistering | kOwn | kTcp | kAccepted | kLowWater | kNonBlocking);
}

// What the record says may be of a file that was closed behind our back: the call itself tells.
inline bool known_socket(int fd) {
  Descriptor* d = descriptor_find(fd);
  return d != nullptr && kind_of(d->state.load(std::memory_order_relaxed)) == kSocket;
}

WISP_NOINLINE long read_any(int fd, void* buffer, size_t size) {
  iovec one{buffer, size};
  return read_vector(fd, &one, 1);
}
WISP_NOINLINE long write_any(int fd, const void* buffer, size_t size) {
  if (WISP_UNLIKELY(size == 0) && BlockingCall(fd, Direction::Out).kind() == kSocket) {
    long r = send(fd, buffer, 0, 0, nullptr, 0);
    if (r != -ENOTSOCK) return r;
  }
  iovec one{const_cast<void*>(buffer), size};
  return write_vector(fd, &one, 1);
}

}  // namespace

// The short way for most calls, also on the stack, where each parked reader keeps these frames.
long read(int fd, void* buffer, size_t size) {
  if (WISP_LIKELY(known_socket(fd) && size != 0)) {
    long r = receive(fd, buffer, size, 0, nullptr, nullptr);
    if (WISP_LIKELY(r != -ENOTSOCK)) return r;
  }
  return read_any(fd, buffer, size);
}

long write(int fd, const void* buffer, size_t size) {
  if (WISP_LIKELY(known_socket(fd))) {
    long r = send(fd, buffer, size, 0, nullptr, 0);
    if (WISP_LIKELY(r != -ENOTSOCK)) return r;
  }
  return write_any(fd, buffer, size);
}

long read_vector(int fd, const iovec* parts, int count) {
  if (WISP_UNLIKELY(count <= 0 || count > IOV_MAX)) return read_once(fd, parts, count);
  for (;;) {
    BlockingCall call(fd, Direction::In);
    if (!call.has_record()) return call.make([&] { return read_once(fd, parts, count); });
    if (WISP_LIKELY(call.kind() == kSocket)) {
      // Of no bytes at all, recv would wait where read does not.
      if (WISP_UNLIKELY(total(parts, count) == 0)) return read_once(fd, parts, count);
      long r = read_socket(fd, parts, count);
      if (WISP_LIKELY(r != -ENOTSOCK)) return r;
      relearn(call);
      continue;
    }
    if (call.kind() == kDisk) return disk_read(fd, parts, count, kFilePosition);
    if (call.straight()) return read_once(fd, parts, count);
    if (call.kind() == kTerminal &&
        (in_background(fd) || !ends_as_poll_says(fd, total(parts, count))))
      return call.make([&] { return read_once(fd, parts, count); });
    bool waited = false;
    return call_until_done(
        call,
        [&]() -> long {
          long r = read_nowait(call, parts, count);
          if (WISP_UNLIKELY(r == 0) && waited && call.kind() == kTerminal &&
              other_end_closed(call.fd()))
            return -EIO;
          waited = true;
          return r;
        },
        [&] { return read_once(call.fd(), parts, count); });
  }
}

long write_vector(int fd, const iovec* parts, int count) {
  if (WISP_UNLIKELY(count <= 0 || count > IOV_MAX)) return write_once(fd, parts, count);
  for (;;) {
    BlockingCall call(fd, Direction::Out);
    if (!call.has_record()) return call.make([&] { return write_once(fd, parts, count); });
    if (WISP_LIKELY(call.kind() == kSocket)) {
      long r = write_socket(fd, parts, count);
      if (WISP_LIKELY(r != -ENOTSOCK)) return r;
      relearn(call);
      continue;
    }
    if (call.kind() == kDisk) return disk_write(fd, parts, count, kFilePosition);
    if (call.straight() || call.kind() == kTerminal) return write_once(fd, parts, count);
    // A pipe or its like: all of it, part by part where it does not fit at once.
    size_t size = total(parts, count), done = 0;
    int first = 0;
    size_t offset = 0;
    for (;;) {
      uint32_t seen = call.word();
      iovec rest{static_cast<char*>(parts[first].iov_base) + offset, parts[first].iov_len - offset};
      long r = offset == 0 ? write_nowait(call, parts + first, count - first)
                           : write_nowait(call, &rest, 1);
      if (r >= 0) {
        done += static_cast<size_t>(r);
        if (done >= size || r == 0 || !call.hold()) {
          partner_sent(call.fd(), call.record());
          return static_cast<long>(done);
        }
        offset += static_cast<size_t>(r);
        while (first + 1 < count && offset >= parts[first].iov_len)
          offset -= parts[first++].iov_len;
        continue;
      }
      if (r == -EAGAIN) r = call.wait(seen);
      if (r == 0 && (done == 0 || !call.restarts())) continue;
      if (done != 0) return static_cast<long>(done);
      if (r != BlockingCall::kMakeTheCall) return r;
      return call.make([&] { return write_once(call.fd(), parts, count); });
    }
  }
}

bool may_block(int fd) {
  Descriptor* d = descriptor_get(fd);
  if (d == nullptr) return true;
  uint64_t s = descriptor_know(fd, d);
  return (s & kNonBlocking) == 0 && kind_of(s) != kStraight;
}

}  // namespace wisp::io
