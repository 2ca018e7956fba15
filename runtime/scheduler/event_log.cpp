// See event_log.h.
#include "scheduler/event_log.h"

#include <string.h>
#include <sys/mman.h>

#include "platform/clock.h"
#include "platform/kernel.h"
#include "platform/spin_lock.h"
#include "scheduler/internal.h"
#include "scheduler/task_tid.h"

namespace wisp {

alignas(kCacheLine) Observed g_observed;

static constexpr uint32_t kCapacity = 8192;
static constexpr uint32_t kHeldAtMost = kCapacity / 4;
static constexpr uint32_t kOwnLook = 512;  // entries; a task holds the lock meanwhile
static SpinLock g_log_lock;                // a leaf
static LogEvent* g_log = nullptr;
static uint32_t g_log_first = 0, g_log_count = 0;
static uint64_t g_log_lost = 0;

void observe_flag(uint32_t bits, bool on) {
  if (on)
    g_observed.flags.fetch_or(bits, std::memory_order_relaxed);
  else
    g_observed.flags.fetch_and(~bits, std::memory_order_relaxed);
}

static LogEvent& logged(uint32_t n) { return g_log[(g_log_first + n) % kCapacity]; }

static void put(const LogEvent& event, WispTask* task) {
  SpinGuard guard(g_log_lock);
  if (g_log == nullptr || g_log_count == kCapacity) {
    ++g_log_lost;
    return;
  }
  logged(g_log_count++) = event;
  // relaxed: a hint to look; what is found the lock orders. Of a task that has ended meanwhile it
  // may be set for the next one in its place, which then looks in vain.
  task->log_pending.store(true, std::memory_order_relaxed);
}

static LogEvent about(LogKind kind, const WispTask* task, const Carrier* carrier) {
  LogEvent e{};
  e.kind = kind;
  e.task = task_number(task->tid);
  e.java_id = task->java_id;
  e.carrier = carrier != nullptr ? carrier->index : ~0u;
  e.other = ~0u;
  e.end = ticks();
  memcpy(e.name, task->name, sizeof e.name);
  return e;
}

WISP_NOINLINE void log_event(LogKind kind, WispTask* task, const Carrier* carrier, uint64_t begin,
                             uint32_t other) {
  LogEvent e = about(kind, task, carrier);
  e.begin = begin != 0 ? begin : e.end;
  e.other = other;
  if (kind == LogKind::HandOff &&
      e.end - e.begin < g_observed.handoff_ticks.load(std::memory_order_relaxed))
    return;
  put(e, task);
}

WISP_NOINLINE void log_park(WispTask* self, uint64_t left) {
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
    put(e, self);
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
  if (kinds != 0 && (observed() & ~kNoLogs) == 0) {  // left from the last time
    RuntimeEntry entry;
    SpinGuard guard(g_log_lock);
    g_log_count = 0;
  }
  g_observed.park_ticks.store(park_ticks, std::memory_order_relaxed);
  g_observed.handoff_ticks.store(handoff_ticks, std::memory_order_relaxed);
  observe_flag(~kinds & ~kNoLogs, false);
  observe_flag(kinds & ~kNoLogs, true);
  return true;
}

bool log_has_own() {
  WispTask* self = current_task();
  return self != nullptr && self->log_pending.load(std::memory_order_relaxed);
}

uint32_t log_take_own(LogEvent* to, uint32_t room) {
  if (!log_has_own()) return 0;
  WispTask* self = current_task();
  RuntimeEntry entry;
  SpinGuard guard(g_log_lock);
  uint32_t number = task_number(self->tid), n = 0;
  uint32_t i = g_log_count > kOwnLook ? g_log_count - kOwnLook : 0;
  for (; i < g_log_count && n < room; ++i) {
    LogEvent& e = logged(i);
    if (e.taken || e.task != number) continue;
    to[n++] = e;
    e.taken = true;
  }
  self->log_pending.store(i < g_log_count, std::memory_order_relaxed);
  return n;
}

uint32_t log_take(LogEvent* to, uint32_t room, uint64_t* lost, uint64_t held) {
  RuntimeEntry entry;
  SpinGuard guard(g_log_lock);
  uint64_t now = ticks();
  uint32_t n = 0;
  for (; g_log_count != 0 && n < room; --g_log_count) {
    const LogEvent& e = logged(0);
    // Signed: another processor's clock may be ahead of this one's.
    if (static_cast<int64_t>(now - e.end) < static_cast<int64_t>(held) && g_log_count < kHeldAtMost)
      break;
    if (!e.taken) to[n++] = e;
    g_log_first = (g_log_first + 1) % kCapacity;
  }
  *lost = g_log_lost;
  return n;
}

}  // namespace wisp
