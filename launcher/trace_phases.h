// Where the time of a pool's operations goes: the five phases of Shipilev's fork/join study, from
// the scheduler's events. (wisp bench forkjoin has them from events of the program's own,
// java/bench/.../PoolTrace.java, which knows begin and end of each task of the pool.)
//
// A pool: tasks whose names differ only in the number at the end. An operation: a task outside
// wakes one of the pool while all of it is off, and lasts until a task of the pool has woken that
// submitter and it runs again. In between
//   first hand-off    submit -> the first worker runs
//   ramp-up           -> the last of the participating workers has begun
//   full parallelism  -> the first of them is done (its last slice ends)
//   catch-up          -> the submitter is woken: the result is there
//   result hand-off   -> the submitter runs
// What a worker does without a carrier, on a kernel thread of its own, is not seen.
#pragma once

#include <array>

#include "trace_file.h"

namespace wisp {

constexpr size_t kPhases = 5;
extern const char* const kPhaseNames[kPhases];

struct PoolPhases {
  std::string pool;
  size_t operations = 0;
  // Means over the middle half of the operations by their length: they add up, other than medians,
  // and a rare slow operation does not move them.
  std::array<double, kPhases> us{};
  double workers = 0;
};

// Pools with operations, the most first.
std::vector<PoolPhases> pool_phases(const TraceFile& trace);
// The section of the report; empty if there is nothing to say.
std::string phases_html(const TraceFile& trace);

}  // namespace wisp
