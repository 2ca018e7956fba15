// Carrier: a logical processor (run queue, timers, current task). Worker: the kernel thread that at
// the moment runs a carrier. A worker without a carrier is either a spare (asleep) or lends its
// kernel thread to a task whose carrier was handed off.
#pragma once
#include "scheduler/busy_time.h"
#include "scheduler/last_look.h"
#include "scheduler/pace.h"
#include "scheduler/patience.h"
#include "scheduler/run_queue.h"
#include "scheduler/task_list.h"

namespace wisp {

// Ticks that the owner writes, for itself. Others may look; relaxed.
class OwnTicks {
 public:
  OwnTicks& operator=(uint64_t ticks) {
    ticks_.store(ticks, std::memory_order_relaxed);
    return *this;
  }
  OwnTicks& operator+=(uint64_t more) { return *this = *this + more; }
  operator uint64_t() const { return ticks_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> ticks_{0};
};

struct alignas(128) Carrier {
  // --- owner's hot line
  std::atomic<WispTask*> next{nullptr};     // the next slot: woken by the running task, runs first
  std::atomic<WispTask*> current{nullptr};  // what runs now; null in the idle loop
  Worker* worker = nullptr;                 // who runs this carrier; null while idle
  OwnTicks now;                             // at the last switch
  uint64_t slice_end = 0;                   // ticks when the inherited time slice of `next` ends
  // Wakers let the woken go first from then (ticks) on, so often (give_turn).
  OwnTicks turn_at;
  uint32_t turns = 0;
  // Counts dispatches; SysMonitor and thieves read it to see whether the carrier moves.
  std::atomic<uint64_t> switches{0};
  // Ticks when next_deadline is due, or earlier; the owner looks at each switch. Written under
  // timer_lock.
  std::atomic<uint64_t> timer_check_at{~0ull};
  uint32_t picks = 0;
  uint32_t index = 0;
  uint32_t part = 0;   // of the event pump, which it looks at (poller.h)
  bool alone = false;  // the only carrier: there are no thieves

  static constexpr uint32_t kRing = 1024, kFront = 256;
  RunQueue<WispTask, kRing> queue;   // the ring
  RunQueue<WispTask, kFront> front;  // ahead of the ring (queue_arrival)
  alignas(kCacheLine) Inbox inbox;   // sent home by others, who write to this line
  // Owner: how many of the front go before the ring's next one; ticks from when on none does.
  alignas(kCacheLine) uint32_t front_left = 0;
  uint64_t ring_due = 0;

  bool timer_check_due(uint64_t at) const {
    return at >= timer_check_at.load(std::memory_order_relaxed);
  }

  // --- owner's access to its runnable tasks
  // acq_rel where thieves exist: whoever gets the task sees what its waker wrote (release), and a
  // displaced or taken task is wholly ours (acquire). Alone, program order is enough.
  WispTask* swap_next(WispTask* task) {
    if (alone) {
      WispTask* old = next.load(std::memory_order_relaxed);
      next.store(task, std::memory_order_relaxed);
      return old;
    }
    return next.exchange(task, std::memory_order_acq_rel);
  }
  WispTask* pop() { return alone ? queue.pop_alone() : queue.pop(); }
  WispTask* pop_front() { return alone ? front.pop_alone() : front.pop(); }

  // Any thread, as RunQueue::size: what thieves may take.
  uint32_t queued() const { return queue.size() + front.size() + inbox.size(); }
  bool anything_queued() const { return !queue.empty() || !front.empty() || !inbox.empty(); }

  // --- timers. Lock order: timer_lock before a parking-lot bucket.
  SpinLock timer_lock;
  TimerHeap timers;
  std::atomic<uint64_t> next_deadline{~0ull};  // of timers.first(); written under timer_lock

  // Where its worker was when it last looked around; -1: not known. Others look: relaxed. How often
  // it did, and saw another one there (spread.h).
  std::atomic<int> processor{-1};
  std::atomic<uint64_t> looks_around{0}, together{0};
  BusyTime busy;             // for attendance.h and width.h
  uint64_t adopts_from = 0;  // ticks; the owner's: see may_adopt
  // See pump_part_adopts. A task that has just lost this carrier may still take it: relaxed.
  std::atomic<bool> adopts{false};
  bool spills = false;  // the owner's: see has_too_many
  Pace pace;            // measured between looks into the event pump

  Carrier* idle_next = nullptr;  // in the idle list, under its lock (idle.h)

