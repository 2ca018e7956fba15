// See chaos.h.
#include "scheduler/chaos.h"

#include "scheduler/internal.h"
#include "scheduler/pick.h"

namespace wisp {

uint32_t g_chaos = 0;
static std::atomic<uint64_t> g_step{0};

static uint32_t roll() {
  // splitmix64 of a counter: no state that threads could spoil for each other.
  uint64_t z = (g_step.fetch_add(1, std::memory_order_relaxed) + g_chaos) * 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return static_cast<uint32_t>((z ^ (z >> 31)) >> 32);
}

bool chaos_one_in(uint32_t n) { return roll() % n == 0; }

// Sometimes a pause of up to some ten microseconds, or the processor given away.
static void chaos_delay() {
  uint32_t r = roll();
  if (r % 64 == 0) {
    kernel::sched_yield();
  } else if (r % 16 == 1) {
    uint64_t end = ticks() + us_to_ticks(r >> 16 & 31);
    while (ticks() < end) cpu_pause();
  }
}

bool chaos_ready(Carrier* c, WispTask* task) {
  chaos_delay();
  uint32_t r = roll() % 8;
  if (r < 2) {
    g_scheduler.global.push(task);
  } else if (r < 4) {
    push_local(c, task);
  } else {
    return false;
  }
  announce_work();
  return true;
}

WispTask* chaos_pick(Carrier* c) {
  chaos_delay();
  uint32_t r = roll() % 16;
  if (r == 0)  // the lone next goes to the back: the ring's turn
    if (WispTask* t = c->swap_next(nullptr)) push_local(c, t);
  if (r == 1) return g_scheduler.global.pop();
  if (r == 2) fire_timers(c, c, monotonic_ns());
  if (r == 3) poll_in_turn(c);
  if (r == 4) return (roll() & 1) != 0 ? c->pop() : c->pop_front();
  if (r == 5)  // runs elsewhere, perhaps
    if (WispTask* t = c->pop()) {
      g_scheduler.global.push(t);
      announce_work();
    }
  if (r == 6) announce_work();
  return nullptr;
}

void chaos_yield(WispTask* self) {
  if (chaos_one_in(8)) yield_current(self);
}

}  // namespace wisp
