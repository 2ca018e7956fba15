// How the io layer's event pump hangs in the scheduler. The scheduler knows nothing of descriptors:
// it calls `poll` where a worker would otherwise sleep, and now and then on busy carriers.
//
// At most one thread is inside a waiting poll (it is the timekeeper as well); polls with
// deadline_ns == kDontWait may run beside it. Tasks that the pump unparks while it polls are
// collected and go to the polling worker's own carrier, so a burst of events costs no wake-ups.
#pragma once
#include <stdint.h>

#include <atomic>

namespace wisp {

constexpr uint64_t kDontWait = ~0ull;
// A poll that returns fewer events than this has left none behind.
constexpr int kPollBatch = 128;

struct Poller {
  // Waits for events until deadline_ns (CLOCK_MONOTONIC; kForever = 0 = no deadline; kDontWait =
  // look only) and unparks whoever waits for them (ParkingLot::unpark). Returns the number of
  // events. Called inside the runtime (depth > 0) on kernel stacks and, with kDontWait, on task
  // stacks.
  int (*poll)(uint64_t deadline_ns);
  // Makes the thread inside a waiting poll return soon (eventfd write). Any thread.
  void (*interrupt)();
  // Waits for the end of it if the waiting poll is taking events from the kernel at this moment.
  void (*barrier)();
  // Whatever the waiting poll had taken by the last barrier is delivered.
  bool (*delivered)();
};

// Set once, when the first descriptor is registered; null before: no polling at all.
extern std::atomic<const Poller*> g_poller;
// The io layer calls this after the first registration, so that a sleeping worker starts polling.
void poller_start(const Poller* poller);
// For who has to know of all events that happened before its call. Inside the runtime, on a task.
// The first delivers those that nobody has taken; false: another thread has taken some and not
// delivered them yet. The second waits until it has; false: it does not soon.
bool drain_events();
bool settle_events();

}  // namespace wisp
