// The event pump: epoll instances, one for each group of carriers (scheduler/poller.h), in one of
// which every descriptor that a task has waited for is registered once per life, edge-triggered,
// both directions. The scheduler calls it (poller.h);
// io/ registers with it.
#pragma once
#include <stdint.h>

#include "io/descriptor.h"
#include "io/wait.h"

namespace wisp::io {

// Registers fd in the life `life` of its record, and starts the pump on the first call.
// Ready: a registration, ours or another's, was noted in that life, so its end moves the words.
// Ended: that life is over; it may have ended without moving anything, and who parked now would not
// be woken. Refused: the kernel would not (not pollable, no memory, no descriptors left): the
// caller does without. `verify`: registered already, but maybe not this very file: make sure.
// `part`: of the pump, unless it is registered already.
Wait pump_register(int fd, Descriptor* d, uint32_t life, bool verify, uint32_t part = kAnyPart);
// SO_RCVTIMEO or SO_SNDTIMEO in ns, 0 = none.
uint64_t socket_timeout(int fd, int option);
// Takes fd's present file out. Errors are of no interest.
void pump_remove(int fd, const Descriptor* d);
// Events of a carrier's ring go to ring_reap(index).
bool pump_add_ring(int fd, uint32_t index);
// True for the descriptors of the runtime itself, or if one of them is in [first, last]: the
// program must not close them.
bool runtime_owns(int first, int last);
inline bool runtime_owns(int fd) { return runtime_owns(fd, fd); }

// For tests and statistics.
struct PumpCounts {
  uint64_t polls, events, stale, registrations;
};
PumpCounts pump_counts();

}  // namespace wisp::io
