// See trace.h.
#include "scheduler/trace.h"

#include <string.h>

#include "platform/clock.h"
#include "scheduler/task_tid.h"

namespace wisp {

alignas(kCacheLine) std::atomic<TraceRings*> g_trace{nullptr};

static uint32_t id_of(const WispTask* task) {
  return task != nullptr ? task_number(task->tid) : kNoTraceTask;
}

static inline void write(TraceRing& ring, TraceKind kind, uint32_t task, uint32_t other,
                         uint64_t stamp, uint64_t wake) {
  uint64_t head = ring.head.load(std::memory_order_relaxed) + (1u << 24);
  ring.head.store(head, std::memory_order_relaxed);
  TraceRecord* record = ring.next;
  // Beyond the end by more than one, when the ring has been made smaller since the last event.
  if (record >= ring.end.load(std::memory_order_relaxed)) record = ring.begin;
  ring.next = record + 1;
  record->head.store(0, std::memory_order_relaxed);
  // release fence: who reads one of the words below finds head 0, or the new one, when it looks
  // again behind its acquire fence.
  std::atomic_thread_fence(std::memory_order_release);
  record->stamp.store(stamp, std::memory_order_relaxed);
  record->tasks.store(static_cast<uint64_t>(other) << 32 | task, std::memory_order_relaxed);
  record->wake.store(wake, std::memory_order_relaxed);
  // release: a reader that sees this number sees the words.
  record->head.store(head | static_cast<uint64_t>(kind), std::memory_order_release);
}

static WISP_NOINLINE void put_shared(TraceRings* t, TraceKind kind, uint32_t task, uint32_t other,
                                     uint64_t stamp) {
  SpinGuard guard(t->shared_lock);
  write(t->rings[t->carriers], kind, task, other, stamp, 0);
}

static inline void put(const Carrier* carrier, TraceKind kind, uint32_t task, uint32_t other,
                       uint64_t stamp) {
  // acquire: the rings were made before the pointer was set. They are never unmapped, so that who
  // got here just before tracing was switched off writes to memory that is there.
  TraceRings* t = g_trace.load(std::memory_order_acquire);
  if (WISP_UNLIKELY(t == nullptr)) return;
  if (WISP_LIKELY(carrier != nullptr))
    write(t->rings[carrier->index], kind, task, other, stamp, 0);
  else
    put_shared(t, kind, task, other, stamp);
}

WISP_NOINLINE void trace_event(const Carrier* carrier, TraceKind kind, const WispTask* task,
                               uint32_t other, uint64_t when) {
  put(carrier, kind, id_of(task), other, when != 0 ? when : ticks());
}

WISP_NOINLINE void trace_ready(const Carrier* carrier, WispTask* task, bool by_task, bool io,
                               bool at_most) {
  bool fresh = task->state.load(std::memory_order_relaxed) == TaskState::Created;
  if (WISP_LIKELY(by_task && !fresh)) {
    task->wake_noted = at_most ? WakeNote::AtMost : WakeNote::Exact;
    return;
  }
  TraceKind kind = io ? TraceKind::Io : fresh ? TraceKind::Start : TraceKind::Unpark;
  put(carrier, kind, id_of(task), task->woken_by.load(std::memory_order_relaxed),
      task->woken_at.load(std::memory_order_relaxed));
}

WISP_NOINLINE void trace_end(WispTask* task) {
  // Nobody can ask for its name any more.
  uint64_t name[2];
  static_assert(sizeof name == sizeof task->name);
  memcpy(name, task->name, sizeof name);
  put(task->carrier, TraceKind::NameLow, id_of(task), kNoTraceTask, name[0]);
  put(task->carrier, TraceKind::NameHigh, id_of(task), kNoTraceTask, name[1]);
  task->left_by = TraceKind::End;
}

// The wake word of the record that says that `task` runs.
static inline uint64_t take_wake(const TraceRings* t, WispTask* task, uint64_t now) {
  WakeNote note = task->wake_noted;
  if (note == WakeNote::None) return 0;
  task->wake_noted = WakeNote::None;
  uint64_t woken = task->woken_at.load(std::memory_order_relaxed);
  if (woken < t->since.load(std::memory_order_relaxed)) return 0;  // by a trace before this one
  // The carrier's clock may have been read before the wake-up that it then found.
  uint32_t wait = woken < now ? trace_wait(now - woken) : 0;
  if (note == WakeNote::AtMost) wait |= kWaitAtMost;
  return static_cast<uint64_t>(wait) << 32 | task->woken_by.load(std::memory_order_relaxed);
}

WISP_NOINLINE void trace_switch(const Carrier* carrier, WispTask* left, WispTask* next,
                                uint64_t now) {
  // acquire: as in put().
  TraceRings* t = g_trace.load(std::memory_order_acquire);
  if (WISP_UNLIKELY(t == nullptr)) return;
  TraceKind why = TraceKind::None;
  if (WISP_LIKELY(left != nullptr)) {
    why = left->left_by;
    left->left_by = TraceKind::None;
  }
  if (next == nullptr) {
    if (why != TraceKind::None) put(carrier, why, id_of(left), kNoTraceTask, now);
    return;
  }
  TraceKind kind = why == TraceKind::Park    ? TraceKind::RunAfterPark
                   : why == TraceKind::Yield ? TraceKind::RunAfterYield
                   : why == TraceKind::End   ? TraceKind::RunAfterEnd
                                             : TraceKind::Run;
  TraceRing& ring = t->rings[carrier->index];
  if (left != nullptr) left->brief_slice = now - ring.last_switch < g_ticks_per_us;
  ring.last_switch = now;
  write(ring, kind, id_of(next), id_of(left), now, take_wake(t, next, now));
}

void trace_stayed(WispTask* self) {
  if (self->wake_noted == WakeNote::None) return;
  self->wake_noted = WakeNote::None;
  trace_event(self->carrier, TraceKind::Unpark, self,
              self->woken_by.load(std::memory_order_relaxed),
              self->woken_at.load(std::memory_order_relaxed));
}

}  // namespace wisp
