// The event pump: epoll instances, one for each carrier (scheduler/poller.h), in one of
// which every descriptor that a task has waited for is registered, edge-triggered
// (registration.cpp). The scheduler calls it (scheduler/poller.h).
#pragma once
#include <stdint.h>

#include "io/descriptor.h"
#include "io/wait.h"
#include "scheduler/poller.h"

namespace wisp::io {

// Registers fd in the life `life` of its record, and starts the pump on the first call.
// Ready: a registration, ours or another's, was noted in that life, so its end moves the words.
// Ended: that life is over; it may have ended without moving anything, and who parked now would not
// be woken. Refused: the kernel would not (not pollable, no memory, no descriptors left): the
// caller does without. `verify`: registered already, but maybe not this very file: make sure.
// `part`: of the pump, unless it is registered already.
Wait pump_register(int fd, Descriptor* d, uint32_t life, bool verify, uint32_t part = kAnyPart);
// A task is about to wait for one that is registered and its own (kOwn): if it is in another part
// than it should be, and has been at so many waits in a row (sooner if its partner is there,
// partners.h), it gets there: for the price of two system calls, and of a worker woken for the room
// to write that the second one reports. Outside the runtime.
constexpr uint32_t kStrays = 16;
void pump_follow(int fd, Descriptor* d, uint32_t life);
// The two halves of it. Where it belongs, if it has been elsewhere for so long (counted here), else
// kAnyPart: on a task. And the move: outside the runtime.
uint32_t pump_stray(int fd, Descriptor* d);
void pump_move(int fd, Descriptor* d, uint32_t life, uint32_t part);
// Whether any descriptor has moved, or has been taken out, since this was made: for who has to know
// of all events that happened before its call. Those of one that moves are in neither part for a
// while, and then in one that has been looked at already. Made when none is on its way. Inside the
// runtime, without locks.
class MovesWatch {
 public:
  MovesWatch();
  bool none() const;

 private:
  uint32_t begun_;
};
// Before a wait for room to write: its registration, made or to come, has to ask for it. Outside
// the runtime.
void pump_ask_out(int fd, Descriptor* d, uint32_t life);
// Takes it out of the pump until somebody waits for it again. For the pump, after so many events in
// a row that nobody waited for, half of them at least without a wait in between. (Beyond that, few
// at once: those of the threads that look.)
constexpr uint8_t kVain = 32;
void pump_retire(int fd, Descriptor* d, uint32_t life);
inline void pump_not_nobodys(Descriptor* d) {
  d->marks.fetch_and(static_cast<uint8_t>(~kNobodysEvents), std::memory_order_relaxed);
}
// Somebody waits. Not counted at each wait: many an event comes for a task that runs. relaxed, as
// above: a measure.
inline void pump_waited_for(Descriptor* d) {
  if (WISP_UNLIKELY((d->marks.load(std::memory_order_relaxed) & kNobodysEvents) >= kVain / 2))
    pump_not_nobodys(d);
}
// SO_RCVTIMEO or SO_SNDTIMEO in ns, 0 = none. `known`: what the record says.
uint64_t limit_of(int fd, int option, const std::atomic<uint64_t>& known);
// Takes fd's present file out. Errors are of no interest.
void pump_remove(int fd, const Descriptor* d);
// Whoever waits in the pump leaves the kernel and comes again. For after the close of a descriptor
// that is in an epoll instance of the program's, which may be registered here itself. To learn what
// is ready in that one the kernel looks at its members, and holds each one's file meanwhile. If
// that is closed just then, the look's is the last reference, and the file is released when the
// looking thread returns to the program (Linux since 4efaa5acf0a1, 2024: fs/eventpoll.c,
// ep_item_poll; fput): with nothing to report that thread sleeps on, the connection stays open, and
// its peer waits for an end that does not come. Any thread.
void pump_turn_out();
// Events of a carrier's ring go to ring_reap(index).
bool pump_add_ring(int fd, uint32_t index);
// True for the descriptors of the runtime itself, or if one of them is in [first, last]: the
// program must not close them.
bool runtime_owns(int first, int last);
inline bool runtime_owns(int fd) { return runtime_owns(fd, fd); }

// --- for registration.cpp
// Epoll data with a life that no descriptor reaches, beside a ring's index.
constexpr uint64_t kPumpRing = ~0ull << 32;
// Starts the pump on the first call; false: the kernel would not.
bool pump_start();
// The epoll instance of that part, once it is started.
int pump_instance(uint32_t part);
enum class Counted { Registration, Move, Retired };
void pump_count(Counted what);

// For tests and statistics.
struct PumpCounts {
  uint64_t polls, events, stale, registrations, moves, turned_out, retired;
};
PumpCounts pump_counts();

}  // namespace wisp::io
