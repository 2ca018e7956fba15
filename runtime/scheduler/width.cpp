// How many carriers are wanted: what SysMonitor asks the rules (width.h, narrow.h), and tells the
// idle set.
#include "scheduler/width.h"

#include <algorithm>

#include "scheduler/internal.h"
#include "scheduler/narrow.h"

namespace wisp {

static Width g_width;
static Narrow g_narrow;

static uint64_t woken_by_descriptors() {
  uint64_t n = 0;
  for (uint32_t i = 0; i < pump_parts(); ++i)
    n += g_pump_parts[i].woken.load(std::memory_order_relaxed);
  return n;
}

// Of many carriers.
static void set_width(uint64_t now) {
  Scheduler& s = g_scheduler;
  uint64_t busy = 0, run = 0;
  Width::Seen seen{now / g_ticks_per_us, 0, 0, 0, 0};
  for (uint32_t i = 0; i < s.carrier_count; ++i) {
    busy += s.carriers[i].busy.up_to(now);
    run += s.carriers[i].run_ticks.load(std::memory_order_relaxed);
    seen.switches += s.carriers[i].switches.load(std::memory_order_relaxed);
  }
  seen.woken = woken_by_descriptors();
  seen.busy_us = busy / g_ticks_per_us;
  seen.run_us = run / g_ticks_per_us;
  s.idle.keep_back(s.carrier_count - g_width.look(seen, s.width(), s.carrier_count));
}

static uint64_t queued_us() {
  uint64_t longest = 0;
  for (uint32_t i = 0; i < g_scheduler.carrier_count; ++i) {
    const Carrier& c = g_scheduler.carriers[i];
    if (uint32_t n = c.queued(); n != 0) longest = std::max(longest, c.pace.expected(n));
  }
  return longest / g_ticks_per_us;
}

// Of few.
static void set_narrow(uint64_t now, bool kept) {
  Scheduler& s = g_scheduler;
  Narrow::Seen seen{now / g_ticks_per_us, 0, 0, 0, 0};
  g_narrow.note(seen.now_us, queued_us(), kept);
  if (!g_narrow.due(seen.now_us)) return;
  uint64_t run = 0;
  for (uint32_t i = 0; i < s.carrier_count; ++i) {
    const Carrier& c = s.carriers[i];
    run += c.run_ticks.load(std::memory_order_relaxed);
    seen.switches += c.switches.load(std::memory_order_relaxed);
    seen.dry += c.idles.load(std::memory_order_relaxed);
  }
  seen.woken = woken_by_descriptors();
  seen.run_us = run / g_ticks_per_us;
  bool before = g_narrow.keeps_back();
  // Told only of changes: unit tests keep some back themselves.
  bool after = g_narrow.look(seen, s.carrier_count);
  if (after != before) s.idle.keep_back(after ? 1 : 0);
}

void width_look(bool kept) {
  uint32_t n = g_scheduler.carrier_count;
  if (n >= Width::kMany)
    set_width(ticks());
  else if (Narrow::possible(n))
    set_narrow(ticks(), kept);
}

}  // namespace wisp
