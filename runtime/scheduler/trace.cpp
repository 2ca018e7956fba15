// See trace.h.
#include "scheduler/trace.h"

#include <string.h>

#include "platform/clock.h"
#include "scheduler/task_pool.h"

namespace wisp {

alignas(kCacheLine) std::atomic<TraceRings*> g_trace{nullptr};

static uint32_t id_of(const WispTask* task) {
  return task != nullptr ? task->tid - kFirstTaskTid + 1 : kNoTraceTask;
}

static inline void write(TraceRing& ring, TraceKind kind, uint32_t task, uint32_t other,
                         uint64_t stamp) {
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
  // release: a reader that sees this number sees the words.
  record->head.store(head | static_cast<uint64_t>(kind), std::memory_order_release);
}

static WISP_NOINLINE void put_shared(TraceRings* t, TraceKind kind, uint32_t task, uint32_t other,
                                     uint64_t stamp) {
  SpinGuard guard(t->shared_lock);
  write(t->rings[t->carriers], kind, task, other, stamp);
}

static inline void put(const Carrier* carrier, TraceKind kind, uint32_t task, uint32_t other,
                       uint64_t stamp) {
  // acquire: the rings were made before the pointer was set. They are never unmapped, so that who
  // got here just before tracing was switched off writes to memory that is there.
  TraceRings* t = g_trace.load(std::memory_order_acquire);
  if (WISP_UNLIKELY(t == nullptr)) return;
  if (WISP_LIKELY(carrier != nullptr))
    write(t->rings[carrier->index], kind, task, other, stamp);
  else
    put_shared(t, kind, task, other, stamp);
}

WISP_NOINLINE void trace_event(const Carrier* carrier, TraceKind kind, const WispTask* task,
                               uint32_t other, uint64_t when) {
  put(carrier, kind, id_of(task), other, when != 0 ? when : ticks());
}

WISP_NOINLINE void trace_ready(const Carrier* carrier, const WispTask* task, const WispTask* by,
                               bool io) {
  bool fresh = task->state.load(std::memory_order_relaxed) == TaskState::Created;
  TraceKind kind = io ? TraceKind::Io : fresh ? TraceKind::Start : TraceKind::Unpark;
  put(carrier, kind, id_of(task), id_of(by), ticks());
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

WISP_NOINLINE void trace_switch(const Carrier* carrier, WispTask* left, const WispTask* next,
                                uint64_t now) {
  TraceKind why = left->left_by;
  left->left_by = TraceKind::None;
  if (next == nullptr) {
    if (why != TraceKind::None) put(carrier, why, id_of(left), kNoTraceTask, now);
    return;
  }
  TraceKind kind = why == TraceKind::Park    ? TraceKind::RunAfterPark
                   : why == TraceKind::Yield ? TraceKind::RunAfterYield
                   : why == TraceKind::End   ? TraceKind::RunAfterEnd
                                             : TraceKind::Run;
  put(carrier, kind, id_of(next), id_of(left), now);
}

}  // namespace wisp
