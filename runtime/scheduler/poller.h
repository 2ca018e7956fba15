// How the io layer's event pump hangs in the scheduler. The scheduler knows nothing of descriptors:
// it calls `poll` where a worker would otherwise sleep, and now and then on busy carriers.
//
// The pump is divided into parts, one for each carrier (for a group of neighbours where there are
// more carriers than kMaxPumpParts): each descriptor is registered in one part, and so its events
// come to one carrier. With one part for all, carriers took each other's tasks: 16 of them every
// second one.
//
// At most one thread is inside a waiting poll of a part; polls with
// deadline_ns == kDontWait may run beside it. Tasks that the pump unparks while it polls are
// collected and go to the polling worker's own carrier, so a burst of events costs no wake-ups.
#pragma once
#include <stdint.h>

#include <atomic>

namespace wisp {

struct WispTask;

constexpr uint64_t kDontWait = ~0ull;
// A poll that returns fewer events than this has left none behind.
constexpr int kPollBatch = 128;

struct Poller {
  // Waits for events until deadline_ns (CLOCK_MONOTONIC; kForever = 0 = no deadline; kDontWait =
  // look only) and unparks whoever waits for them (ParkingLot::unpark). Returns the number of
  // events. Called inside the runtime (depth > 0) on kernel stacks and, with kDontWait, on task
  // stacks.
  int (*poll)(uint32_t part, uint64_t deadline_ns);
  // Makes the thread inside a waiting poll return soon (eventfd write). Any thread.
  void (*interrupt)(uint32_t part);
  // Waits for the end of it if the waiting poll is taking events from the kernel at this moment.
  void (*barrier)(uint32_t part);
  // Whatever the waiting poll had taken by the last barrier is delivered.
  bool (*delivered)(uint32_t part);
};

constexpr uint32_t kMaxPumpParts = 32;
// Parts as bits.
using PumpParts = uint32_t;

constexpr uint32_t kAnyPart = ~0u;

// How many parts there are: from scheduler_start on.
extern uint32_t g_pump_part_count;
inline uint32_t pump_parts() { return g_pump_part_count; }
// The part of the carrier's group.
uint32_t pump_part_of_carrier(uint32_t index);
// Where a descriptor should be registered that the calling task waits for, and that is in `part`
// (kAnyPart: in none): while most carriers are busy, of those that are wanted (width.h), in its own
// carrier's part, while few or one are all in the first one, so that a carrier alone finds what its
// tasks send each other; kAnyPart: where it is. On a task.
uint32_t pump_part_wanted(uint32_t part = kAnyPart);
// The calling task's carrier had to take others' work: whose partner is in this process as well may
// come here for good, one each time. On a task.
bool pump_part_adopts();
// The calling task has made something ready of which the pump will tell: whoever waits for that may
// be woken at once, to run next. Not when others of its carrier have waited for long. Inside the
// runtime.
bool wakes_past_pump(const WispTask* self);

// Set once, when the first descriptor is registered; null before: no polling at all.
extern std::atomic<const Poller*> g_poller;
// The io layer calls this after the first registration, so that a sleeping worker starts polling.
void poller_start(const Poller* poller);
// For who has to know of all events of these parts that happened before its call. Inside the
// runtime, on a task. The first delivers those that nobody has taken; false: another thread has
// taken some and not delivered them yet. The second waits until it has; false: it does not soon.
bool drain_events(PumpParts parts);
bool settle_events(PumpParts parts);
// For who has something to do without a wait, again and again: those of these parts in which nobody
// has looked for as long as busy carriers let pass. Whether any was looked at. Where the above may
// be called.
bool poll_if_due(PumpParts parts);

}  // namespace wisp