  // --- counters, owner writes, observers read (relaxed)
  std::atomic<uint64_t> parks{0}, unparks{0}, yields{0}, steals{0}, failed_steals{0}, timeouts{0},
      handoffs{0}, idles{0}, wakeups{0}, polls{0}, started{0}, completed{0};
  std::atomic<uint64_t> run_ticks{0};     // its tasks ran here
  std::atomic<uint64_t> off_ticks{0};     // its tasks, before each dispatch: parked and queued
  std::atomic<uint64_t> queued_ticks{0};  // the part in queues, of one wake in sixteen
  std::atomic<uint64_t> queued_samples{0};
  std::atomic<uint64_t> io_waits{0}, io_wait_ticks{0};  // its tasks waited for descriptors
  std::atomic<uint64_t> preemptions{0};                 // SysMonitor writes
  // What observers were told last, ns: estimates may get less, counters may not
  // (observe/collect.cpp).
  mutable struct { std::atomic<uint64_t> run{0}, idle{0}, queued{0}, blocked{0}; } told;
  // SysMonitor's private notes about this carrier.
  uint64_t seen_switches = 0;
  Patience patience;
  std::atomic<uint64_t> trim_moves{0};  // when the last pass over stacks began (trim.cpp)
};

struct Worker {
  Context native;  // the idle loop's context while a task runs
  uintptr_t native_tp = 0;
  ThreadSelf* native_self = nullptr;
  Carrier* carrier = nullptr;  // null: spare, or lending itself to a handed-off task
  WispTask* current = nullptr;
  WispTask* dispatch_next = nullptr;  // a task that was still on_cpu elsewhere: run it from here
#if !WISP_SWITCH_FS
  Fiber fiber;
#endif
  bool searching = false;  // counted in IdleSet::searching
  uint32_t random = 1;
  uint64_t spin_ticks = 0;  // how long to search before sleeping; learned
  bool pump_first = false;  // its last look into the event pump found something
  LastLook last_look;
  uint32_t times_awake = 0;  // its wake-ups: not each asks the CPU clock
  // Kernel tid; 0: no kernel thread. Relaxed: who acts on it knows otherwise whose it is.
  std::atomic<int> tid{0};
  // Set by who wakes it (placement.h), under the order of `wake`.
  int waker_processor = -1;  // -1: unknown
  // Its affinity leaves out some of the process's processors. Relaxed: its waker and itself set it
  // around a sleep, and whoever does, it takes all back when it is up.
  std::atomic<bool> kept_off{false};
  // CPU time of this kernel thread (in ticks) when it was last read, and what has been charged to
  // tasks since. Written by the thread itself, read by observers: relaxed. See dispatch.cpp,
  // account.
  std::atomic<uint64_t> cpu_seen{0}, cpu_charged{0};
  uint64_t signal_mask = 0;       // what the kernel thread's mask is now, but for `deferred`
  std::atomic<uint32_t> wake{0};  // futex: 1 = look at `carrier`, 2 = go to the event pump
  // It sleeps in this part of the event pump, less 1, and not on the futex (0). The waker stores
  // `wake`, then looks here; the sleeper stores this, then looks at `wake`: both seq_cst, so one
  // sees the other.
  std::atomic<uint32_t> polling{0};
  // Where it waits for events if it can: in the part of its last carrier, or where it was sent.
  // Relaxed: who reads it while another writes is about to find itself chosen.
  std::atomic<uint32_t> part{0};
  // While it is lent (lent.h): to whom SysMonitor has seen it go, and what was added to its nice
  // value. Both are written under the lock, which orders them (relaxed).
  SpinLock weight_lock;
  std::atomic<const WispTask*> lent_to{nullptr};
  std::atomic<int> nice_added{0};
  // The program has made requests to an io_uring of its own from here, and the kernel would cancel
  // those at the end of the thread: it does not end, and is not made lighter, which might end it.
  // Set on this thread; SysMonitor, who looks, may be late: relaxed.
  std::atomic<bool> stays{false};
  bool changed = false;  // by the program (own_thread.h): it ends with its task; its own
  bool left_pump_for_timer = false;  // its own note: see send_to_pump_instead (sleep.cpp)
  Worker* next = nullptr;            // in the spare list
  Worker* all_next = nullptr;
  // The stall finder's private notes (observe/stalls.cpp).
  struct {
    const WispTask* task = nullptr;
    uint64_t dispatched_at = 0, progress = 0, since = 0;
    uint64_t cpu_ns = 0;  // of the kernel thread, at `since` or soon after
    bool had_carrier = false, reported = false;
  } stall;
  int ticker = -1;  // a timer of the kernel's: signal/cpu_timers.cpp, under its lock
  // Signals (bit sig-1) that arrived inside the runtime: the kernel keeps them, blocked on this
  // kernel thread beyond signal_mask, until a flow leaves the runtime here (signal/task_signals.h).
  std::atomic<uint64_t> deferred{0};
};

// Who wants to know of each kernel thread that begins, and then of its end, both on this thread.
// Who begins to watch stores it, then looks at the workers that are there; a worker stores its tid,
// then looks here: both seq_cst, so that one sees the other.
struct WorkerWatch {
  void (*begins)(Worker*);
  void (*ends)(Worker*);
};
extern std::atomic<const WorkerWatch*> g_worker_watch;

}  // namespace wisp
