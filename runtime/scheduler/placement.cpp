// See placement.h. Raw system calls: ours are interposed and would answer for the task.
#include "scheduler/placement.h"

#include <string.h>
#include <time.h>

#include "coroutine/thread_block.h"
#include "platform/kernel.h"
#include "platform/running.h"
#include "scheduler/internal.h"
#include "scheduler/spread.h"

namespace wisp {

constinit std::atomic<int (*)()> g_count_running{&running_threads};
// Relaxed: a wake-up more or less.
constinit std::atomic<bool> g_kept_apart{false};

namespace {

// For so many wake-ups one that went wrong turns the keeping-off on; then one is let go to see
// whether it is still needed.
constexpr int kWakeUps = 64;

// Relaxed: a guess, shared by all; a lost count is one wake-up more or less.
std::atomic<int> g_keep_off{0};

constexpr uint32_t kProcessors = 1024;  // on larger machines workers are left alone
struct ProcessorSet {
  void add(int processor) {
    if (processor >= 0 && processor < static_cast<int>(kProcessors))
      words[processor / 64] |= 1ull << (processor % 64);
  }
  uint64_t words[kProcessors / 64];
};

// Where the caller runs: a worker knows without a system call.
int current_processor() {
  const ThreadSelf& self = thread_self();
  const Worker* w =
      self.task != nullptr ? self.task->worker.load(std::memory_order_relaxed) : self.worker;
  if (w != nullptr) return kernel_processor(w->native_tp);
  unsigned cpu = 0;
  return kernel::call(SYS_getcpu, reinterpret_cast<long>(&cpu)) == 0 ? static_cast<int>(cpu) : -1;
}

// What the whole process may use.
bool process_processors(ProcessorSet* set) {
  memset(set, 0, sizeof *set);
  return kernel::call(SYS_sched_getaffinity, bound_as_process(), sizeof *set,
                      reinterpret_cast<long>(set)) > 0;
}

bool set_processors(int tid, const ProcessorSet& set) {
  return kernel::call(SYS_sched_setaffinity, tid, sizeof set, reinterpret_cast<long>(&set)) == 0;
}

// Not known (-1) is not busy. Processors that the process may not use count as well: as long as one
// of those is idle, so may be one of ours.
bool all_busy() { return g_count_running.load(std::memory_order_relaxed)() >= online_processors(); }

// Fails where nothing is left: EINVAL.
void keep_off(Worker* w, const ProcessorSet& busy) {
  ProcessorSet set;
  if (!process_processors(&set)) return;
  for (size_t i = 0; i < kProcessors / 64; ++i) set.words[i] &= ~busy.words[i];
  if (set_processors(w->tid.load(std::memory_order_relaxed), set))
    w->kept_off.store(true, std::memory_order_relaxed);
}

// Of the busy carriers but this one, as far as they have looked around.
template <typename F>
void each_other_processor(const Carrier* but, F&& f) {
  for (uint32_t i = 0; i < g_scheduler.carrier_count; ++i) {
    const Carrier& c = g_scheduler.carriers[i];
    int processor = c.processor.load(std::memory_order_relaxed);
    if (&c != but && processor >= 0 && !c.busy.idle()) f(processor);
  }
}

// on: the carrier it is woken for, or null. here: where its waker runs, or -1.
void keep_apart(Worker* w, const Carrier* on, int here) {
  ProcessorSet busy = {};
  bool any = here >= 0;
  busy.add(here);
  each_other_processor(on, [&](int processor) {
    busy.add(processor);
    any = true;
  });
  if (any) keep_off(w, busy);
}

}  // namespace

int bound_as_process() {
  int tid = sysmon_tid();
  return tid != 0 ? tid : kernel::getpid();
}

void placement_before_wake(Worker* sleeper) {
  int here = current_processor();
  sleeper->waker_processor = here;
  if (kept_apart()) {
    keep_apart(sleeper, sleeper->carrier, here);
    return;
  }
  int left = g_keep_off.load(std::memory_order_relaxed);
  if (left == 0 || here < 0 || here >= static_cast<int>(kProcessors)) return;
  if (all_busy()) return;
  g_keep_off.store(left - 1, std::memory_order_relaxed);
  ProcessorSet busy = {};
  busy.add(here);
  keep_off(sleeper, busy);
}

void placement_before_hand_over(Worker* sleeper) {
  if (kept_apart()) keep_apart(sleeper, sleeper->carrier, -1);
}

// Its carrier is not looked at: who chooses it from now on binds it to one.
void placement_before_wait(Worker* self) {
  if (kept_apart()) keep_apart(self, nullptr, -1);
}

void placement_after_wake(Worker* self) {
  int waker = self->waker_processor;
  // Not every wake-up is by a waker that says where it is.
  self->waker_processor = -1;
  if (self->kept_off.load(std::memory_order_relaxed)) {
    self->kept_off.store(false, std::memory_order_relaxed);
    ProcessorSet set;
    if (process_processors(&set)) set_processors(self->tid.load(std::memory_order_relaxed), set);
  } else if (waker >= 0 && waker == current_processor()) {
    g_keep_off.store(kWakeUps, std::memory_order_relaxed);
  }
}

void placement_look_around(Carrier* c) {
  const Scheduler& s = g_scheduler;
  if (!Spread::possible(s.carrier_count)) return;
  int here = kernel_processor(c->worker->native_tp);
  c->processor.store(here, std::memory_order_relaxed);
  bool together = false;
  each_other_processor(c, [&](int processor) { together |= processor == here; });
  bump(c->looks_around);
  if (together && here >= 0) bump(c->together);
}

void placement_look(uint64_t now_ns) {
  static Spread spread;
  uint64_t now = now_ns / 1000;
  if (!spread.due(now)) return;
  Spread::Seen seen{0, 0, 0, 0};
  for (uint32_t i = 0; i < g_scheduler.carrier_count; ++i) {
    seen.looks += g_scheduler.carriers[i].looks_around.load(std::memory_order_relaxed);
    seen.together += g_scheduler.carriers[i].together.load(std::memory_order_relaxed);
  }
  timespec cpu{0, 0};
  kernel::call(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, reinterpret_cast<long>(&cpu));
  seen.cpu_us = static_cast<uint64_t>(cpu.tv_sec) * 1'000'000 + cpu.tv_nsec / 1000;
  if (spread.asks(seen.looks, seen.together)) seen.idle_us = machine_idle_us();
  g_kept_apart.store(spread.look(now, seen), std::memory_order_relaxed);
}

}  // namespace wisp
