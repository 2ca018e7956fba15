// How a read finds out whether it would wait for the disk:
//
// 1. While a descriptor's reads were all cached lately, they go directly to the kernel, exactly as
//    on plain threads. preadv2(RWF_NOWAIT) would be the safe question each time, but it costs
//    30-70 ns more than read(2), up to a fifth of a small cached read. So it is asked for a new
//    descriptor, for every 16th small read, for all large ones (where it costs nothing to speak
//    of), and after a miss until 16 reads in a row were cached again.
// 2. What RWF_NOWAIT says would wait is read inside a BlockingRegion, or by io_uring where the
//    user asked for it and the kernel allows it (io/ring.h): other tasks get the carrier at once.
//    The question has started the read-ahead by then.
// 3. A trusted read that waits after all keeps its carrier until SysMonitor's next tick.
//
// File systems without RWF_NOWAIT (tmpfs, overlayfs, FUSE, /proc) are timed instead.
//
// RWF_NOWAIT may come back with only the cached part; plain reads of regular files do not, so the
// rest is fetched as well. At a file position these two steps must look like one to other readers
// of it, as in the kernel: DiskHistory::reader. The first task to read there owns the position and
// marks its two-step reads; when a second one appears, nobody reads in two steps again.
#include "io/disk.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "io/descriptor.h"
#include "io/disk_history.h"
#include "io/ring.h"
#include "io/transfer.h"
#include "platform/cleanup.h"
#include "platform/kernel.h"
#include "sync/sleep.h"

