// See trace.h. The rings are mapped once, with room for the largest size, and never unmapped: a
// writer that was held up while tracing was switched off, or on again with another size, still
// writes inside its own ring. Memory is what was allocated of that room, between on and drop.
#include "observe/trace.h"

#include <fcntl.h>
#include <linux/memfd.h>
#include <string.h>
#include <sys/mman.h>

#include <new>

#include "observe/memfd.h"
#include "platform/clock.h"
#include "platform/log.h"
#include "scheduler/internal.h"

namespace wisp::stats {

void (*g_trace_switched)(bool on) = nullptr;

namespace {

constexpr uint64_t kPageSize = 4096;

struct Memory {
  int fd = -1;
  char* base = nullptr;
  uint64_t data_offset = 0, stride = 0;
  bool held = false;  // allocated, not dropped
  bool by_option = false;
  TraceRings rings;
} g_memory;

TraceHeader* header() { return reinterpret_cast<TraceHeader*>(g_memory.base); }

uint64_t whole_pages(uint64_t bytes) { return (bytes + kPageSize - 1) & ~(kPageSize - 1); }

bool map_once() {
  Memory& m = g_memory;
  if (m.base != nullptr) return true;
  uint32_t n = g_scheduler.carrier_count + 1;
  uint64_t data = whole_pages(sizeof(TraceHeader) + n * sizeof(TraceRingStart));
  // A ring is a whole number of pages, so that one can be allocated without its neighbours.
  uint64_t stride = whole_pages(kMaxTraceBytes / n), largest = memfd_largest();
  if (largest < data + stride * n) {
    stride = largest < data ? 0 : (largest - data) / n & ~(kPageSize - 1);
    if (stride == 0) return false;
  }
  uint64_t size = data + stride * n;
  int fd = memfd_create_private(kTraceMemfdName);
  if (fd < 0) return false;
  void* base = nullptr;
  long rings = -1;
  // The file is sparse: pages come with fallocate.
  if (kernel::call(SYS_ftruncate, fd, static_cast<long>(size)) == 0 &&
      kernel::call(SYS_fallocate, fd, 0, 0, static_cast<long>(data)) == 0)
    base = memfd_map(fd, size, 0);
  if (base != nullptr)
    rings = kernel::call(SYS_mmap, 0, static_cast<long>(n * sizeof(TraceRing)),
                         PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == nullptr || (rings < 0 && rings > -4096)) {
    if (base != nullptr)
      kernel::call(SYS_munmap, reinterpret_cast<long>(base), static_cast<long>(size));
    memfd_close(fd);
    return false;
  }
  memfd_seal(fd);
  m.fd = fd;
  m.base = static_cast<char*>(base);
  m.data_offset = data;
  m.stride = stride;
  m.rings.carriers = n - 1;
  m.rings.rings = reinterpret_cast<TraceRing*>(rings);
  for (uint32_t i = 0; i < n; ++i) {
    auto* ring = new (&m.rings.rings[i]) TraceRing;
    ring->begin = ring->next = reinterpret_cast<TraceRecord*>(m.base + data + i * stride);
    ring->head.store((i + 1 < n ? i : kNoTraceCarrier) << 8, std::memory_order_relaxed);
  }
  return true;
}

void give_memory_back() {
  Memory& m = g_memory;
  uint64_t size = m.stride * (m.rings.carriers + 1);
  kernel::call(SYS_fallocate, m.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
               static_cast<long>(m.data_offset), static_cast<long>(size));
  m.held = false;
}

}  // namespace

bool trace_on(uint64_t bytes) {
  if (bytes < kMinTraceBytes || bytes > kMaxTraceBytes || !map_once()) return false;
  trace_off();
  Memory& m = g_memory;
  give_memory_back();
  uint32_t n = m.rings.carriers + 1;
  uint64_t each = bytes / n < m.stride ? bytes / n : m.stride;
  uint64_t capacity = each / sizeof(TraceRecord);
  if (capacity == 0) return false;
  m.held = true;
  for (uint32_t i = 0; i < n; ++i)
    if (kernel::call(SYS_fallocate, m.fd, 0, static_cast<long>(m.data_offset + i * m.stride),
                     static_cast<long>(each)) != 0) {
      give_memory_back();
      return false;
    }
  TraceHeader* h = header();
  auto* starts = reinterpret_cast<TraceRingStart*>(h + 1);
  for (uint32_t i = 0; i < n; ++i)
    starts[i].written = m.rings.rings[i].head.load(std::memory_order_relaxed) >> 24;
  h->record_size = sizeof(TraceRecord);
  h->carriers = m.rings.carriers;
  h->data_offset = m.data_offset;
  h->stride = m.stride;
  h->capacity = capacity;
  h->monotonic_ns = monotonic_ns();
  h->ticks = ticks();
  m.rings.since.store(h->ticks, std::memory_order_relaxed);
  h->realtime_ns = realtime_ns();
  h->ns_per_tick = ticks_to_ns(1ull << 32);
  __atomic_store_n(&h->magic, kTraceMagic, __ATOMIC_RELEASE);
  for (uint32_t i = 0; i < n; ++i)
    m.rings.rings[i].end.store(m.rings.rings[i].begin + capacity, std::memory_order_relaxed);
  // release: who sees the pointer sees the rings.
  g_trace.store(&m.rings, std::memory_order_release);
  observe_flag(kTraceBit, true);
  if (g_trace_switched != nullptr) g_trace_switched(true);
  return true;
}

void trace_off() {
  if (g_trace.load(std::memory_order_relaxed) == nullptr) return;
  observe_flag(kTraceBit, false);
  g_trace.store(nullptr, std::memory_order_release);
  if (g_trace_switched != nullptr) g_trace_switched(false);
}

void trace_drop() {
  trace_off();
  if (g_memory.held) give_memory_back();
}

bool trace_memory_held() { return g_memory.held && !g_memory.by_option; }

TraceState trace_serve(uint32_t wanted_kib) {
  if (g_memory.by_option) return TraceState::ByOption;
  bool on = g_trace.load(std::memory_order_relaxed) != nullptr;
  if (wanted_kib == 0) {
    if (on) trace_off();
    return TraceState::Off;
  }
  if (on || trace_on(uint64_t{wanted_kib} << 10)) return TraceState::On;
  return TraceState::Refused;
}

void trace_by_option(uint64_t bytes) {
  g_memory.by_option = trace_on(bytes);
  if (!g_memory.by_option) warn("no trace: no memory for its %lu KiB", bytes >> 10);
}

void trace_expire() {
  if (!g_memory.by_option) trace_drop();
}

}  // namespace wisp::stats
