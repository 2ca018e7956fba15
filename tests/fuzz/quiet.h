// What tells whether the rest of the machine has had its turn.
#pragma once

namespace fuzz {

void begin_canaries();
// When it returns, who was woken before has run.
void ask_canaries();
void begin_to_count_stops();
// Whether the process has been stopped or frozen since it began: the kernel ends some calls with
// EINTR then (signal(7)), so such a run says nothing.
bool was_stopped();

}  // namespace fuzz
