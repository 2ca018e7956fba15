// Switching the trace of scheduling events (scheduler/trace.h) on and off, and its shared memory.
// Called by one thread at a time: start's, then the publisher's.
#pragma once
#include <stdint.h>

#include "observe/statistics_layout.h"

namespace wisp::stats {

// Rings of so many bytes in all, kMinTraceBytes to kMaxTraceBytes; what an earlier trace has left
// in them is gone. False: no memory, no memfd, or a size out of range.
bool trace_on(uint64_t bytes);
// The rings can be read until they are dropped or used again.
void trace_off();
// Off, and the memory back to the kernel.
void trace_drop();
bool trace_memory_held();

// Told when a trace begins (true) or ends, by the thread that switched it. Set before the first.
extern void (*g_trace_switched)(bool on);

// What a reader's request asks for (PageHeader::trace_wanted, in KiB), and the answer to it.
TraceState trace_serve(uint32_t wanted_kib);
// By option: until the end, whatever readers ask for.
void trace_by_option(uint64_t bytes);
// No reader has shown itself for a while: off, unless it is on by option.
void trace_expire();

}  // namespace wisp::stats
