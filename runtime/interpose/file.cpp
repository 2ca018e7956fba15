// Disk files: C ABI to io/disk.h. read, write and their vector forms are in the io family, which
// knows whether a descriptor is a disk file; the positional forms are always disk files' (others
// refuse them). Calls that may wait long by their nature announce themselves, so that the carrier
// goes to others at once: a thread of the kernel waits in each of them, as on plain threads.
//
// Left to libc: rename, unlink, stat, directory reads and stdio. They wait seldom, and a region
// costs up to some microseconds; SysMonitor takes the carrier when they do wait.
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "interpose/entry.h"
#include "interpose/proc_files.h"
#include "io/descriptor.h"
#include "io/disk.h"
#include "platform/kernel.h"

using namespace wisp;

namespace {

inline bool on_task() { return task_outside_runtime() != nullptr; }

template <typename F>
inline auto waiting(bool may_wait, F&& call) {
  real::ensure();
  return may_wait && on_task() ? io::disk_wait(call) : call();
}

}  // namespace

// ---- reading and writing at an offset -----------------------------------------------------------

// A negative offset is an error that libc reports.
#define WISP_POSITIONAL(name)                                                                  \
  WISP_EXPORT ssize_t name(int fd, void* buffer, size_t size, off_t offset) {                  \
    if (offset < 0 || !on_task()) return real::ensure(), real::name(fd, buffer, size, offset); \
    return answer(io::disk_read(fd, buffer, size, offset));                                    \
  }
WISP_POSITIONAL(pread)
WISP_POSITIONAL(pread64)
#undef WISP_POSITIONAL

#define WISP_POSITIONAL(name)                                                                  \
  WISP_EXPORT ssize_t name(int fd, const void* buffer, size_t size, off_t offset) {            \
    if (offset < 0 || !on_task()) return real::ensure(), real::name(fd, buffer, size, offset); \
    return answer(io::disk_write(fd, buffer, size, offset));                                   \
  }
WISP_POSITIONAL(pwrite)
WISP_POSITIONAL(pwrite64)
#undef WISP_POSITIONAL

#define WISP_POSITIONAL(name, does)                                                            \
  WISP_EXPORT ssize_t name(int fd, const iovec* parts, int count, off_t offset) {              \
    if (offset < 0 || !on_task()) return real::ensure(), real::name(fd, parts, count, offset); \
    return answer(io::does(fd, parts, count, offset));                                         \
  }
WISP_POSITIONAL(preadv, disk_read)
WISP_POSITIONAL(preadv64, disk_read)
WISP_POSITIONAL(pwritev, disk_write)
WISP_POSITIONAL(pwritev64, disk_write)
#undef WISP_POSITIONAL

// What programs compiled with -D_FORTIFY_SOURCE call; libc's end them when the buffer is too small.
#define WISP_POSITIONAL(name)                                                              \
  WISP_EXPORT ssize_t name(int fd, void* buffer, size_t size, off_t offset, size_t room) { \
    if (offset < 0 || size > room || !on_task())                                           \
      return real::ensure(), real::name(fd, buffer, size, offset, room);                   \
    return answer(io::disk_read(fd, buffer, size, offset));                                \
  }
WISP_POSITIONAL(__pread_chk)
WISP_POSITIONAL(__pread64_chk)
#undef WISP_POSITIONAL

// ---- opening ------------------------------------------------------------------------------------

