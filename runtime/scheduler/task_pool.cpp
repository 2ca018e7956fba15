// Making and recycling tasks. See task_pool.h.
#include "scheduler/task_pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include <new>

#include "scheduler/internal.h"
#include "scheduler/task_tid.h"

namespace wisp {

void (*g_task_main)(WispTask*) = nullptr;
bool (*g_task_exiting)(WispTask*) = nullptr;
void (*g_task_timers_end)(WispTask*) = nullptr;

static std::atomic<WispTask*> g_all{nullptr};

// Leaf lock. Complete tasks (with stack and block), in lists by the size of their stacks, so that
// nobody goes through thousands of another size; and bare structs.
static SpinLock g_pool_lock;
constexpr uint32_t kLists = 16;
static WispTask* g_complete[kLists];
static WispTask* g_bare = nullptr;
static uint32_t g_complete_count = 0;
// What malloc caches for a block is lost when the block is freed, some 3 KiB, so there is room for
// more than most programs have threads (waves of 1,000 threads leaked 2.5 MB each with room for
// 256). Those beyond the first keep their block and nothing of the stack, some 8 KiB.
constexpr uint32_t kMaxWarm = 256, kMaxComplete = 16384;

static WispTask** list_of(size_t stack_size) {
  return &g_complete[(stack_size / 4096 * 0x9E3779B97F4A7C15u) >> 60];
}

// The pool's lock is taken on kernel threads and tasks alike, also while a task switches out.
static WispTask* take_complete(size_t stack_size, size_t guard) {
  SpinGuard lock(g_pool_lock);
  for (WispTask** p = list_of(stack_size); *p != nullptr; p = &(*p)->queue_next) {
    WispTask* t = *p;
    if (t->stack.size != stack_size || t->stack.guard != guard) continue;
    // acquire: its last switch is over. (Rarely not: a joiner was faster than the switch.)
    if (!t->on_cpu.clear()) continue;
    *p = t->queue_next;
    --g_complete_count;
    return t;
  }
  return nullptr;
}

// g_pool_lock held.
static void give_complete(WispTask* t) {
  WispTask** list = list_of(t->stack.size);
  t->queue_next = *list;
  *list = t;
  ++g_complete_count;
}

static WispTask* take_bare() {
  {
    SpinGuard lock(g_pool_lock);
    WispTask* t = g_bare;
    if (t != nullptr) {
      g_bare = t->queue_next;
      return t;
    }
  }
  void* memory = nullptr;
  if (posix_memalign(&memory, alignof(WispTask), sizeof(WispTask)) != 0) return nullptr;
  WispTask* t = new (memory) WispTask();
  WispTask* head = g_all.load(std::memory_order_relaxed);
  // release: a walker sees a complete struct.
  do t->all_next = head;
  while (
      !g_all.compare_exchange_weak(head, t, std::memory_order_release, std::memory_order_relaxed));
  return t;
}

static void give_bare(WispTask* t) {
  SpinGuard lock(g_pool_lock);
  t->queue_next = g_bare;
  g_bare = t;
}

#if WISP_SWITCH_FS
// ThreadSelf is initial-exec TLS: at the same distance from every thread pointer.
static ThreadSelf* self_at(uintptr_t tp) {
  return reinterpret_cast<ThreadSelf*>(tp +
                                       (reinterpret_cast<uintptr_t>(&t_self) - thread_pointer()));
}
#endif

// Its record is there from now on, or (null) no longer: each_thread_self.
static void set_self(WispTask* t, ThreadSelf* self) {
  SpinGuard lock(g_pool_lock);
  t->self = self;
}

static int equip(WispTask* t, size_t stack_size, size_t guard_size) {
  if (!stack_allocate(&t->stack, stack_size, guard_size)) return EAGAIN;
  give_tid(t);
#if WISP_SWITCH_FS
  if (!thread_block_create_in(&t->stack, &t->block, t->tid)) {
    end_tid(t);
    stack_release(&t->stack);
    return EAGAIN;
  }
  t->tp = t->block.tp;
  set_self(t, self_at(t->tp));
#else
  t->block.tp = t->tp = reinterpret_cast<uintptr_t>(t);
  set_self(t, &t->own_self);
  fiber_create(&t->fiber, t->stack.base, t->stack.size);
#endif
  t->block_used = false;
  return 0;
}

// Nobody is on its stack any more.
static void destroy(WispTask* t) {
  // The record that SysMonitor may be looking at lies in the block (sysmon_looks_at).
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (Backoff backoff; sysmon_looks_at() == t;) backoff.wait();
  set_self(t, nullptr);
#if WISP_SWITCH_FS
  thread_block_destroy(&t->block);
#endif
  stack_release(&t->stack);
  give_bare(t);
}

// Stacks of other sizes may hold the address space or the maps that a new one needs.
static bool drop_pooled() {
  bool any = false;
  for (WispTask*& list : g_complete)
    for (;;) {
      WispTask* t;
      {
        SpinGuard lock(g_pool_lock);
        t = list;
        if (t == nullptr || !t->on_cpu.clear()) break;
        list = t->queue_next;
        --g_complete_count;
      }
      destroy(t);
      any = true;
    }
  return any;
}

int task_create(WispTask** out, void* (*start)(void*), void* argument, size_t stack_size,
                size_t guard_size) {
  RuntimeEntry entry;
  if (stack_size == 0) stack_size = g_scheduler.config.stack_size;
  constexpr size_t kPage = 4096;
  stack_size = (stack_size + kPage - 1) & ~(kPage - 1);
  guard_size = (guard_size + kPage - 1) & ~(kPage - 1);
  WispTask* t = take_complete(stack_size, guard_size);
  if (t != nullptr) {
    give_tid(t);
#if WISP_SWITCH_FS
    thread_block_set_tid(t->block, t->tid);
#else
    fiber_create(&t->fiber, t->stack.base, t->stack.size);
#endif
    t->block_used = true;
  } else {
    t = take_bare();
    if (t == nullptr) return EAGAIN;
    int error = equip(t, stack_size, guard_size);
    if (error != 0 && drop_pooled()) error = equip(t, stack_size, guard_size);
    if (error != 0) {
      give_bare(t);
      return error;
    }
  }
  // Field by field: SysMonitor may still be reading the depth of the record's last owner.
  ThreadSelf& self = *t->self;
  self.depth.store(1, std::memory_order_relaxed);  // task_entry takes it back
  self.pending_signals.store(0, std::memory_order_relaxed);
  self.worker = nullptr;
  self.straight = 0;
  self.collect = nullptr;
  self.next_create_is_java = false;
  self.held_signals = 0;
  self.deferred_signals = 0;
  self.task = t;
  t->start_routine = start;
  t->start_argument = argument;
  t->result = nullptr;
  t->recycle_on_leave = false;
  t->join_state.store(0, std::memory_order_relaxed);
  t->signal_depth = 0;
  t->carrier = nullptr;
  t->handoff.set(HandOff::None);
  WispTask* creator = current_task();
  // Of a kernel thread's blocked signals some are only put off, while it is in here.
  t->signal_mask =
      creator != nullptr
          ? creator->signal_mask
          : kernel::signal_mask() & ~thread_self().deferred_signals.load(std::memory_order_relaxed);
  t->key_rights = memory_keys() ? key_rights() : kNoKeys;
  if (creator != nullptr)
    memcpy(t->name, creator->name, sizeof t->name);
  else
    kernel::call(SYS_prctl, PR_GET_NAME, reinterpret_cast<long>(t->name));
  t->timer_slack = creator != nullptr
                       ? creator->timer_slack
                       : static_cast<uint64_t>(kernel::call(SYS_prctl, PR_GET_TIMERSLACK));
  t->first_timer_slack = t->timer_slack;
  t->woke_at = 0;
  t->wake_to_park = initial_wake_to_park();
  t->slice_mean.store(0, std::memory_order_relaxed);
  t->cpu_ticks.store(0, std::memory_order_relaxed);
  t->cpu_told.store(cpu_told_by(t->tid, 0), std::memory_order_relaxed);
  t->times_run.store(0, std::memory_order_relaxed);
  t->queued_ticks.store(0, std::memory_order_relaxed);
  t->queued_samples.store(0, std::memory_order_relaxed);
  t->times_stolen.store(0, std::memory_order_relaxed);
  t->times_steal_failed.store(0, std::memory_order_relaxed);
  t->times_handed_off.store(0, std::memory_order_relaxed);
  t->times_preempted.store(0, std::memory_order_relaxed);
  t->ready_at = 0;
  t->trim_note.store(TrimNote::kNone, std::memory_order_relaxed);
  t->uses_below.store(false, std::memory_order_relaxed);
  t->region_end.store(0, std::memory_order_relaxed);
  t->java_id = 0;
  t->log_scope = nullptr;
  t->log_pending.store(false, std::memory_order_relaxed);
  t->dispatched_at = ticks();
  t->state.store(TaskState::Created, std::memory_order_relaxed);
  task_arm_context(t);
  g_scheduler.tasks_created.fetch_add(1, std::memory_order_relaxed);
  *out = t;
  return 0;
}

// The thread block stays, all of it: it may be larger than a page.
static char* end_of_stack(const WispTask* t) {
  return t->block.low != nullptr ? static_cast<char*>(t->block.low) : t->stack.base + t->stack.size;
}

// Those that have ended since the last look, out of their lists, kMaxWarm at most: in one walk,
// since there may be thousands that have been looked at.
static WispTask* take_deep() {
  SpinGuard lock(g_pool_lock);
  WispTask* taken = nullptr;
  uint32_t count = 0;
  for (WispTask*& list : g_complete)
    for (WispTask** p = &list; *p != nullptr && count < kMaxWarm;) {
      WispTask* t = *p;
      if (!t->deep_part || !t->on_cpu.clear()) {
        p = &t->queue_next;
        continue;
      }
      *p = t->queue_next;
      t->queue_next = taken;
      taken = t;
      ++count;
    }
  g_complete_count -= count;
  return taken;
}

void pool_drop_deep() {
  for (WispTask *t = take_deep(), *next; t != nullptr; t = next) {
    next = t->queue_next;
    stack_drop_deep(t->stack, end_of_stack(t));
    t->deep_part = false;
    SpinGuard lock(g_pool_lock);
    give_complete(t);
  }
}

void task_recycle(WispTask* t) {
#if !WISP_SWITCH_FS
  wait_off_cpu(t);
  fiber_destroy(&t->fiber);
#endif
  t->deep_part = true;
  trim_parked_elsewhere();  // SysMonitor has to look, if this is the last that happens
  uint32_t pooled;
  {
    SpinGuard lock(g_pool_lock);
    pooled = g_complete_count;
    if (pooled < kMaxWarm) return give_complete(t);
  }
  wait_off_cpu(t);
  if (pooled < kMaxComplete) {
    stack_trim_below(t->stack, end_of_stack(t));
    t->deep_part = false;
    SpinGuard lock(g_pool_lock);
    return give_complete(t);  // a few more than the bound when several come at once
  }
  destroy(t);
}

WispTask* all_tasks() { return g_all.load(std::memory_order_acquire); }

void each_thread_self(void (*what)(ThreadSelf& self, uint64_t argument), uint64_t argument) {
  SpinGuard lock(g_pool_lock);
  for (WispTask* t = all_tasks(); t != nullptr; t = t->all_next)
    if (t->self != nullptr) what(*t->self, argument);
}

WispTask* task_of(pthread_t thread) {
#if WISP_SWITCH_FS
  // Any live thread has a ThreadSelf at the same place of its TLS block.
  WispTask* t = self_at(thread_pointer_of(thread))->task;
  return t != nullptr && t->tp == thread_pointer_of(thread) ? t : nullptr;
#else
  for (WispTask* t = all_tasks(); t != nullptr; t = t->all_next)
    if (t->tp == static_cast<uintptr_t>(thread)) return t;
  return nullptr;
#endif
}

}  // namespace wisp
