// Reads the scheduler's state into the records of statistics_layout.h. Takes no lock and stops
// nobody: every word is read once, relaxed, and may be some moments older than its neighbour.
// Carriers, workers and tasks are never freed, so any pointer found is readable.
#pragma once
#include <stddef.h>

#include "observe/statistics_layout.h"

namespace wisp::stats {

// Enough for a snapshot now. (Tasks born meanwhile may be left out; tasks_alive counts them.)
size_t snapshot_room();
// Writes a Snapshot and its sections at `to`; returns its size, 0 if `room` is too small for any.
size_t collect(void* to, size_t room);

}  // namespace wisp::stats
