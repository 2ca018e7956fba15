// The scheduler's face to the layers above it (sync, io, interpose, jvm). All of it may be called
// from tasks and from kernel threads unless said otherwise.
#pragma once
#include <pthread.h>

#include "platform/clock.h"
#include "platform/thread_self.h"
#include "scheduler/task.h"

namespace wisp {

struct SchedulerConfig {
  int carriers = 1;                // 1 .. 1024
  uint64_t sysmon_tick_us = 1000;  // 100 .. 10,000,000
  size_t stack_size = 0;           // for tasks created without one; 0 = 1 MiB
  int pump_parts = 0;              // of the event pump; 0: by the number of carriers
  uint64_t trim_ms = 1000;         // parked so long, a task gives back unused stack; 0 = never
  uint32_t chaos_seed = 0;         // != 0: random yields, steals and hand-offs (soak tests)
};

// Starts carriers, workers and SysMonitor. Once; false with errno if a kernel thread is refused.
bool scheduler_start(const SchedulerConfig&);
bool scheduler_running();
int scheduler_carriers();
// False in a child, also in one whose fork nobody saw (_Fork, clone). A system call.
bool in_scheduler_process();

// Makes a task (not yet ready). 0 or an errno value (EAGAIN: no memory for stack or TLS block).
// The result's block.tp is its pthread_t. stack_size in bytes, 0 = default; guard in bytes.
int task_create(WispTask** out, void* (*start)(void*), void* argument, size_t stack_size,
                size_t guard_size);
// Queues a task that is not queued and not running (or that has announced its wait: see waiter.h).
void ready(WispTask* task);

// --- the calling task; each needs an enclosing RuntimeEntry
// Leaves the stack. The task's waiter must be queued already, so that its waker finds it.
void park_current(WispTask* self);
// Parks until deadline_ns or until ready(); the timer that fires cancels `self->waiter` in the
// parking lot with reason TimedOut.
void park_current_until(WispTask* self, uint64_t deadline_ns);
// Behind a park on a descriptor, which began at `left` (ticks): its carrier's counters.
void account_io_wait(WispTask* self, uint64_t left);
// Lets others of this carrier run; with nobody else it is a sched_yield(2).
void yield_current(WispTask* self);
// On a task, after a system call that costs microseconds anyway: whom the task has woken, and who
// still waits for it in the next slot, runs first; then the task. Without one nothing happens,
// unless the task has run for long and others queue: then they have their turn. A task that `asks`
// is in the middle of something (it has just sent a question), and may hold what others wait for:
// it makes way only after a long run while one carrier does all (narrow.h), and goes on soon.
bool make_way_is_due();  // inexpensive; false: the other would do nothing
void make_way(bool asks = false);
// The same behind a wake-up in a lock or condition; any thread, false inside the runtime. Some a
// millisecond, by chance. Tasks that each run for microseconds get no turn from the clock, and fall
// into a step: in a queue of waiters the first always finds what they wait for, the others never.
bool turn_is_due();  // inexpensive; false: the other would do nothing
void give_turn();
// What a new task runs, on its own stack with depth 0; ends in exit_current. Set before the first
// task_create (interpose/threads.cpp).
extern void (*g_task_main)(WispTask*);
// Called by exit_current when nothing of the program runs on the task any more: wakes joiners.
// True if nobody will ever join it (detached): it is recycled after its last switch; otherwise the
// joiner calls task_recycle. Set with g_task_main.
extern bool (*g_task_exiting)(WispTask*);
// Called by exit_current for a task that has cpu_timers; the signal layer's.
extern void (*g_task_timers_end)(WispTask*);
// Delivers what is pending for the calling thread, depth == 0 (signal layer).
extern void (*g_deliver_signals)(ThreadSelf&);
// Gives a dead task's struct, stack and block back to the pool; it may still be on its last switch.
void task_recycle(WispTask* task);
// Ends the calling task; never returns. `result` is for its joiner.
[[noreturn]] void exit_current(WispTask* self, void* result);

// --- entering and leaving the runtime. Interposed functions that take runtime locks, park or wake
// do so inside one of these. Nests. Costs two stores and two loads.
void runtime_enter_slow(WispTask* task);
void runtime_leave_slow(ThreadSelf& self);

class RuntimeEntry {
 public:
  RuntimeEntry() : self_(thread_self()) {
    self_.depth.store(self_.depth.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    compiler_barrier();  // pairs with SysMonitor's membarrier, see handoff.h
    WispTask* t = self_.task;
    if (t != nullptr && WISP_UNLIKELY(!t->handoff.is_none())) runtime_enter_slow(t);
  }
  ~RuntimeEntry() {
    // Not self_ by value: thread_self() may differ after a switch in sanitizer builds.
    ThreadSelf& s = WISP_SWITCH_FS ? self_ : thread_self();
    compiler_barrier();
    uint32_t d = s.depth.load(std::memory_order_relaxed) - 1;
    s.depth.store(d, std::memory_order_release);
    compiler_barrier();  // a signal from here on is handled at once; one before is pending
    if (WISP_UNLIKELY(d == 0 && s.pending_signals.load(std::memory_order_relaxed) != 0))
      runtime_leave_slow(s);
  }
  WispTask* task() const { return self_.task; }
  RuntimeEntry(const RuntimeEntry&) = delete;
  RuntimeEntry& operator=(const RuntimeEntry&) = delete;

 private:
  ThreadSelf& self_;
};

inline WispTask* current_task() { return thread_self().task; }

// Around a call known to block in the kernel (waitpid, flock, fsync...), on a task, outside any
// RuntimeEntry: offers the carrier so that others go on within tens of microseconds. On a kernel
// thread it does nothing. The call inside must not enter the runtime.
class BlockingRegion {
 public:
  BlockingRegion();
  ~BlockingRegion();

 private:
  WispTask* task_;
  uint64_t began_ = 0;  // ticks, while hand-offs are logged
};

// CPU time of a task in ns, up to now (any thread may ask about any task).
uint64_t task_cpu_ns(const WispTask* task);
// The own thread pointer of the kernel thread that the running task is on.
uintptr_t task_worker_tp(const WispTask* task);

// The kernel thread that the calling task runs on has to outlive the task's stay on it. Outside any
// RuntimeEntry, right before the system call that makes it so: the task may be moved in between
// only by its own doing.
void worker_stays();

// Since the start of the process, all carriers together; not of one moment.
struct SchedulerTotals {
  uint64_t tasks, switches, handoffs, steals;
};
SchedulerTotals scheduler_totals();

// Every task ever made, newest first (follow all_next); dead ones are in state Dead.
WispTask* all_tasks();
// The records of all of them, as far as they are there: who ends may take his along. Inside the
// runtime, under the task pool's lock.
void each_thread_self(void (*what)(ThreadSelf& self, uint64_t argument), uint64_t argument);
// The live task whose pthread_t / tid this is, or null when it is no task's.
WispTask* task_of(pthread_t thread);
WispTask* task_of_tid(int tid);
// The task whose CPU clock that is, also by the number that libc or HotSpot computes without asking
// us: a task's tid lies above all that the kernel gives out. Null: none.
WispTask* task_of_clock(clockid_t clock);

}  // namespace wisp
