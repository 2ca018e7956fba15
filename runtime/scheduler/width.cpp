// How many carriers are wanted: what SysMonitor asks the rules (width.h, narrow.h), and tells the
// idle set.
#include "scheduler/width.h"

#include <algorithm>

#include "scheduler/internal.h"
#include "scheduler/narrow.h"

namespace wisp {

static Width g_width;
static Narrow g_narrow;

// Of all carriers since the start; times in us.
struct Totals {
  uint64_t busy = 0, run = 0, switches = 0, woken = 0, dry = 0;
};
static Totals totals(uint64_t now) {
  Totals t;
  for (uint32_t i = 0; i < g_scheduler.carrier_count; ++i) {
    const Carrier& c = g_scheduler.carriers[i];
    t.busy += c.busy.up_to(now);
    t.run += c.run_ticks.load(std::memory_order_relaxed);
    t.switches += c.switches.load(std::memory_order_relaxed);
    t.dry += c.idles.load(std::memory_order_relaxed);
  }
  for (uint32_t i = 0; i < pump_parts(); ++i)
    t.woken += g_pump_parts[i].woken.load(std::memory_order_relaxed);
  t.busy /= g_ticks_per_us;
  t.run /= g_ticks_per_us;
  return t;
}

// Of many carriers.
static void set_width(uint64_t now) {
  Scheduler& s = g_scheduler;
  Totals t = totals(now);
  Width::Seen seen{now / g_ticks_per_us, t.busy, t.run, t.switches, t.woken};
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
  uint64_t now_us = now / g_ticks_per_us;
  g_narrow.note(now_us, queued_us(), kept);
  if (!g_narrow.due(now_us)) return;
  Totals t = totals(now);
  bool before = g_narrow.keeps_back();
  bool after = g_narrow.look({now_us, t.run, t.switches, t.woken, t.dry}, s.carrier_count);
  // Told only of changes: unit tests keep some back themselves.
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
