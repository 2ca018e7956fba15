// WispTask: one coroutine and its scheduling state. Tasks are never returned to the allocator (a
// pool keeps them), so a stale WispTask pointer is always readable; what it says may be old.
//
//   Created --ready()--> Ready --dispatch--> Running --park()--> Parked --ready()--> Ready
//                          ^------------ yield() --|                 Running --exit--> Dead
//   Parked --> Running: woken before it had left its stack.  Dead --> Created: used again.
//   (Running with handoff == Taken: the task runs on its kernel thread without a carrier.)
#pragma once
#include <atomic>

#include "coroutine/context.h"
#include "coroutine/sanitizer_fiber.h"
#include "coroutine/stack.h"
#include "coroutine/thread_block.h"
#include "platform/memory_keys.h"
#include "platform/thread_self.h"
#include "scheduler/handoff.h"
#include "scheduler/on_cpu.h"
#include "scheduler/timer_heap.h"
#include "scheduler/trace_ring.h"
#include "scheduler/trim_pace.h"
#include "sync/waiter.h"

namespace wisp {

struct Carrier;
struct LogScope;
struct Worker;
struct CpuTimer;

enum class TaskState : uint8_t { Created, Ready, Running, Parked, Dead };

struct alignas(kCacheLine) WispTask {
  // --- touched on every switch
  Context context;                       // valid while on_cpu is clear
  uintptr_t tp = 0;                      // thread pointer (fs base)
  ThreadSelf* self = nullptr;            // this task's ThreadSelf, inside its TLS block
  Carrier* carrier = nullptr;            // null while handed off; written by whoever dispatches it
  std::atomic<Worker*> worker{nullptr};  // the kernel thread it runs on; null while not running
  OnCpu on_cpu;                          // who may touch stack and context
  HandOffWord handoff;
  uint64_t signal_mask = 0;       // the mask to run with; kernel's sigset layout
  uint32_t key_rights = kNoKeys;  // while it is off, if memory_keys()
  WispTask* queue_next = nullptr;
  uint64_t dispatched_at = 0;  // ticks of the last dispatch; off its carrier: when it left
  uint64_t ready_at = 0;       // ticks when it became ready, for one wake in sixteen; 0 = not taken
  std::atomic<uint64_t> times_run{0};
  uint64_t woke_at = 0;       // ticks of its last wake of another task in this slice, 0 = none
  uint64_t wake_to_park = 0;  // EWMA of ticks from a wake to its own next park
  // EWMA of its slices, ticks. Written as it leaves a carrier; a waker may be faster: relaxed.
  std::atomic<uint64_t> slice_mean{0};
  // Dead and nobody will join it: written just before the last switch.
  bool recycle_on_leave = false;
  TraceKind left_by = TraceKind::None;  // while traced: why it is about to leave its carrier
  // While traced: woken_at and woken_by wait for its next Run record. The waker sets it before the
  // task is in a queue, who takes it out of there clears it.
  WakeNote wake_noted = WakeNote::None;
  bool brief_slice = false;  // while traced: its last slice was
  // For observers; relaxed. A waker may be faster than the task that announces its wait: then it
  // says Parked of a task in a queue.
  std::atomic<TaskState> state{TaskState::Dead};  // nobody has the record yet
  // Ticks when its last BlockingRegion ended; ~0: it is inside one. Owner writes, stall finder
  // reads.
  std::atomic<uint64_t> region_end{0};

#if !WISP_SWITCH_FS
  ThreadSelf own_self{};  // stands in for the one in the TLS block
  Fiber fiber;
#endif

  // --- waiting
  // For bytes on a TCP connection that the program has opened itself; on one whose other end is in
  // this process. Its own; who wakes it reads them afterwards, as the waiter.
  bool awaits_answer = false, awaits_partner = false;
  Waiter waiter;
  TimerNode timer;

  // --- life
  void* (*start_routine)(void*) = nullptr;
  void* start_argument = nullptr;
  void* result = nullptr;
  Stack stack{};
  ThreadBlock block{};
  uint32_t tid = 0;           // what gettid() says: unique, above any kernel tid (see task_tid.h)
  uint32_t signal_depth = 0;  // > 0 inside a signal handler
  int ends_wait = 0;          // the signal being delivered, if it has ended a wait
  // Handlers that have begun on it: with SA_RESTART, and those that end calls (upper half). Written
  // by its own flow, which asks for them too (sync/interruption.h).
  static constexpr uint64_t kOneEndingHandler = uint64_t{1} << 32;
  std::atomic<uint64_t> handlers_begun{0};
  // Signals that interrupted it and were another task's, which had just left the kernel thread: no
  // handler ran for them. Its own flow's.
  uint32_t stray_signals = 0;
  bool deep_part = false;               // dead: its stack may hold what deep calls have left
  std::atomic<uint32_t> join_state{0};  // sync/join.h
  bool block_used = false;              // the TLS block has had a thread before
  char name[16] = {};                   // as pthread_setname_np left it
  // PR_SET_TIMERSLACK of prctl(2), ns, and what 0 sets it to: noted only.
  uint64_t timer_slack = 0, first_timer_slack = 0;
  uint64_t java_id = 0;                  // Thread.getId() of its Java thread; 0 = unknown
  LogScope* log_scope = nullptr;         // event_log.h; the task's own
  std::atomic<bool> log_pending{false};  // there may be events about it in the log
  // While somebody observes: when it was woken last (ticks), and by which task (number). The waker
  // writes, relaxed; the task reads when it runs again.
  std::atomic<uint64_t> woken_at{0};
  std::atomic<uint32_t> woken_by{~0u};
  WispTask* all_next = nullptr;  // every task ever made (task_pool)
  // SysMonitor's TrimNote. task_create resets it (all relaxed: a lost reset costs
  // one trim).
  std::atomic<uint64_t> trim_note{TrimNote::kNone};
  // A coroutine of the program's may have its stack in this one, below where the task waits: it is
  // not trimmed. The task writes (relaxed); SysMonitor reads once the task has left the stack.
  std::atomic<bool> uses_below{false};

  // It is about to be copied by the kernel: see FullWeight. Owner writes, SysMonitor reads,
  // relaxed.
  std::atomic<uint8_t> full_weight{0};

  // own_thread.h: its kernel thread waits for it, on this word. Written by the task before its
  // waiter is queued.
  std::atomic<bool> own_thread{false};
  std::atomic<uint32_t> own_wake{0};
  uint32_t stays_here = 0;  // StaysHere; its own

  // Blocked by its mask, but awaited in the kernel (AwaitsSignals), and which of them have been
  // sent there. Under that one's lock.
  uint64_t awaited_signals = 0, sent_signals = 0;

  CpuTimer* cpu_timers = nullptr;  // signal/cpu_timers.h, under its lock

  // --- counters, written by the runner, read by observers
  std::atomic<uint64_t> queued_ticks{0}, queued_samples{0};  // in queues, of one wake in sixteen
  std::atomic<uint64_t> cpu_ticks{0};  // time on a carrier or worker, up to the last switch
  // The most that any reader was told (ns), so that the clock never goes back; with the low bits of
  // the tid: the struct may have a new thread meanwhile.
  mutable std::atomic<uint64_t> cpu_told{0};
  std::atomic<uint64_t> times_stolen{0};
  std::atomic<uint64_t> times_steal_failed{0};  // a thief came for it and was too late
  std::atomic<uint64_t> times_handed_off{0};    // gave its carrier away before a blocking call
  std::atomic<uint64_t> times_preempted{0};     // lost its carrier to SysMonitor
};

}  // namespace wisp
