// Blocking transfers on the calling task: what read, recv, write, send and their relatives do when
// the descriptor is the program's blocking one. Each returns as the system call does: a count or
// -errno. Callers have dealt with kernel threads, and with flags that never block (MSG_DONTWAIT).
#pragma once
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "io/descriptor.h"

namespace wisp::io {

// Bytes.
template <typename Count>
size_t total(const iovec* parts, Count count) {
  size_t bytes = 0;
  for (Count i = 0; i < count; ++i) bytes += parts[i].iov_len;
  return bytes;
}

long receive(int fd, void* buffer, size_t size, int flags, sockaddr* from, socklen_t* from_length);
long receive_message(int fd, msghdr* message, int flags);
long receive_messages(int fd, mmsghdr* messages, unsigned count, int flags, timespec* timeout);

long send(int fd, const void* buffer, size_t size, int flags, const sockaddr* to,
          socklen_t to_length);
long send_message(int fd, const msghdr* message, int flags);
long send_messages(int fd, mmsghdr* messages, unsigned count, int flags);

long accept(int fd, sockaddr* address, socklen_t* length, int flags);
long connect(int fd, const sockaddr* address, socklen_t length);

// A socket, known as such.
long read_socket(int fd, const iovec* parts, int count);
long write_socket(int fd, const iovec* parts, int count);
// Any kind of descriptor.
long read_vector(int fd, const iovec* parts, int count);
long write_vector(int fd, const iovec* parts, int count);
long read(int fd, void* buffer, size_t size);
long write(int fd, const void* buffer, size_t size);

// sendfile(2): `in` is a file, offset may be null (its file position).
long send_file(int out, int in, off_t* offset, size_t count);

// A call that moves bytes out of or into a descriptor inside the kernel (splice) and would block
// there: true if it had better be made in a BlockingRegion.
bool may_block(int fd);

}  // namespace wisp::io
