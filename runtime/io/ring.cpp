// See ring.h.
//
// Who submits: a task inside a RuntimeEntry runs on a carrier that nobody takes from it meanwhile,
// so it alone writes that carrier's submission queue; the kernel has taken the entry, and holds the
// file, when io_uring_enter returns. The kernel finishes buffered reads in the context of the
// kernel thread that submitted them; it interrupts that thread for it, also in user code.
//
// Who reaps: whoever got the ring's event from the pump, or a submitter, under `reap`.
// Memory order: the kernel's release of the completion tail makes the result and the data visible
// to the reaper (acquire); `done` carries them on to the task (release/acquire). The request lies
// on the task's stack: after the store of `done` only its address is used, as a key. No completion
// is overlooked: the kernel makes an edge after it has moved the tail, and the reaper reads the
// tail after it has got the edge and the lock. A submitter that finds the lock held does not wait
// for it: the edge comes all the same.
#include "io/ring.h"

#include <linux/io_uring.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "io/event_pump.h"
#include "io/ring_features.h"
#include "platform/kernel.h"
#include "platform/own_descriptors.h"
#include "platform/spin_lock.h"
#include "scheduler/carrier.h"
#include "sync/parking_lot.h"
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace wisp::io {

bool g_ring_wanted = false;

namespace {

constexpr uint32_t kEntries = 64;        // of a submission queue: each entry is taken at once
constexpr uint32_t kCompletions = 1024;  // as many requests as a ring has under way at a time
constexpr uint32_t kRings = 1024;        // carriers

struct Request {
  std::atomic<uint32_t> done{0};
  int result = 0;
};

struct Ring {
  std::atomic<int> fd{-1};  // published last
  // --- the owner of the carrier
  std::atomic<uint32_t>* sq_head = nullptr;
  std::atomic<uint32_t>* sq_tail = nullptr;
  uint32_t sq_mask = 0;
  io_uring_sqe* entries = nullptr;
  // --- whoever holds `reap`
  SpinLock reap;
  std::atomic<uint32_t>* cq_head = nullptr;
  std::atomic<uint32_t>* cq_tail = nullptr;
  uint32_t cq_mask = 0;
  const io_uring_cqe* completions = nullptr;
  // relaxed: only keeps the completion queue from overflowing, by a wide margin.
  std::atomic<uint32_t> under_way{0};
};

std::atomic<Ring*> g_rings[kRings];
std::atomic<uint32_t> g_end{0};  // no ring at or behind this index
std::atomic<bool> g_refused{false};
std::atomic<uint64_t> g_requests{0}, g_refusals{0};

template <typename T>
T* at_offset(char* base, uint32_t offset) {
  return reinterpret_cast<T*>(base + offset);
}

char* map(int fd, size_t size, off_t offset) {
  long p = kernel::call(SYS_mmap, 0, static_cast<long>(size), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_POPULATE, fd, offset);
  return p < 0 && p > -4096 ? nullptr : reinterpret_cast<char*>(p);
}

void unmap(char* p, size_t size) {
  if (p != nullptr) kernel::call(SYS_munmap, reinterpret_cast<long>(p), static_cast<long>(size));
}

// The ring of a carrier, or null. Its descriptor is moved up like the pump's.
Ring* make_ring(uint32_t index) {
  io_uring_params p;
  memset(&p, 0, sizeof p);
  p.flags = IORING_SETUP_CQSIZE;
  p.cq_entries = kCompletions;
  int fd = static_cast<int>(kernel::call(SYS_io_uring_setup, kEntries, reinterpret_cast<long>(&p)));
  if (fd < 0) return nullptr;
  fd = move_up(fd);
  if ((p.features & kRingFeatures) != kRingFeatures) {
    kernel::call(SYS_close, fd);
    return nullptr;
  }
  size_t sq_size = p.sq_off.array + p.sq_entries * sizeof(uint32_t);
  size_t cq_size = p.cq_off.cqes + p.cq_entries * sizeof(io_uring_cqe);
  size_t size = sq_size > cq_size ? sq_size : cq_size;
  char* base = map(fd, size, IORING_OFF_SQ_RING);
  char* entries = map(fd, p.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES);
  static Ring rings[16];  // more carriers than that are rare
  Ring* ring = index < 16 ? &rings[index] : static_cast<Ring*>(calloc(1, sizeof(Ring)));
  if (base == nullptr || entries == nullptr || ring == nullptr) {
    unmap(base, size);
    unmap(entries, p.sq_entries * sizeof(io_uring_sqe));
    kernel::call(SYS_close, fd);
    return nullptr;
  }
  ring->sq_head = at_offset<std::atomic<uint32_t>>(base, p.sq_off.head);
  ring->sq_tail = at_offset<std::atomic<uint32_t>>(base, p.sq_off.tail);
  ring->sq_mask = *at_offset<uint32_t>(base, p.sq_off.ring_mask);
  ring->entries = reinterpret_cast<io_uring_sqe*>(entries);
  uint32_t* array = at_offset<uint32_t>(base, p.sq_off.array);
  for (uint32_t i = 0; i < p.sq_entries; ++i) array[i] = i;
  ring->cq_head = at_offset<std::atomic<uint32_t>>(base, p.cq_off.head);
  ring->cq_tail = at_offset<std::atomic<uint32_t>>(base, p.cq_off.tail);
  ring->cq_mask = *at_offset<uint32_t>(base, p.cq_off.ring_mask);
  ring->completions = at_offset<const io_uring_cqe>(base, p.cq_off.cqes);
  ring->fd.store(fd, std::memory_order_relaxed);
  // release: whoever reaps finds it whole. Before the pump can say anything of it.
  g_rings[index].store(ring, std::memory_order_release);
  uint32_t end = g_end.load(std::memory_order_relaxed);
  while (end <= index && !g_end.compare_exchange_weak(end, index + 1)) {
  }
  if (pump_add_ring(fd, index)) return ring;
  g_rings[index].store(nullptr, std::memory_order_relaxed);
  kernel::call(SYS_close, fd);  // its memory stays: this happens once at most
  return nullptr;
}

Ring* ring_of(const Carrier* carrier) {
  // relaxed: made by whoever ran this carrier before, and a carrier is handed over in order.
  Ring* ring = g_rings[carrier->index].load(std::memory_order_relaxed);
  if (WISP_LIKELY(ring != nullptr)) return ring;
  if (g_refused.load(std::memory_order_relaxed)) return nullptr;
  ring = make_ring(carrier->index);
  if (ring == nullptr) g_refused.store(true, std::memory_order_relaxed);
  return ring;
}

// The order from a submission to its completion goes by way of the kernel, which TSan does not see.
#if defined(__SANITIZE_THREAD__)
void passed_to_kernel(void* request) { __tsan_release(request); }
void came_from_kernel(void* request) { __tsan_acquire(request); }
#else
void passed_to_kernel(void*) {}
void came_from_kernel(void*) {}
#endif

int reap_locked(Ring* ring) {
  uint32_t head = ring->cq_head->load(std::memory_order_relaxed);
  int n = 0;
  for (;;) {
    uint32_t tail = ring->cq_tail->load(std::memory_order_acquire);
    if (head == tail) return n;
    for (; head != tail; ++head, ++n) {
      const io_uring_cqe& c = ring->completions[head & ring->cq_mask];
      auto* request = reinterpret_cast<Request*>(static_cast<uintptr_t>(c.user_data));
      came_from_kernel(request);
      request->result = c.res;
      const void* key = &request->done;
      request->done.store(1, std::memory_order_release);
      ring->under_way.fetch_sub(1, std::memory_order_relaxed);
      ParkingLot::unpark(key, 1);
    }
    ring->cq_head->store(head, std::memory_order_release);
  }
}

// Puts the entry into the carrier's queue and hands it to the kernel. False: nothing was done.
bool submit(Ring* ring, const io_uring_sqe& entry) {
  if (ring->under_way.load(std::memory_order_relaxed) >= kCompletions) return false;
  uint32_t tail = ring->sq_tail->load(std::memory_order_relaxed);
  ring->entries[tail & ring->sq_mask] = entry;
  ring->under_way.fetch_add(1, std::memory_order_relaxed);
  passed_to_kernel(reinterpret_cast<void*>(static_cast<uintptr_t>(entry.user_data)));
  ring->sq_tail->store(tail + 1, std::memory_order_release);
  kernel::call(SYS_io_uring_enter, ring->fd.load(std::memory_order_relaxed), 1, 0, 0, 0, 0);
  // Whatever it said, the head tells: acquire, for the entry may be written again after it.
  if (WISP_LIKELY(ring->sq_head->load(std::memory_order_acquire) == tail + 1)) return true;
  ring->sq_tail->store(tail, std::memory_order_relaxed);
  ring->under_way.fetch_sub(1, std::memory_order_relaxed);
  return false;
}

void wait_for_completion(WispTask* self, Request* request) {
  uint64_t left = ticks();
  uint64_t mask = self->signal_mask;
  bool masked = false;
  // acquire: the result, and what the kernel wrote into the caller's memory.
  while (request->done.load(std::memory_order_acquire) == 0) {
    WakeReason reason = park(&request->done, kForever, [request] {
      return request->done.load(std::memory_order_relaxed) == 0;
    });
    if (reason == WakeReason::Interrupted && !masked) {
      self->signal_mask = ~0ull;  // from now on nobody interrupts us
      masked = true;
    }
  }
  account_io_wait(self, left);
  if (!masked) return;
  self->signal_mask = mask;
  Worker* w = self->worker.load(std::memory_order_relaxed);
  if (w->signal_mask == mask) return;
  w->signal_mask = mask;
  kernel::set_signal_mask(mask | w->deferred.load(std::memory_order_relaxed));
}

long perform(io_uring_sqe entry) {
  if (!g_ring_wanted || g_refused.load(std::memory_order_relaxed)) return kNoRing;
  Request request;
  entry.user_data = reinterpret_cast<uintptr_t>(&request);
  RuntimeEntry runtime;
  WispTask* self = runtime.task();
  if (self == nullptr || self->carrier == nullptr) return kNoRing;
  Ring* ring = ring_of(self->carrier);
  if (ring == nullptr || !submit(ring, entry)) {
    g_refusals.fetch_add(1, std::memory_order_relaxed);
    return kNoRing;
  }
  g_requests.fetch_add(1, std::memory_order_relaxed);
  if (ring->cq_head->load(std::memory_order_relaxed) !=
          ring->cq_tail->load(std::memory_order_relaxed) &&
      ring->reap.try_lock()) {
    reap_locked(ring);
    ring->reap.unlock();
  }
  wait_for_completion(self, &request);
  int r = request.result;
  // The submitting thread ended before it was done, or the kernel would not after all.
  return r == -ECANCELED || r == -EINTR || r == -EAGAIN || r == -EINVAL || r == -EOPNOTSUPP
             ? kNoRing
             : r;
}

long vector_request(uint8_t operation, int fd, const iovec* parts, int count, off_t at) {
  io_uring_sqe entry;
  memset(&entry, 0, sizeof entry);
  entry.opcode = operation;
  entry.fd = fd;
  entry.addr = reinterpret_cast<uintptr_t>(parts);
  entry.len = static_cast<uint32_t>(count);
  entry.off = at < 0 ? ~0ull : static_cast<uint64_t>(at);
  return perform(entry);
}

}  // namespace

long ring_read(int fd, const iovec* parts, int count, off_t at) {
  return vector_request(IORING_OP_READV, fd, parts, count, at);
}

long ring_write(int fd, const iovec* parts, int count, off_t at) {
  return vector_request(IORING_OP_WRITEV, fd, parts, count, at);
}

long ring_sync(int fd, bool data_only) {
  io_uring_sqe entry;
  memset(&entry, 0, sizeof entry);
  entry.opcode = IORING_OP_FSYNC;
  entry.fd = fd;
  entry.fsync_flags = data_only ? IORING_FSYNC_DATASYNC : 0;
  return perform(entry);
}

int ring_reap(uint32_t index) {
  // acquire: pairs with make_ring.
  Ring* ring = index < kRings ? g_rings[index].load(std::memory_order_acquire) : nullptr;
  if (ring == nullptr) return 0;
  SpinGuard guard(ring->reap);
  return reap_locked(ring);
}

bool ring_owns(int first, int last) {
  for (uint32_t i = 0; i < g_end.load(std::memory_order_acquire); ++i) {
    Ring* ring = g_rings[i].load(std::memory_order_acquire);
    int fd = ring != nullptr ? ring->fd.load(std::memory_order_relaxed) : -1;
    if (fd >= first && fd <= last && fd >= 0) return true;
  }
  return false;
}

RingCounts ring_counts() { return {g_requests.load(), g_refusals.load()}; }

}  // namespace wisp::io
