// The table's memory and the changes of life. See descriptor.h.
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "io/descriptor.h"
#include "io/epoll_set.h"
#include "io/event_pump.h"
#include "io/kept.h"
#include "platform/kernel.h"
#include "platform/own_descriptors.h"
#include "scheduler/scheduler.h"
#include "sync/parking_lot.h"

namespace wisp::io {

namespace {

constexpr uint32_t kChunkBits = 10;
constexpr uint32_t kChunk = 1u << kChunkBits;
std::atomic<Descriptor*> g_chunks[kMaxDescriptors >> kChunkBits];

Descriptor* make_chunk(std::atomic<Descriptor*>* slot) {
  long memory = kernel::call(SYS_mmap, 0, sizeof(Descriptor) * kChunk, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory < 0 && memory > -4096) return nullptr;
  // All-zero is a record's initial state. Release: whoever finds the chunk finds zeroes.
  auto* chunk = reinterpret_cast<Descriptor*>(memory);
  Descriptor* other = nullptr;
  if (slot->compare_exchange_strong(other, chunk, std::memory_order_acq_rel)) return chunk;
  kernel::call(SYS_munmap, memory, sizeof(Descriptor) * kChunk);
  return other;
}

uint64_t successor(uint64_t state, uint32_t flags) { return ((state >> 32) + 1) << 32 | flags; }

// Ends the life that `s` shows, or with `any` whichever there is by then, and wakes all who wait in
// it. The next one has `flags`; `kept`: a duplicate of the file for those who wait, or -1. Returns
// the life that begins.
uint32_t end_life(Descriptor* d, uint64_t s, uint32_t flags, int kept, bool any) {
  uint32_t life = life_of(s);
  int unused;
  {
    RuntimeEntry entry;
    {
      SpinGuard guard(kept_lock());
      // seq_cst: the new life is visible before the words move, so a waiter that reads a moved word
      // also reads the new life afterwards.
      while (!d->state.compare_exchange_weak(s, successor(s, flags)))
        if (!any && life_of(s) != life) return life_of(s);
      unused =
          kept_publish(d, life_of(s), kept, (static_cast<uint32_t>(s) & kCallers) / kOneCaller);
    }
    // Before the words move: who looks then would ask about the file that comes next.
    if (d->pollers.load() != nullptr) epoll_items_end(d, life_of(s));
    descriptor_wake_all(d);
    if ((s & kEpoll) != 0) epoll_set_end(d);
  }
  if (unused >= 0) {
    kept_mark(unused, false);
    BlockingRegion region;
    kernel::call(SYS_close, unused);
  }
  return life_of(s) + 1;
}

// Before a life that does not begin by dup2.
void forget_replaced(Descriptor* d) {
  if (WISP_UNLIKELY((d->replacing.load(std::memory_order_relaxed) & kReplaced) != 0))
    d->replacing.fetch_and(static_cast<uint8_t>(~kReplaced));
}

uint32_t next_life(Descriptor* d, uint32_t flags, int kept) {
  d->partner.store(0, std::memory_order_relaxed);  // a hint, see partners.h
  // A late kOutAsked of the life before costs the next one needless events, no more.
  d->marks.store(0, std::memory_order_relaxed);
  for (std::atomic<uint64_t>* limit : {&d->receive_timeout, &d->send_timeout})
    if (WISP_UNLIKELY(limit->load(std::memory_order_relaxed) == kAtOnce)) limit->store(0);
  uint64_t s = d->state.load(std::memory_order_relaxed);
  if (WISP_LIKELY((s & (kRegistering | kRegistered | kCallers | kEpoll)) == 0 && kept < 0)) {
    // Nobody waits: a wait begins with the registration. acq_rel as in any change of `state`.
    if (d->state.compare_exchange_strong(s, successor(s, flags))) return life_of(s) + 1;
  }
  return end_life(d, s, flags, kept, true);
}

Kind kind_of_file(int fd, mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFSOCK:
      return kSocket;
    case S_IFIFO:
    case 0:  // an anonymous inode: eventfd and its like
      return kStream;
    case S_IFREG:
    case S_IFDIR:
    case S_IFBLK:
      return kDisk;
    default: {
      char t[128];  // the kernel's termios, smaller than this
      bool terminal = kernel::call(SYS_ioctl, fd, TCGETS, reinterpret_cast<long>(t)) == 0;
      return terminal ? kTerminal : kStraight;
    }
  }
}

}  // namespace