namespace {

std::atomic<bool> g_ask_cache{true};  // the kernel has openat2(2), and lets us use it

// Opens what needs no look at the disk (or network) for its name. -EAGAIN: it may have to wait.
// The price is that of openat(2), whose contract it has for existing files.
long open_cached(int dir, const char* path, int flags) {
  open_how how;
  memset(&how, 0, sizeof how);
  how.flags = static_cast<uint32_t>(flags);
  how.resolve = RESOLVE_CACHED;
  return kernel::call(SYS_openat2, dir, reinterpret_cast<long>(path), reinterpret_cast<long>(&how),
                      sizeof how);
}

// By the function that the program has called: another's open may call openat.
enum class Asked { Open, OpenAt };
int open_by_others(Asked asked, int dir, const char* path, int flags, mode_t mode) {
  return asked == Asked::Open ? real::open(path, flags, mode)
                              : real::openat(dir, path, flags, mode);
}

// A FIFO without its other end waits here with its carrier until SysMonitor's next tick: to know a
// FIFO beforehand would cost every open a system call.
int open_on_task(int dir, const char* path, int flags, mode_t mode) {
  bool creates = (flags & (O_CREAT | O_TRUNC)) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  if (creates || !g_ask_cache.load(std::memory_order_relaxed))
    return real::openat(dir, path, flags, mode);
  long r = open_cached(dir, path, flags);
  if (WISP_LIKELY(r >= 0)) return static_cast<int>(r);
  switch (r) {
    case -ENOENT:
    case -EACCES:
    case -ENOTDIR:
    case -ELOOP:
    case -EMFILE:
    case -ENFILE:
    case -EINTR:
    case -ENXIO:
    case -EISDIR:
      return static_cast<int>(answer(r));
    case -EAGAIN:
      return io::disk_wait([=] { return real::openat(dir, path, flags, mode); });
  }
  // Unknown to this kernel, forbidden by a filter, or wrong in a way that openat forgives.
  int fd = real::openat(dir, path, flags, mode);
  if (r == -ENOSYS || (r == -EPERM && fd >= 0)) g_ask_cache.store(false, std::memory_order_relaxed);
  return fd;
}

int do_open(Asked asked, int dir, const char* path, int flags, mode_t mode) {
  real::ensure();
  // Two loads for most paths.
  if (WISP_UNLIKELY(path != nullptr && path[0] == '/' && path[1] == 'p'))
    if (int fd = open_proc_file(path, flags); fd >= 0) return fd;
  int fd = WISP_UNLIKELY(real::g_others.open) ? open_by_others(asked, dir, path, flags, mode)
           : on_task()                        ? open_on_task(dir, path, flags, mode)
                                              : real::openat(dir, path, flags, mode);
  if (fd >= 0) {
    io::disk_opened(fd, flags);
    if (interposing()) io::descriptor_created(fd, io::kUnknown, 0);
  }
  return fd;
}

inline bool has_mode(int flags) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

}  // namespace

#define WISP_MODE(after)                                \
  mode_t mode = 0;                                      \
  if (has_mode(flags)) {                                \
    va_list list;                                       \
    va_start(list, after);                              \
    mode = static_cast<mode_t>(va_arg(list, unsigned)); \
    va_end(list);                                       \
  }

