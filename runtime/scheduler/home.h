// Home: the carrier on which a task ran last. In its processor's caches is what the task works
// with, its stack, its buffers, its connection; more than what its waker passes on to it. So whom a
// descriptor or another task's wake-up makes ready goes there, as Linux sends a thread to the
// processor on which it ran last, instead of staying where it was woken until somebody takes it
// away. On 16 processors, Tomcat with 64 connections and 5 round trips for each request: 4.3 of 6.1
// dispatches were on another carrier than the one before, with this 0.9; what that brings is in
// docs/performance-cores.md.
#pragma once
#include "scheduler/carrier.h"

namespace wisp {

// What to do with a home that is idle.
enum class IdleHome : uint8_t { Wake, Leave };

// True: the task, which is ready and in no queue, is in its home's inbox, and somebody comes to it.
// False: it stays with the caller. That is so if the caller runs `here`, on that home; if it waits
// for its partner, which decides where both are (io/partners.h); if what queues there would keep it
// for long; or if that is idle, and not wanted (width.h) or to be left. Inside the runtime;
// here == nullptr: without a carrier.
bool send_home(WispTask* task, Carrier* here, IdleHome idle);

// Its slices are so long that its own data outweighs the message that it is woken for. (Whose are
// brief run next where they are woken, with the message in the caches.)
bool outweighs_message(const WispTask* task);

// Few brief tasks queue there, and it moves: they will soon have their turn, and warm.
bool comes_to_them(const Carrier* c, uint64_t now);

}  // namespace wisp