Descriptor* descriptor_find(int fd) {
  if (WISP_UNLIKELY(static_cast<uint32_t>(fd) >= kMaxDescriptors)) return nullptr;
  // acquire: pairs with make_chunk.
  Descriptor* chunk = g_chunks[fd >> kChunkBits].load(std::memory_order_acquire);
  return WISP_LIKELY(chunk != nullptr) ? chunk + (fd & (kChunk - 1)) : nullptr;
}

Descriptor* descriptor_get(int fd) {
  Descriptor* d = descriptor_find(fd);
  if (WISP_LIKELY(d != nullptr)) return d;
  if (static_cast<uint32_t>(fd) >= kMaxDescriptors) return nullptr;
  Descriptor* chunk = make_chunk(&g_chunks[fd >> kChunkBits]);
  return chunk != nullptr ? chunk + (fd & (kChunk - 1)) : nullptr;
}

bool descriptor_set_flags(Descriptor* d, uint32_t life, uint32_t set, uint32_t clear) {
  uint64_t s = d->state.load(std::memory_order_acquire);
  do {
    if (life_of(s) != life) return false;
  } while (!d->state.compare_exchange_weak(s, (s | set) & ~static_cast<uint64_t>(clear)));
  return true;
}

void descriptor_each(bool (*which)(const Descriptor& d), void (*what)(int fd)) {
  for (uint32_t first = 0; first < kMaxDescriptors; first += kChunk) {
    // acquire: pairs with make_chunk.
    Descriptor* chunk = g_chunks[first >> kChunkBits].load(std::memory_order_acquire);
    for (uint32_t i = 0; chunk != nullptr && i < kChunk; ++i)
      if (which(chunk[i])) what(static_cast<int>(first + i));
  }
}

uint64_t descriptor_know(int fd, Descriptor* d) {
  // acquire: the words are read after this; see next_life.
  uint64_t s = d->state.load(std::memory_order_acquire);
  while (WISP_UNLIKELY(kind_of(s) == kUnknown)) {
    // Not by libc: its fstat is a newer symbol than we may need, and errno stays the caller's.
    struct stat st = {};
    long flags = kernel::call(SYS_fstat, fd, reinterpret_cast<long>(&st));
    if (flags < 0) return s;
    Kind kind = kind_of_file(fd, st.st_mode);
    // To a file O_NONBLOCK means nothing; most that are opened are read once.
    if (kind != kDisk) flags = kernel::call(SYS_fcntl, fd, F_GETFL);
    if (flags < 0) return s;
    uint32_t known = kind;
    if ((flags & O_NONBLOCK) != 0) known |= kNonBlocking;
    if (kind == kSocket && socket_option(fd, SO_PROTOCOL) == IPPROTO_TCP) known |= kTcp;
    uint64_t full = s | known;
    if (d->state.compare_exchange_strong(s, full, std::memory_order_acq_rel)) return full;
  }
  return s;
}

void descriptor_created(int fd, Kind kind, uint32_t flags) {
  Descriptor* d = descriptor_get(fd);
  if (d == nullptr) return;
  forget_replaced(d);
  next_life(d, kind | flags, -1);  // with waiters: its number was closed behind our back
}

// A duplicate for the calls that wait, or -1.
static int keep_file(int fd, Descriptor* d) {
  // acquire: who set kRegistered saw the event pump started, which pump_remove needs. seq_cst:
  // after the mark `replacing`, against BlockingCall::wait.
  uint64_t s = d->state.load(std::memory_order_seq_cst);
  int kept = (s & kCallers) != 0 ? high_duplicate(fd) : -1;
  if (kept >= 0) kept_mark(kept, true);
  // Taken out while the number still means that file: another descriptor of it would keep the
  // registration alive. And the kernel may just be looking at the file for a worker that waits in
  // the pump: closed meanwhile, the file would stay open until that worker leaves the kernel
  // (pump_turn_out); this waits until the look is over. Not in a child whose fork we did not see
  // (_Fork, clone), which has the pump in common with us.
  if ((s & kRegistered) != 0 && in_scheduler_process()) pump_remove(fd, d);
  return kept;
}

