// Whatever begins or ends the life of a descriptor number, or changes what its file is to others.
// libc does the work, on every thread; the descriptor table is told (io/descriptor.h says in which
// order, and why).
#include "io/descriptor.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <termios.h>
#include <unistd.h>

#include "interpose/descriptor_entry.h"
#include "io/event_pump.h"
#include "io/kept.h"
#include "io/partners.h"
#include "io/wait.h"
#include "platform/kernel.h"

using namespace wisp;

namespace {

// A new pollable descriptor. The flags of eventfd, timerfd, epoll, inotify... are O_NONBLOCK's
// value.
int created(int fd, int flags, uint32_t known = io::kOwn) {
  if (fd >= 0 && interposing())
    io::descriptor_created(fd, io::kStream,
                           known | ((flags & O_NONBLOCK) != 0 ? io::kNonBlocking : 0));
  return fd;
}

int duplicated(int from, int to) {
  if (to >= 0 && interposing()) {
    io::descriptor_shared(from);
    io::descriptor_created(to, io::kUnknown, 0);
  }
  return to;
}

bool runtime_needs(int fd) { return io::runtime_owns(fd) || io::kept_in_flight(fd); }

bool is_ours(int fd) {
  if (!interposing() || !runtime_needs(fd)) return false;
  errno = EBADF;  // as if there were none
  return true;
}

// Closes [first, last] but for the runtime's own descriptors. One by one where something is known:
// a wait that begins meanwhile is ended only by who looks right after each close
// (descriptor_closed). Errors of single ones are none of close_range either; without it in the
// kernel (before 5.9), or behind a filter that does not know it, all numbers of the table are gone
// through.
long close_all(unsigned first, unsigned last) {
  constexpr unsigned kPart = 1024;  // what descriptor_find knows at once
  long result = 0;
  for (unsigned begin = first; begin <= last;) {
    unsigned end = begin < io::kMaxDescriptors ? begin | (kPart - 1) : last;
    if (end > last) end = last;
    bool known = begin < io::kMaxDescriptors &&
                 (io::descriptor_find(static_cast<int>(begin)) != nullptr ||
                  io::runtime_owns(static_cast<int>(begin), static_cast<int>(end)));
    if (!known) result = kernel::call(kernel::kCloseRange, begin, end, 0);
    bool refused = result == -ENOSYS || result == -EPERM;
    if (known || (refused && begin < io::kMaxDescriptors)) {
      for (unsigned n = begin; n <= end; ++n) {
        int fd = static_cast<int>(n);
        if (runtime_needs(fd)) continue;
        io::Closing closing = io::descriptor_closing(fd);
        kernel::call(SYS_close, fd);
        io::descriptor_closed(fd, closing);
      }
      result = 0;
    }
    if (end == ~0u) break;
    begin = end + 1;
  }
  return result == -ENOSYS ? 0 : result;
}

}  // namespace

WISP_EXPORT int close(int fd) {
  real::ensure();
  if (!interposing()) return real::close(fd);
  if (is_ours(fd)) return -1;
  io::Closing closing = io::descriptor_closing(fd);
  int r = real::close(fd);
  io::descriptor_closed(fd, closing);
  return r;
}

// Closes inside libc, where close() is not seen.
WISP_EXPORT int fclose(FILE* stream) {
  real::ensure();
  if (!interposing() || stream == nullptr) return real::fclose(stream);
  int before = errno;
  int fd = fileno_unlocked(stream);
  if (fd < 0) errno = before;  // not a file's
  io::Closing closing = io::descriptor_closing(fd);
  int r = real::fclose(stream);
  io::descriptor_closed(fd, closing);
  return r;
}

// Puts another file in the place of the stream's, inside libc as well. (freopen64 is the same on
// our processors.)
WISP_EXPORT FILE* freopen(const char* path, const char* mode, FILE* stream) {
  real::ensure();
  if (!interposing() || stream == nullptr) return real::freopen(path, mode, stream);
  int before = errno;
  int fd = fileno_unlocked(stream);
  errno = before;
  int kept = io::descriptor_replacing(fd);
  FILE* again = real::freopen(path, mode, stream);
  io::descriptor_replaced(fd, kept);
  return again;
}

WISP_EXPORT FILE* freopen64(const char* path, const char* mode, FILE* stream) {
  return freopen(path, mode, stream);
}

WISP_EXPORT int dup(int fd) noexcept {
  real::ensure();
  return duplicated(fd, real::dup(fd));
}

WISP_EXPORT int dup3(int from, int to, int flags) noexcept {
  real::ensure();
  if (!interposing() || from == to) return real::dup3(from, to, flags);
  if (is_ours(to)) return -1;
  // What will fail changes nothing: `to` keeps its life, `from` stays this process's own.
  if (to < 0 || (flags & ~O_CLOEXEC) != 0 || kernel::call(SYS_fcntl, from, F_GETFD) < 0)
    return real::dup3(from, to, flags);
  io::descriptor_shared(from);
  int kept = io::descriptor_replacing(to);
  int r = real::dup3(from, to, flags);
  io::descriptor_replaced(to, kept);
  return r;
}

WISP_EXPORT int dup2(int from, int to) noexcept {
  real::ensure();
  // Off, it is the program's own call: dup3 may be what the kernel refuses (jvm/start_checks).
  if (!interposing() || from == to) return real::dup2(from, to);
  return dup3(from, to, 0);
}

