// Reading the rings: every word once, every size checked, every record taken only when it is whole.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "sealed_file.h"
#include "text.h"
#include "trace.h"

namespace wisp {
namespace {

constexpr uint32_t kMaxCarriers = 1024;

// False: empty, or being written.
bool take(const TraceRecord& record, TraceEvent* event, uint64_t* stamp, uint64_t* wake) {
  // acquire: the words are not older than this number.
  uint64_t head = record.head.load(std::memory_order_acquire);
  if (head == 0) return false;
  *stamp = record.stamp.load(std::memory_order_relaxed);
  uint64_t tasks = record.tasks.load(std::memory_order_relaxed);
  *wake = record.wake.load(std::memory_order_relaxed);
  // acquire fence: if one of the words above is newer, so is the head below (scheduler/trace.cpp).
  std::atomic_thread_fence(std::memory_order_acquire);
  if (record.head.load(std::memory_order_relaxed) != head) return false;
  event->number = head >> 24;
  event->carrier = head >> 8 & 0xffff;
  uint8_t kind = head & 0xff;
  if (kind == 0 || kind > static_cast<uint8_t>(kLastTraceKind)) return false;
  event->kind = static_cast<TraceKind>(kind);
  event->task = static_cast<uint32_t>(tasks);
  event->other = static_cast<uint32_t>(tasks >> 32);
  return true;
}

// What a switch's one record says of the task that left; None: it is no such record.
TraceKind left_by(TraceKind kind) {
  switch (kind) {
    case TraceKind::RunAfterPark:
      return TraceKind::Park;
    case TraceKind::RunAfterYield:
      return TraceKind::Yield;
    case TraceKind::RunAfterEnd:
      return TraceKind::End;
    default:
      return TraceKind::None;
  }
}

using NameBytes = std::array<char, 17>;  // 0 behind the last one

void add_name_part(NameBytes* name, TraceKind kind, uint64_t bytes) {
  memcpy(name->data() + (kind == TraceKind::NameLow ? 0 : 8), &bytes, 8);
}

uint64_t scaled(uint64_t ticks, uint64_t ns_per_tick) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(ticks) * ns_per_tick >> 32);
}

// A Run record says who woke the task, and for how long it was ready.
void note_wake(TraceEvent* run, uint64_t wake, uint64_t ns_per_tick) {
  run->other = kNoTraceTask;
  if (wake == 0) return;
  run->waker = static_cast<uint32_t>(wake);
  auto wait_word = static_cast<uint32_t>(wake >> 32);
  run->ready_at_most = (wait_word & kWaitAtMost) != 0;
  uint64_t wait = scaled(trace_wait_ticks(wait_word), ns_per_tick);
  run->ready_ns = run->ns > wait ? run->ns - wait : 0;
}

// The events of one ring, oldest first, and the parts of names that are among its records. `first`:
// records up to that number are of a trace before. Returns how many were overwritten.
uint64_t read_ring(const TraceHeader& h, const TraceRecord* records, uint32_t carrier,
                   uint64_t first, std::vector<TraceEvent>* events,
                   std::map<uint32_t, NameBytes>* names) {
  uint64_t newest = first, taken = 0;
  for (uint64_t k = 0; k < h.capacity; k++) {
    TraceEvent event;
    uint64_t stamp, wake;
    if (!take(records[k], &event, &stamp, &wake)) continue;
    if (event.carrier != carrier || event.number <= first) continue;
    newest = std::max(newest, event.number);
    taken++;
    if (event.kind == TraceKind::NameLow || event.kind == TraceKind::NameHigh) {
      add_name_part(&(*names)[event.task], event.kind, stamp);
      continue;
    }
    // A stamp of another processor may be a little older than the switching on.
    event.ns = stamp > h.ticks ? scaled(stamp - h.ticks, h.ns_per_tick) : 0;
    // Ten years: no clock that runs says so.
    if (event.ns > 315'360'000'000'000'000) continue;
    if (TraceKind why = left_by(event.kind); why != TraceKind::None) {
      TraceEvent left = event;
      left.kind = why;
      left.task = event.other;
      left.other = kNoTraceTask;
      events->push_back(left);
      event.kind = TraceKind::Run;
    }
    if (event.kind == TraceKind::Run) note_wake(&event, wake, h.ns_per_tick);
    events->push_back(event);
  }
  std::stable_sort(events->begin(), events->end(),
                   [](const auto& a, const auto& b) { return a.number < b.number; });
  // A carrier that changed its processor may have seen time go back by some ticks.
  uint64_t before = 0;
  for (TraceEvent& event : *events) before = event.ns = std::max(event.ns, before);
  return newest - first > taken ? newest - first - taken : 0;
}

}  // namespace

bool parse_trace(const char* data, size_t size, Trace* out) {
  TraceHeader h;
  if (size < sizeof h) return false;
  memcpy(&h, data, sizeof h);
  if (h.magic != kTraceMagic || h.record_size != sizeof(TraceRecord) || h.carriers == 0 ||
      h.carriers > kMaxCarriers || h.ns_per_tick == 0) {
    return false;
  }
  uint64_t rings = uint64_t{h.carriers} + 1;
  if (h.data_offset > size || h.data_offset % 8 != 0 || h.stride % 8 != 0 ||
      h.data_offset < sizeof h + rings * sizeof(TraceRingStart) ||
      h.stride > (size - h.data_offset) / rings || h.capacity == 0 ||
      h.capacity > h.stride / sizeof(TraceRecord) || h.capacity > kMaxTraceBytes) {
    return false;
  }
  out->carriers = h.carriers;
  out->realtime_ns = h.realtime_ns;
  out->lost = 0;
  out->rings.assign(rings, {});
  std::map<uint32_t, NameBytes> names;  // of tasks that have ended
  for (uint64_t i = 0; i < rings; i++) {
    TraceRingStart start;
    memcpy(&start, data + sizeof h + i * sizeof start, sizeof start);
    auto* records = reinterpret_cast<const TraceRecord*>(data + h.data_offset + i * h.stride);
    uint32_t carrier = i == h.carriers ? kNoTraceCarrier : static_cast<uint32_t>(i);
    out->lost +=
        read_ring(h, records, carrier, start.written & kTraceNumberMask, &out->rings[i], &names);
  }
  for (const auto& [task, name] : names)
    if (name[0] != '\0') out->names[task] = printable(name.data());
  return true;
}

std::unique_ptr<TraceRingsFile> TraceRingsFile::open(const Process& process) {
  int fd = process.open_descriptor(std::string("/memfd:") + kTraceMemfdName, O_RDONLY);
  if (fd < 0) return nullptr;
  uint64_t size = sealed_size(fd);
  std::unique_ptr<TraceRingsFile> file;
  if (size > 0 && size <= uint64_t{1} << 30) {
    if (void* mapping = map_shared(fd, size, false)) {
      file.reset(new TraceRingsFile);
      file->data_ = static_cast<const char*>(mapping);
      file->size_ = size;
    }
  }
  close(fd);
  return file;
}

TraceRingsFile::~TraceRingsFile() {
  if (data_ != nullptr) munmap(const_cast<char*>(data_), size_);
}

}  // namespace wisp