// relaxed: who ends a life while another thread just adds the descriptor to an epoll instance is
// promised nothing.
static bool in_kernel_set(const Descriptor* d) {
  return (d->state.load(std::memory_order_relaxed) & kInKernelSet) != 0;
}

int descriptor_replacing(int fd) {
  Descriptor* d = descriptor_find(fd);
  if (d == nullptr) return -1;
  d->replacing.fetch_or(kReplacing);  // SameFile
  // Entries of epoll instances end now: a look in between would ask about the new file.
  if (d->pollers.load() != nullptr) {
    RuntimeEntry entry;
    epoll_items_end(d, life_of(d->state.load(std::memory_order_acquire)));
  }
  return keep_file(fd, d);
}

Closing descriptor_closing(int fd) {
  Descriptor* d = descriptor_find(fd);
  if (d == nullptr) return {};
  bool looked_at = in_kernel_set(d);  // before the next life
  forget_replaced(d);
  return {next_life(d, 0, keep_file(fd, d)), looked_at};
}

void descriptor_closed(int fd, Closing closing) {
  uint32_t life = closing.life;
  Descriptor* d = life != 0 ? descriptor_find(fd) : nullptr;
  if (d == nullptr) return;
  if (WISP_UNLIKELY(closing.in_kernel_set)) pump_turn_out();
  // seq_cst, after the close: a wait whose kRegistering is not seen here asks the kernel for its
  // registration after the close, and is refused. In a later life there is another file: its
  // creation has woken who waited for this one.
  uint64_t s = d->state.load();
  if (WISP_LIKELY(life_of(s) != life || (s & (kRegistering | kRegistered | kCallers)) == 0)) return;
  end_life(d, s, 0, -1, false);
}

void descriptor_replaced(int fd, int kept) {
  Descriptor* d = descriptor_get(fd);
  if (d == nullptr) return;
  bool looked_at = in_kernel_set(d);
  // Before the life: who finds that over looks here (BlockingCall::life_over).
  d->replacing.store(kReplacing | kReplaced);
  next_life(d, 0, kept);
  d->replacing.store(kReplaced);
  if (WISP_UNLIKELY(looked_at)) pump_turn_out();
}

void descriptor_shared(int fd) {
  Descriptor* d = descriptor_find(fd);
  if (d == nullptr) return;
  // seq_cst: who adds to an epoll instance chains, then looks at the flag, both under the lock.
  uint64_t s = d->state.fetch_and(~static_cast<uint64_t>(kOwn));
  if ((s & kEpoll) != 0) epoll_surrender(fd);
  if (d->pollers.load() == nullptr) return;
  RuntimeEntry entry;
  epoll_items_surrender(d);
}

static void set_flag_of_number(int fd, uint64_t flag, bool on) {
  Descriptor* d = descriptor_find(fd);
  if (d == nullptr) return;
  // An unknown one is asked now, after the change: whoever asked before it loses the CAS there.
  uint64_t s = descriptor_know(fd, d);
  for (;;) {
    if (kind_of(s) == kUnknown) return;
    uint64_t wanted = on ? s | flag : s & ~flag;
    if (wanted == s || d->state.compare_exchange_weak(s, wanted, std::memory_order_acq_rel)) return;
  }
}

void descriptor_set_nonblocking(int fd, bool on) { set_flag_of_number(fd, kNonBlocking, on); }

void descriptor_set_low_water(int fd, bool on) { set_flag_of_number(fd, kLowWater, on); }

void descriptor_set_timeout(int fd, bool receive, uint64_t ns) {
  Descriptor* d = descriptor_find(fd);
  if (d == nullptr) return;
  (receive ? d->receive_timeout : d->send_timeout).store(ns, std::memory_order_relaxed);
}

long socket_option(int fd, int option) {
  int value = 0;
  socklen_t length = sizeof value;
  long r = kernel::call(SYS_getsockopt, fd, SOL_SOCKET, option, reinterpret_cast<long>(&value),
                        reinterpret_cast<long>(&length));
  return r < 0 ? r : value;
}

}  // namespace wisp::io
