// sendfile to a TCP socket: piece by piece, each when there is room for it, so that a slow reader
// at the other end holds no kernel thread. A blocking sendfile has no flag for "as much as goes
// now" but O_NONBLOCK, which others would see. A piece may still wait, most of all for a file that
// is not cached: then the next ones are made in a BlockingRegion. To a local socket the call is the
// kernel's own: of its room, and of its shutdown, poll(2) does not tell.
#include <poll.h>

#include <algorithm>

#include "io/blocking_call.h"
#include "io/disk.h"
#include "io/disk_history.h"
#include "io/transfer.h"
#include "platform/kernel.h"

namespace wisp::io {

namespace {

constexpr size_t kLeast = 4096;

// What a socket that poll(2) calls writable takes without waiting, or nearly so: TCP is from a
// third of its buffer on (Linux's sk_stream_is_writeable). A quarter, because pages are counted,
// not bytes. If it waits after all, then in a BlockingRegion.
size_t room(int fd) {
  long buffer = socket_option(fd, SO_SNDBUF);
  return std::max(kLeast, buffer > 0 ? static_cast<size_t>(buffer) / 4 : 0);
}

// What is left of the buffer where poll(2) no longer calls it writable, 0: the call would wait. A
// program may rely on it: two that send each other what the buffers take, and then read.
size_t last_room(int fd) {
  uint32_t memory[9] = {};  // SK_MEMINFO_VARS of them
  constexpr int kSendBuffer = 3, kQueued = 5;
  socklen_t length = sizeof memory;
  if (kernel::call(SYS_getsockopt, fd, SOL_SOCKET, SO_MEMINFO, reinterpret_cast<long>(memory),
                   reinterpret_cast<long>(&length)) != 0 ||
      memory[kQueued] >= memory[kSendBuffer])
    return 0;
  return std::max(kLeast, size_t{memory[kSendBuffer] - memory[kQueued]} / 2);
}

}  // namespace

long send_file(int out, int in, off_t* offset, size_t count) {
  BlockingCall call(out, Direction::Out);
  bool too_much = static_cast<ssize_t>(count) < 0;  // EINVAL
  if (WISP_LIKELY(!too_much)) count = std::min(count, kMostPerCall);
  auto once = [&](size_t size) {
    return kernel::call(SYS_sendfile, call.fd(), in, reinterpret_cast<long>(offset),
                        static_cast<long>(size));
  };
  if (count == 0 || too_much || (call.straight() && call.kind() != kDisk)) return once(count);
  if (!call.has_record() || call.kind() != kSocket || !call.is(kTcp))
    return call.make([&] { return once(count); });
  SameFile file(in);
  size_t done = 0;
  for (;;) {
    uint32_t seen = call.word();
    long r;
    bool writable = ready_now(call.fd(), POLLOUT);
    size_t size = writable ? room(call.fd()) : last_room(call.fd());
    if (size != 0) {
      // By that signal the kernel's call would be over; this piece may wait.
      if (done != 0 && call.signal_came()) return static_cast<long>(done);
      size = std::min(count - done, size);
      auto piece = [&] { return once(size); };
      auto in_region = [&] { return call.make(piece); };
      // Outside the runtime, where a kept call is not.
      r = call.kept() || !writable ? in_region()
                                   : timed_call(disk_history(in), size, piece, in_region);
      if (r > 0) done += static_cast<size_t>(r);
      // A short one has met a signal, an error, or the end of the file.
      if (r > 0 && static_cast<size_t>(r) == size && done < count && call.hold() && file.still())
        continue;
    } else {
      r = call.wait(seen);
      if (r == 0 && (done == 0 || !call.ends_with_part())) continue;
      if (r == BlockingCall::kMakeTheCall) {
        r = call.make([&] { return once(count - done); });
        if (r > 0) done += static_cast<size_t>(r);
      }
    }
    // All, the end of the file, or what went before an error.
    return done != 0 ? static_cast<long>(done) : r;
  }
}

}  // namespace wisp::io