WISP_EXPORT int open(const char* path, int flags, ...) {
  WISP_MODE(flags)
  return do_open(Asked::Open, AT_FDCWD, path, flags, mode);
}
WISP_EXPORT int open64(const char* path, int flags, ...) {
  WISP_MODE(flags)
  return do_open(Asked::Open, AT_FDCWD, path, flags | O_LARGEFILE, mode);
}
WISP_EXPORT int openat(int dir, const char* path, int flags, ...) {
  WISP_MODE(flags)
  return do_open(Asked::OpenAt, dir, path, flags, mode);
}
WISP_EXPORT int openat64(int dir, const char* path, int flags, ...) {
  WISP_MODE(flags)
  return do_open(Asked::OpenAt, dir, path, flags | O_LARGEFILE, mode);
}
WISP_EXPORT int creat(const char* path, mode_t mode) {
  return do_open(Asked::Open, AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}
WISP_EXPORT int creat64(const char* path, mode_t mode) { return creat(path, mode); }
// The fortified forms, which have no mode; libc's say so when one is needed.
#define WISP_OPEN_2(name, flag)                                          \
  WISP_EXPORT int name(const char* path, int flags) {                    \
    if (has_mode(flags)) return real::ensure(), real::name(path, flags); \
    return do_open(Asked::Open, AT_FDCWD, path, flags | flag, 0);        \
  }
WISP_OPEN_2(__open_2, 0)
WISP_OPEN_2(__open64_2, O_LARGEFILE)
#undef WISP_OPEN_2
#define WISP_OPEN_2(name, flag)                                               \
  WISP_EXPORT int name(int dir, const char* path, int flags) {                \
    if (has_mode(flags)) return real::ensure(), real::name(dir, path, flags); \
    return do_open(Asked::OpenAt, dir, path, flags | flag, 0);                \
  }
WISP_OPEN_2(__openat_2, 0)
WISP_OPEN_2(__openat64_2, O_LARGEFILE)
#undef WISP_OPEN_2

// ---- calls that wait for the device by their nature ------------------------------------------

#define WISP_SYNC(name, data_only)                                                                \
  WISP_EXPORT int name(int fd) {                                                                  \
    if (!on_task()) return real::ensure(), real::name(fd);                                        \
    if (WISP_UNLIKELY(real::g_others.sync)) return waiting(true, [=] { return real::name(fd); }); \
    return static_cast<int>(answer(io::disk_sync(fd, data_only)));                                \
  }
WISP_SYNC(fsync, false)
WISP_SYNC(fdatasync, true)
#undef WISP_SYNC
WISP_EXPORT int syncfs(int fd) noexcept {
  return waiting(true, [=] { return real::syncfs(fd); });
}
WISP_EXPORT void sync() noexcept {
  waiting(true, [] { real::sync(); });
}
WISP_EXPORT int sync_file_range(int fd, off_t offset, off_t size, unsigned flags) {
  return waiting(true, [=] { return real::sync_file_range(fd, offset, size, flags); });
}
WISP_EXPORT int msync(void* address, size_t size, int flags) {
  return waiting((flags & MS_SYNC) != 0, [=] { return real::msync(address, size, flags); });
}
#define WISP_RESIZE(name)                                       \
  WISP_EXPORT int name(int fd, off_t size) noexcept {           \
    return waiting(true, [=] { return real::name(fd, size); }); \
  }
WISP_RESIZE(ftruncate)
WISP_RESIZE(ftruncate64)
#undef WISP_RESIZE
#define WISP_RESIZE(name)                                         \
  WISP_EXPORT int name(const char* path, off_t size) noexcept {   \
    return waiting(true, [=] { return real::name(path, size); }); \
  }
WISP_RESIZE(truncate)
WISP_RESIZE(truncate64)
#undef WISP_RESIZE
#define WISP_ALLOCATE(name)                                                   \
  WISP_EXPORT int name(int fd, int mode, off_t offset, off_t size) {          \
    return waiting(true, [=] { return real::name(fd, mode, offset, size); }); \
  }
WISP_ALLOCATE(fallocate)
WISP_ALLOCATE(fallocate64)
#undef WISP_ALLOCATE
#define WISP_ALLOCATE(name)                                             \
  WISP_EXPORT int name(int fd, off_t offset, off_t size) {              \
    return waiting(true, [=] { return real::name(fd, offset, size); }); \
  }
WISP_ALLOCATE(posix_fallocate)
WISP_ALLOCATE(posix_fallocate64)
#undef WISP_ALLOCATE

// ---- locks -----------------------------------------------------------------------------------
// Interruptible by signals, as in the kernel: NIO breaks FileChannel.lock that way.

WISP_EXPORT int flock(int fd, int operation) noexcept {
  return waiting((operation & LOCK_NB) == 0 && (operation & LOCK_UN) == 0,
                 [=] { return real::flock(fd, operation); });
}
#define WISP_LOCKF(name)                                                              \
  WISP_EXPORT int name(int fd, int command, off_t size) {                             \
    return waiting(command == F_LOCK, [=] { return real::name(fd, command, size); }); \
  }
WISP_LOCKF(lockf)
WISP_LOCKF(lockf64)
#undef WISP_LOCKF

// ---- copies between files --------------------------------------------------------------------
// sendfile and splice, which know sockets, are the descriptor family's.

WISP_EXPORT ssize_t copy_file_range(int in, off64_t* from, int out, off64_t* to, size_t size,
                                    unsigned flags) {
  return waiting(true, [=] { return real::copy_file_range(in, from, out, to, size, flags); });
}
