// Long-parked tasks give back what they do not use of their stacks. A Java stack is deeper touched
// than used: the interpreter touches 20 pages ahead of a native call and compiled code one such
// page per frame, so of 10,000 parked threads some hundred hold 22 pages where 3 are in use. The
// pages below the saved stack pointer go back to the kernel once a task has been parked from one
// look to the next. A plain thread cannot do that for itself: its kernel knows no unused part.
//
// SysMonitor looks, a bounded number of tasks at a time, so that its other duties do not wait.
#include "platform/kernel.h"
#include "scheduler/internal.h"
#include "scheduler/task_pool.h"

namespace wisp {

namespace {

constexpr uint32_t kLooks = 512;  // tasks per call: some 20 us
constexpr uint32_t kTrims = 32;   // and stacks: some 130 us
constexpr uint32_t kClaims = 16;  // at a time: a waker of one of them waits for all

struct Trimmer {
  WispTask* cursor = nullptr;    // where the pass under way goes on; null: none is
  uint64_t began = 0;            // ns
  TrimPace pace;                 // of this pass
  uint64_t next_pass = 0;        // ns
  bool young = false;            // this pass has met tasks that may be parked long enough next time
  bool wanted = false;           // the last pass has met such tasks
  uint64_t parks_elsewhere = 0;  // when it began
};
Trimmer g_trimmer;  // SysMonitor's

bool anything_ran() {
  // seq_cst: trim_parked_elsewhere().
  if (g_scheduler.parks_elsewhere.load(std::memory_order_seq_cst) != g_trimmer.parks_elsewhere)
    return true;
  for (uint32_t i = 0; i < g_scheduler.carrier_count; ++i) {
    const Carrier& c = g_scheduler.carriers[i];
    if (trim_moves(c) != c.trim_moves.load(std::memory_order_relaxed)) return true;
  }
  return false;
}

// The claims and why they hold: on_cpu.h.
void trim_claimed(WispTask* const* tasks, uint32_t count, TrimPace* pace) {
  if (count == 0) return;
  uint64_t began = monotonic_ns();
  uint32_t first = 0;
  kernel::membarrier();
  for (uint32_t i = 0; i < count; ++i) {
    WispTask* t = tasks[i];
    // Dead is what it must not be: its stack may be on its way to the pool. The claim (acquire) saw
    // Clear of the last who left the stack, and so what was written before.
    if (t->on_cpu.claim_stands() && t->state.load(std::memory_order_relaxed) == TaskState::Parked) {
      bool below_is_free = !t->uses_below.load(std::memory_order_relaxed);
      size_t freed = below_is_free ? stack_trim_below(t->stack, t->context.sp) : 0;
      TrimNote note(t->trim_note.load(std::memory_order_relaxed));
      t->trim_note.store(note.gives().word(), std::memory_order_relaxed);
      if (!note.given_before()) first++;
      if (freed != 0) g_scheduler.trimmed_bytes.fetch_add(freed, std::memory_order_relaxed);
    }
    t->on_cpu.unclaim();
  }
  pace->trimmed(monotonic_ns() - began, first, count);
}

void look_at_some(Trimmer* trimmer) {
  WispTask* claimed[kClaims];
  uint32_t count = 0, trims = 0;
  for (uint32_t i = 0; i < kLooks && trims < kTrims && trimmer->cursor != nullptr; ++i) {
    WispTask* t = trimmer->cursor;
    trimmer->cursor = t->all_next;
    if (t->state.load(std::memory_order_relaxed) != TaskState::Parked) continue;
    uint64_t times_run = t->times_run.load(std::memory_order_relaxed);
    TrimNote note(t->trim_note.load(std::memory_order_relaxed));
    if (!note.is_of(times_run)) {
      t->trim_note.store(note.at(times_run).word(), std::memory_order_relaxed);
      trimmer->young = true;
    } else if (!note.given()) {
      if (!t->on_cpu.claim()) {
        // Its worker lost the processor before it was off the stack. Nothing that counts need
        // happen any more.
        trimmer->young = true;
        continue;
      }
      claimed[count++] = t;
      trims++;
      if (count == kClaims) {
        trim_claimed(claimed, count, &trimmer->pace);
        count = 0;
      }
    }
  }
  trim_claimed(claimed, count, &trimmer->pace);
}

}  // namespace

// Set while SysMonitor may sleep for ever without a pass to come. Best effort: what it misses
// keeps the memory that a plain thread keeps too.
std::atomic<bool> g_trim_unaware{false};

// seq_cst: count, then look whether SysMonitor knows; it says that it does not, then looks at the
// count: one of the two sees the other.
void trim_parked_elsewhere() {
  g_scheduler.parks_elsewhere.fetch_add(1, std::memory_order_seq_cst);
  if (g_trim_unaware.load(std::memory_order_seq_cst)) sysmon_notice_slow();
}

uint64_t trim_stacks(uint64_t now_ns) {
  Trimmer& trimmer = g_trimmer;
  uint64_t period = g_scheduler.config.trim_ms * 1000000;
  if (chaos()) period = 1000000;
  if (period == 0) return ~0ull;
  if (trimmer.cursor == nullptr) {
    if (!trimmer.wanted && !anything_ran()) {
      g_trim_unaware.store(true, std::memory_order_seq_cst);
      if (!anything_ran()) return ~0ull;
    }
    g_trim_unaware.store(false, std::memory_order_relaxed);
    if (trimmer.next_pass == 0) trimmer.next_pass = now_ns + period;
    if (now_ns < trimmer.next_pass) return trimmer.next_pass;
    trimmer.cursor = all_tasks();
    trimmer.began = now_ns;
    trimmer.pace.begin();
    trimmer.young = false;
    trimmer.parks_elsewhere = g_scheduler.parks_elsewhere.load(std::memory_order_relaxed);
    for (uint32_t i = 0; i < g_scheduler.carrier_count; ++i) {
      Carrier& c = g_scheduler.carriers[i];
      c.trim_moves.store(trim_moves(c), std::memory_order_relaxed);
    }
  }
  look_at_some(&trimmer);
  if (trimmer.cursor != nullptr) return now_ns;
  pool_drop_deep();
  uint64_t end = monotonic_ns();
  trimmer.next_pass = end + trimmer.pace.pause_ns(end - trimmer.began, period);
  trimmer.wanted = trimmer.young;
  return trimmer.next_pass;
}

}  // namespace wisp
