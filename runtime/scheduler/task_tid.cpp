// Giving numbers to tasks, and finding a task by its number. See task_tid.h.
#include "scheduler/task_tid.h"

#include "platform/clock.h"
#include "platform/kernel.h"
#include "scheduler/scheduler.h"

namespace wisp {

uint32_t g_first_tid = kFirstTaskTid;
static std::atomic<uint32_t> g_next_tid{kFirstTaskTid};

// Who lives, by the low bits of his tid: numbers whose place somebody holds are passed over, so
// that each is found at once as long as there are fewer than so many. They rise, so a page of it is
// used for 512 tasks.
constexpr uint32_t kTidSlots = 1u << 16;
static std::atomic<WispTask*> g_by_tid[kTidSlots];

static std::atomic<WispTask*>& place_of(uint32_t tid) { return g_by_tid[tid % kTidSlots]; }

static bool holds_place(const WispTask* t, uint32_t tid) {
  return t != nullptr && t->tid % kTidSlots == tid % kTidSlots &&
         t->state.load(std::memory_order_relaxed) != TaskState::Dead;
}

// A bit for each number that a living task has. (Pages of zeros, but where the numbers are.)
static std::atomic<uint64_t> g_tids_given[kTaskTids / 64];

// relaxed: each bit stands for itself.
static bool claim_tid(uint32_t tid) {
  uint32_t i = tid - kFirstTaskTid;
  uint64_t bit = uint64_t{1} << i % 64;
  return (g_tids_given[i / 64].fetch_or(bit, std::memory_order_relaxed) & bit) == 0;
}

void end_tid(const WispTask* t) {
  uint32_t i = t->tid - kFirstTaskTid;
  g_tids_given[i / 64].fetch_and(~(uint64_t{1} << i % 64), std::memory_order_relaxed);
}

// Among so many tasks that places are rare the search for one ends; who has none is found among all
// (task_of_tid).
constexpr uint32_t kMostPassedOver = 1024;

// At the end of their room the numbers begin anew: who lives since then holds his number.
void give_tid(WispTask* t) {
  for (uint32_t passed_over = 0;;) {
    uint32_t tid = g_next_tid.fetch_add(1, std::memory_order_relaxed);
    if (tid > kLastTaskTid) {
      g_next_tid.compare_exchange_strong(++tid, kFirstTaskTid, std::memory_order_relaxed);
      continue;
    }
    // relaxed: a record, and whom it belongs to now, is looked at as it is; two that begin at once
    // have different numbers.
    bool held = holds_place(place_of(tid).load(std::memory_order_relaxed), tid);
    if (held && ++passed_over < kMostPassedOver) continue;
    if (!claim_tid(tid)) continue;
    t->tid = tid;
    // release: who looks there sees a complete struct, which is never freed, and compares the tid.
    if (!held) place_of(tid).store(t, std::memory_order_release);
    return;
  }
}

void choose_first_tid() {
  uint32_t chance = 0;
  constexpr long kNonBlock = 1;  // GRND_NONBLOCK
  if (kernel::call(SYS_getrandom, reinterpret_cast<long>(&chance), sizeof chance, kNonBlock) !=
      sizeof chance)
    chance = static_cast<uint32_t>(kernel::getpid()) * 0x9E3779B9u ^ static_cast<uint32_t>(ticks());
  constexpr uint32_t kStep = 64;
  g_first_tid = kFirstTaskTid + chance % (kTaskTids / kStep) * kStep;
  g_next_tid.store(g_first_tid, std::memory_order_relaxed);
}

void next_task_tid(uint32_t tid) { g_next_tid.store(tid, std::memory_order_relaxed); }

static inline bool is_of(const WispTask* t, int tid) {
  return t->tid == static_cast<uint32_t>(tid) &&
         t->state.load(std::memory_order_relaxed) != TaskState::Dead;
}

WispTask* task_of_tid(int tid) {
  if (tid < static_cast<int>(kFirstTaskTid)) return nullptr;
  WispTask* at = place_of(static_cast<uint32_t>(tid)).load(std::memory_order_acquire);
  if (WISP_LIKELY(at != nullptr && is_of(at, tid))) return at;
  for (WispTask* t = all_tasks(); t != nullptr; t = t->all_next)
    if (is_of(t, tid)) return t;
  return nullptr;
}

WispTask* task_of_clock(clockid_t clock) {
  if (clock == CLOCK_THREAD_CPUTIME_ID) return current_task();
  // A thread's, by the kernel's MAKE_THREAD_CPUCLOCK; of whichever of its three kinds of time,
  // since there is one measure only. (JDK 26 asks for the second, CPUCLOCK_VIRT, user time.)
  if (clock >= 0 || (clock & 4) == 0 || (clock & 3) == 3) return nullptr;
  int tid = tid_of_clock(clock);
  return tid == 0 ? current_task() : task_of_tid(tid);
}

}  // namespace wisp
