// See event_log.h.
#include "scheduler/event_log.h"

#include <string.h>
#include <sys/mman.h>

#include "platform/clock.h"
#include "platform/kernel.h"
#include "platform/spin_lock.h"
#include "scheduler/internal.h"
#include "scheduler/task_pool.h"

namespace wisp {

alignas(kCacheLine) Observed g_observed;

static constexpr uint32_t kCapacity = 8192;
static SpinLock g_log_lock;  // a leaf
static LogEvent* g_log = nullptr;
static uint32_t g_log_first = 0, g_log_count = 0;
static uint64_t g_log_lost = 0;

void observe_flag(uint32_t bits, bool on) {
  if (on)
    g_observed.flags.fetch_or(bits, std::memory_order_relaxed);
  else
    g_observed.flags.fetch_and(~bits, std::memory_order_relaxed);
}

static void put(const LogEvent& event) {
  SpinGuard guard(g_log_lock);
  if (g_log == nullptr || g_log_count == kCapacity) {
    ++g_log_lost;
    return;
  }
  g_log[(g_log_first + g_log_count++) % kCapacity] = event;
}

static LogEvent about(LogKind kind, const WispTask* task, const Carrier* carrier) {
  LogEvent e{};
  e.kind = kind;
  e.task = task->tid - kFirstTaskTid + 1;
  e.java_id = task->java_id;
  e.carrier = carrier != nullptr ? carrier->index : ~0u;
  e.other = ~0u;
  e.end = ticks();
  memcpy(e.name, task->name, sizeof e.name);
  return e;
}

WISP_NOINLINE void log_event(LogKind kind, const WispTask* task, const Carrier* carrier,
                             uint64_t begin, uint32_t other) {
  LogEvent e = about(kind, task, carrier);
  e.begin = begin != 0 ? begin : e.end;
  e.other = other;
  if (kind == LogKind::HandOff &&
      e.end - e.begin < g_observed.handoff_ticks.load(std::memory_order_relaxed))
    return;
  put(e);
}

WISP_NOINLINE void log_park(const WispTask* self, uint64_t left) {
  // When it was dispatched again. Before `left`: it was woken before it could leave, and never did.
  uint64_t back = self->dispatched_at;
  if (back <= left || back - left < g_observed.park_ticks.load(std::memory_order_relaxed)) return;
  LogEvent e = about(LogKind::Park, self, self->carrier);
  e.begin = left;
  e.end = back;
  e.woken = self->waiter.reason;
  // A timer does not come through ready(): what stands there is older.
  uint64_t woken = self->woken_at.load(std::memory_order_relaxed);
  if (woken >= left) {
    // The carrier's clock may have been read before the wake-up that it then found.
    e.ready_at = woken < back ? woken : back;
    e.other = self->woken_by.load(std::memory_order_relaxed);
  }
  const void* key = self->waiter.key.load(std::memory_order_relaxed);
  e.address = reinterpret_cast<uint64_t>(key);
  uint64_t low = reinterpret_cast<uint64_t>(self->stack.base);
  e.own_stack = e.address - low < self->stack.size;
  LogScope* scope = self->log_scope;
  if (scope != nullptr && scope->count < LogScope::kRoom)
    scope->events[scope->count++] = e;
  else
    put(e);
}

bool log_scope_open(LogScope* scope) {
  WispTask* self = current_task();
  if (self == nullptr || self->log_scope != nullptr) return false;
  self->log_scope = scope;
  return true;
}

bool log_describe(LogKind kind, LogEvent* event) {
  WispTask* self = current_task();
  if (self == nullptr) return false;
  RuntimeEntry entry;  // the carrier stays
  *event = about(kind, self, self->carrier);
  event->begin = event->end;
  return true;
}

LogScope* log_scope_close() {
  WispTask* self = current_task();
  LogScope* scope = self != nullptr ? self->log_scope : nullptr;
  if (scope != nullptr) self->log_scope = nullptr;
  return scope;
}

bool log_want(uint32_t kinds, uint64_t park_ticks, uint64_t handoff_ticks) {
  if (kinds != 0 && g_log == nullptr) {
    long memory = kernel::call(SYS_mmap, 0, kCapacity * sizeof(LogEvent), PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory < 0 && memory > -4096) return false;
    RuntimeEntry entry;
    SpinGuard guard(g_log_lock);
    g_log = reinterpret_cast<LogEvent*>(memory);
  }
  g_observed.park_ticks.store(park_ticks, std::memory_order_relaxed);
  g_observed.handoff_ticks.store(handoff_ticks, std::memory_order_relaxed);
  observe_flag(~kinds & ~kTraceBit, false);
  observe_flag(kinds & ~kTraceBit, true);
  return true;
}

uint32_t log_take(LogEvent* to, uint32_t room, uint64_t* lost) {
  RuntimeEntry entry;
  SpinGuard guard(g_log_lock);
  uint32_t n = g_log_count < room ? g_log_count : room;
  for (uint32_t i = 0; i < n; ++i) to[i] = g_log[(g_log_first + i) % kCapacity];
  g_log_first = (g_log_first + n) % kCapacity;
  g_log_count -= n;
  *lost = g_log_lost;
  return n;
}

}  // namespace wisp