// libc has the two from 2.34 on; programs that look for them find ours on an older one as well.
WISP_EXPORT int close_range(unsigned first, unsigned last, int flags) noexcept {
  real::ensure();
  if (!interposing() || flags != 0 || first > last)
    return static_cast<int>(answer(kernel::call(kernel::kCloseRange, first, last, flags)));
  return static_cast<int>(answer(close_all(first, last)));
}

WISP_EXPORT void closefrom(int first) noexcept {
  real::ensure();
  if (first < 0) first = 0;
  if (interposing()) {
    close_all(static_cast<unsigned>(first), ~0u);
  } else if (real::closefrom != nullptr) {
    real::closefrom(first);
  } else if (kernel::call(kernel::kCloseRange, first, ~0u, 0) != 0) {
    // Nothing is noted: it may be a vfork child, on its parent's table.
    for (int fd = first; fd < static_cast<int>(io::kMaxDescriptors); ++fd)
      kernel::call(SYS_close, fd);
  }
}

// ---- what changes a file's flags -------------------------------------------------------------

static int control(int fd, int command, void* argument) {
  real::ensure();
  if (!interposing()) return real::fcntl(fd, command, argument);
  switch (command) {
    case F_DUPFD:
    case F_DUPFD_CLOEXEC:
      return duplicated(fd, real::fcntl(fd, command, argument));
    case F_SETFL: {
      int r = real::fcntl(fd, command, argument);
      if (r == 0)
        io::descriptor_set_nonblocking(fd, (reinterpret_cast<long>(argument) & O_NONBLOCK) != 0);
      return r;
    }
    case F_SETLKW:
    case F_OFD_SETLKW: {
      if (current_task() == nullptr) break;
      BlockingRegion region;
      return real::fcntl(fd, command, argument);
    }
    default:
      break;
  }
  return real::fcntl(fd, command, argument);
}

WISP_EXPORT int fcntl(int fd, int command, ...) {
  va_list list;
  va_start(list, command);
  void* argument = va_arg(list, void*);
  va_end(list);
  return control(fd, command, argument);
}

// What <fcntl.h> calls with 64-bit file offsets since glibc 2.28; on our processors it is the same.
WISP_EXPORT int fcntl64(int fd, int command, ...) {
  va_list list;
  va_start(list, command);
  void* argument = va_arg(list, void*);
  va_end(list);
  return control(fd, command, argument);
}

static bool sets_mode(unsigned long request) {
  // The last ones are of struct termios2, which is the kernel's alone: TCSETS2, TCSETSW2, TCSETSF2.
  return (request >= TCSETS && request <= TCSETSF) || (request >= TCSETA && request <= TCSETAF) ||
         (request >= 0x402c542b && request <= 0x402c542d);
}

WISP_EXPORT int ioctl(int fd, unsigned long request, ...) noexcept {
  va_list list;
  va_start(list, request);
  void* argument = va_arg(list, void*);
  va_end(list);
  real::ensure();
  int r = real::ioctl(fd, request, argument);
  if (request == FIONBIO && r == 0 && interposing())
    io::descriptor_set_nonblocking(fd, *static_cast<int*>(argument) != 0);
  if (sets_mode(request) && r == 0 && interposing()) io::look_again_at_terminals();
  return r;
}

// By a system call of libc's own.
WISP_EXPORT int tcsetattr(int fd, int when, const termios* mode) noexcept {
  real::ensure();
  int r = real::tcsetattr(fd, when, mode);
  if (r == 0 && interposing()) io::look_again_at_terminals();
  return r;
}

// ---- creation --------------------------------------------------------------------------------

WISP_EXPORT int pipe2(int fds[2], int flags) noexcept {
  real::ensure();
  int r = real::pipe2(fds, flags);
  if (r == 0) {
    created(fds[0], flags);
    created(fds[1], flags);
    if (interposing()) io::make_partners(fds[0], fds[1]);
  }
  return r;
}
WISP_EXPORT int pipe(int fds[2]) noexcept { return pipe2(fds, 0); }

WISP_EXPORT int eventfd(unsigned value, int flags) noexcept {
  real::ensure();
  return created(real::eventfd(value, flags), flags);
}
WISP_EXPORT int timerfd_create(clockid_t clock, int flags) noexcept {
  real::ensure();
  return created(real::timerfd_create(clock, flags), flags);
}
WISP_EXPORT int signalfd(int fd, const sigset_t* mask, int flags) noexcept {
  real::ensure();
  int r = real::signalfd(fd, mask, flags);
  // Not its own: what it is ready for depends on the thread that looks.
  return fd == -1 ? created(r, flags, 0) : r;
}
WISP_EXPORT int inotify_init1(int flags) noexcept {
  real::ensure();
  return created(real::inotify_init1(flags), flags);
}
WISP_EXPORT int inotify_init() noexcept { return inotify_init1(0); }

// libc opens it without our open: a wait on the new descriptor must not be taken for one on the
// file whose close by another thread is not yet over (descriptor_closed).
WISP_EXPORT int posix_openpt(int flags) {
  real::ensure();
  int fd = real::posix_openpt(flags);
  if (fd >= 0 && interposing()) io::descriptor_created(fd, io::kUnknown, 0);
  return fd;
}
WISP_EXPORT int getpt() { return posix_openpt(O_RDWR); }

WISP_EXPORT int epoll_create(int size) noexcept {
  real::ensure();
  return created(real::epoll_create(size), 0, io::kOwn | io::kEpoll);
}
WISP_EXPORT int epoll_create1(int flags) noexcept {
  real::ensure();
  return created(real::epoll_create1(flags), 0, io::kOwn | io::kEpoll);
}
