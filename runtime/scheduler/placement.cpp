// See placement.h. Raw system calls: ours are interposed and would answer for the task.
#include "scheduler/placement.h"

#include <string.h>

#include "platform/kernel.h"
#include "platform/running.h"

namespace wisp {

constinit std::atomic<int (*)()> g_count_running{&running_threads};

namespace {

// For so many wake-ups one that went wrong turns the keeping-off on; then one is let go to see
// whether it is still needed.
constexpr int kWakeUps = 64;

// Relaxed: a guess, shared by all; a lost count is one wake-up more or less.
std::atomic<int> g_keep_off{0};

constexpr uint32_t kProcessors = 1024;  // on larger machines workers are left alone
struct ProcessorSet {
  uint64_t words[kProcessors / 64];
};

int current_processor() {
  unsigned cpu = 0;
  return kernel::call(SYS_getcpu, reinterpret_cast<long>(&cpu)) == 0 ? static_cast<int>(cpu) : -1;
}

// What the whole process may use: the mask of its first thread, which is never touched here.
bool process_processors(ProcessorSet* set) {
  memset(set, 0, sizeof *set);
  return kernel::call(SYS_sched_getaffinity, kernel::getpid(), sizeof *set,
                      reinterpret_cast<long>(set)) > 0;
}

bool set_processors(int tid, const ProcessorSet& set) {
  return kernel::call(SYS_sched_setaffinity, tid, sizeof set, reinterpret_cast<long>(&set)) == 0;
}

// Not known (-1) is not busy. Processors that the process may not use count as well: as long as one
// of those is idle, so may be one of ours.
bool all_busy() { return g_count_running.load(std::memory_order_relaxed)() >= online_processors(); }

}  // namespace

void placement_before_wake(Worker* sleeper) {
  int here = current_processor();
  sleeper->waker_processor = here;
  int left = g_keep_off.load(std::memory_order_relaxed);
  if (left == 0 || here < 0 || here >= static_cast<int>(kProcessors)) return;
  if (all_busy()) return;
  g_keep_off.store(left - 1, std::memory_order_relaxed);
  ProcessorSet set;
  if (!process_processors(&set)) return;
  set.words[here / 64] &= ~(1ull << (here % 64));
  // Fails where this processor is the only one: EINVAL.
  sleeper->kept_off = set_processors(sleeper->tid.load(std::memory_order_relaxed), set);
}

void placement_after_wake(Worker* self) {
  int waker = self->waker_processor;
  // Not every wake-up is by a waker that says where it is.
  self->waker_processor = -1;
  if (self->kept_off) {
    self->kept_off = false;
    ProcessorSet set;
    if (process_processors(&set)) set_processors(self->tid.load(std::memory_order_relaxed), set);
  } else if (waker >= 0 && waker == current_processor()) {
    g_keep_off.store(kWakeUps, std::memory_order_relaxed);
  }
}

}  // namespace wisp
