// read and write, by descriptor kind, and the calls that move bytes inside the kernel.
#include <fcntl.h>
#include <limits.h>
#include <sys/eventfd.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

#include "interpose/descriptor_entry.h"
#include "io/transfer.h"

using namespace wisp;

// Parts without a byte: the kernel does not ask the file, which read and write of nothing do
// (eventfds refuse them). One part of more than SSIZE_MAX: refused with another error than in read
// and write, by which single parts go.
static inline bool left_to_libc(const iovec* parts, int count) {
  if (count <= 0 || count > IOV_MAX || parts == nullptr) return false;
  auto first = static_cast<ssize_t>(parts->iov_len);
  return WISP_UNLIKELY(first <= 0) && (first < 0 || io::total(parts, count) == 0);
}

WISP_EXPORT ssize_t read(int fd, void* buffer, size_t size) {
  if (!on_task()) return real::ensure(), real::read(fd, buffer, size);
  return answer(io::read(fd, buffer, size));
}

WISP_EXPORT ssize_t __read_chk(int fd, void* buffer, size_t size, size_t room) {
  if (size > room) return real::ensure(), real::__read_chk(fd, buffer, size, room);
  return read(fd, buffer, size);
}

WISP_EXPORT ssize_t readv(int fd, const iovec* parts, int count) {
  if (!on_task() || left_to_libc(parts, count))
    return real::ensure(), real::readv(fd, parts, count);
  return answer(io::read_vector(fd, parts, count));
}

WISP_EXPORT ssize_t write(int fd, const void* buffer, size_t size) {
  if (!on_task()) return real::ensure(), real::write(fd, buffer, size);
  long result = written(io::write(fd, buffer, size));
  after_write(fd);
  return answer(result);
}

WISP_EXPORT ssize_t writev(int fd, const iovec* parts, int count) {
  if (!on_task() || left_to_libc(parts, count))
    return real::ensure(), real::writev(fd, parts, count);
  long result = written(io::write_vector(fd, parts, count));
  after_write(fd);
  return answer(result);
}

// libc's own versions call read and write without us.
WISP_EXPORT int eventfd_read(int fd, eventfd_t* value) {
  return read(fd, value, sizeof *value) == sizeof *value ? 0 : -1;
}
WISP_EXPORT int eventfd_write(int fd, eventfd_t value) {
  return write(fd, &value, sizeof value) == sizeof value ? 0 : -1;
}

WISP_EXPORT ssize_t sendfile(int out, int in, off_t* offset, size_t count) noexcept {
  if (!on_task()) return real::ensure(), real::sendfile(out, in, offset, count);
  return answer(written(io::send_file(out, in, offset, count)));
}
WISP_EXPORT ssize_t sendfile64(int out, int in, off64_t* offset, size_t count) noexcept {
  return sendfile(out, in, offset, count);
}

WISP_EXPORT ssize_t splice(int in, off64_t* in_offset, int out, off64_t* out_offset, size_t size,
                           unsigned flags) {
  real::ensure();
  bool may_wait =
      (flags & SPLICE_F_NONBLOCK) == 0 && on_task() && (io::may_block(in) || io::may_block(out));
  if (!may_wait) return written_by_libc(real::splice(in, in_offset, out, out_offset, size, flags));
  BlockingRegion region;
  return real::splice(in, in_offset, out, out_offset, size, flags);
}