namespace wisp::io {

DiskHistory g_disk_histories[kDiskHistories];

namespace {

constexpr size_t kAlwaysAsk = 256 * 1024;
constexpr uint64_t kPageMask = 4095;  // of the smallest page: a partly cached read ends on one

long vector_read(int fd, const iovec* v, int n, off_t at) {
  long p = reinterpret_cast<long>(v);
  return at < 0 ? kernel::call(SYS_readv, fd, p, n) : kernel::call(SYS_preadv, fd, p, n, at, 0);
}

long plain_read(int fd, const iovec* v, int n, off_t at) {
  if (n == 1) {
    long b = reinterpret_cast<long>(v->iov_base);
    long size = static_cast<long>(v->iov_len);
    return at < 0 ? kernel::call(SYS_read, fd, b, size)
                  : kernel::call(SYS_pread64, fd, b, size, at);
  }
  return vector_read(fd, v, n, at);
}

inline long ask(int fd, const iovec* v, int n, off_t at) {
  return kernel::call(SYS_preadv2, fd, reinterpret_cast<long>(v), n, at, 0, RWF_NOWAIT);
}

long waiting_read(int fd, const iovec* v, int n, off_t at) {
  return disk_wait([=] { return plain_read(fd, v, n, at); });
}

// By the ring, else in a region. At the file position only for its one reader: the kernel's ring
// reads at a position do not exclude each other.
long away_read(int fd, const iovec* v, int n, off_t at) {
  long r = ring_read(fd, v, n, at);
  return r != kNoRing ? r : waiting_read(fd, v, n, at);
}

// A read that cannot be asked about.
long timed_read(DiskHistory& h, int fd, const iovec* v, int n, size_t size, off_t at) {
  return timed_call(
      h, size, [=] { return plain_read(fd, v, n, at); },
      [=] { return waiting_read(fd, v, n, at); });
}

// Fetches what an asked read left of v, `done` bytes being there. Returns the new total.
long complete(DiskHistory& h, const SameFile& file, int fd, const iovec* v, int n, size_t done,
              off_t offset) {
  size_t skip = done;
  for (int i = 0; i < n; ++i) {
    if (skip >= v[i].iov_len) {
      skip -= v[i].iov_len;
      continue;
    }
    iovec rest{static_cast<char*>(v[i].iov_base) + skip, v[i].iov_len - skip};
    skip = 0;
    while (rest.iov_len != 0 && file.still()) {
      off_t at = offset < 0 ? kFilePosition : offset + static_cast<off_t>(done);
      long r = ask(fd, &rest, 1, at);
      if (r == -EAGAIN) {
        h.miss();
        r = away_read(fd, &rest, 1, at);
      }
      // An error after some data is reported by the program's next read, as the kernel does it.
      if (r <= 0) return static_cast<long>(done);
      done += static_cast<size_t>(r);
      rest.iov_base = static_cast<char*>(rest.iov_base) + r;
      rest.iov_len -= static_cast<size_t>(r);
    }
  }
  return static_cast<long>(done);
}

long asking_read(DiskHistory& h, int fd, const iovec* v, int n, size_t size, off_t offset) {
  if (size > kMostPerCall) size = kMostPerCall;
  SameFile file(fd);
  long r = ask(fd, v, n, offset);
  if (WISP_LIKELY(r == static_cast<long>(size))) {
    h.hit();
    return r;
  }
  if (r > 0) {
    // Less than wanted: the end of the file, or the edge of what is cached, which is a page's edge.
    if (offset >= 0 && (static_cast<uint64_t>(offset + r) & kPageMask) != 0) {
      h.hit();
      return r;
    }
    return complete(h, file, fd, v, n, static_cast<size_t>(r), offset);
  }
  if (r == 0) {
    h.hit();
    return 0;
  }
  if (r == -EAGAIN) {
    h.miss();
    r = away_read(fd, v, n, offset);
    // The kernel may give up half-way where a plain read would not.
    if (r > 0 && static_cast<size_t>(r) < size)
      return complete(h, file, fd, v, n, static_cast<size_t>(r), offset);
    return r;
  }
  if (r == -EOPNOTSUPP) {
    h.set(DiskHistory::kCannotAsk, true);
    return timed_read(h, fd, v, n, size, offset);
  }
  return plain_read(fd, v, n, offset);  // whatever is wrong, the plain call says it best
}

// ---- the file position --------------------------------------------------------------------------

enum class Position { Mine, Shared };

// Mine: marked busy, end with leave_position. A second reader waits here while the first is between
// its two steps: once per descriptor at most, so sleeping a moment is good enough.
Position enter_position(DiskHistory& h, uint32_t me) {
  uint32_t r = h.reader.load(std::memory_order_relaxed);
  for (;;) {
    // In between its own two steps only a handler reads there.
    if (r == DiskHistory::kShared || r == (me | DiskHistory::kBusy)) return Position::Shared;
    uint32_t to = r == 0 || r == me ? me | DiskHistory::kBusy : DiskHistory::kShared;
    if ((r & DiskHistory::kBusy) != 0) {
      task_sleep_until(monotonic_ns() + 50000);
      r = h.reader.load(std::memory_order_relaxed);
      continue;
    }
    // acquire/release only for good order with the other reader; the data comes from the kernel.
    if (h.reader.compare_exchange_weak(r, to, std::memory_order_acq_rel, std::memory_order_relaxed))
      return to == DiskHistory::kShared ? Position::Shared : Position::Mine;
  }
}

// Only what is still ours: open() may have forgotten this number meanwhile.
void leave_position(DiskHistory& h, uint32_t me) {
  uint32_t mine = me | DiskHistory::kBusy;
  h.reader.compare_exchange_strong(mine, me, std::memory_order_release, std::memory_order_relaxed);
}

WISP_NOINLINE long position_read(DiskHistory& h, int fd, const iovec* v, int n, size_t size) {
  uint32_t me = current_task()->tid;
  auto leave = [](void* of) {
    leave_position(*static_cast<DiskHistory*>(of), current_task()->tid);
  };
  CleanupScope given_up(leave, &h);  // by a handler that jumps out of the call
  if (h.is(DiskHistory::kCannotAsk) || enter_position(h, me) == Position::Shared)
    return timed_read(h, fd, v, n, size, kFilePosition);
  long r = asking_read(h, fd, v, n, size, kFilePosition);
  leave_position(h, me);
  return r;
}

WISP_NOINLINE long careful_read(DiskHistory& h, int fd, const iovec* v, int n, size_t size,
                                off_t offset) {
  if (h.is(DiskHistory::kSynchronous))
    return offset >= 0 ? away_read(fd, v, n, offset) : waiting_read(fd, v, n, offset);
  if (offset < 0) return position_read(h, fd, v, n, size);
  if (h.is(DiskHistory::kCannotAsk)) return timed_read(h, fd, v, n, size, offset);
  return asking_read(h, fd, v, n, size, offset);
}

// May this read go to the kernel as it is? A task whose carrier was taken (it computed past its
// tick) is a plain thread until it next parks: it has nothing to lose by waiting.
inline bool trusted(DiskHistory& h, WispTask* me, size_t size, off_t offset) {
  if (WISP_LIKELY(me->handoff.is_none())) {
    if (WISP_UNLIKELY(size >= kAlwaysAsk)) return false;
    if (WISP_UNLIKELY(!h.use_trust())) return false;
  }
  if (offset >= 0) return true;
  uint32_t r = h.reader.load(std::memory_order_relaxed);
  return r == DiskHistory::kShared || r == me->tid;
}

// A trusted read during which SysMonitor took the carrier has waited for the disk, most likely.
inline long trusted_read(DiskHistory& h, WispTask* me, int fd, const iovec* v, int n,
                         off_t offset) {
  bool had_carrier = me->handoff.is_none();
  long r = plain_read(fd, v, n, offset);
  if (WISP_UNLIKELY(had_carrier && !me->handoff.is_none())) h.miss();
  return r;
}

long plain_write(int fd, const iovec* v, int n, off_t at) {
  long p = reinterpret_cast<long>(v);
  return at < 0 ? kernel::call(SYS_writev, fd, p, n) : kernel::call(SYS_pwritev, fd, p, n, at, 0);
}

WISP_NOINLINE long synchronous_write(int fd, const iovec* v, int n, off_t at) {
  long r = at < 0 ? kNoRing : ring_write(fd, v, n, at);
  return r != kNoRing ? r : disk_wait([=] { return plain_write(fd, v, n, at); });
}

}  // namespace

long disk_read(int fd, void* buffer, size_t size, off_t offset) {
  DiskHistory& h = disk_history(fd);
  iovec one{buffer, size};
  WispTask* me = current_task();
  if (WISP_LIKELY(trusted(h, me, size, offset))) return trusted_read(h, me, fd, &one, 1, offset);
  return careful_read(h, fd, &one, 1, size, offset);
}

long disk_read(int fd, const iovec* parts, int count, off_t offset) {
  // What the kernel refuses must not be looked at here. (A single part of such a length a plain
  // read refuses with another error.)
  if (count <= 0 || count > 1024 || static_cast<ssize_t>(parts->iov_len) < 0)
    return vector_read(fd, parts, count, offset);
  DiskHistory& h = disk_history(fd);
  size_t size = total(parts, count);
  WispTask* me = current_task();
  if (WISP_LIKELY(trusted(h, me, size, offset)))
    return trusted_read(h, me, fd, parts, count, offset);
  return careful_read(h, fd, parts, count, size, offset);
}

// Writes go to the page cache, and wait only when the kernel throttles the writer: nothing tells
// that beforehand (ext4 has no RWF_NOWAIT for buffered writes), SysMonitor notices it. Those of a
// synchronous descriptor always wait: by the ring at an offset, whose kernel writes at a file
// position do not exclude each other; else in a region.
long disk_write(int fd, const void* buffer, size_t size, off_t offset) {
  if (WISP_UNLIKELY(disk_history(fd).is(DiskHistory::kSynchronous))) {
    iovec one{const_cast<void*>(buffer), size};
    return synchronous_write(fd, &one, 1, offset);
  }
  long b = reinterpret_cast<long>(buffer), n = static_cast<long>(size);
  return offset < 0 ? kernel::call(SYS_write, fd, b, n)
                    : kernel::call(SYS_pwrite64, fd, b, n, offset);
}

long disk_write(int fd, const iovec* parts, int count, off_t offset) {
  if (WISP_UNLIKELY(disk_history(fd).is(DiskHistory::kSynchronous)))
    return synchronous_write(fd, parts, count, offset);
  return plain_write(fd, parts, count, offset);
}

long disk_sync(int fd, bool data_only) {
  long r = ring_sync(fd, data_only);
  if (r != kNoRing) return r;
  return disk_wait([=] { return kernel::call(data_only ? SYS_fdatasync : SYS_fsync, fd); });
}

void disk_opened(int fd, int flags) {
  if (fd >= 0) disk_history(fd).forget(flags);
}

}  // namespace wisp::io
