// Randomised scheduling for soak tests (SchedulerConfig::chaos_seed, WISP_CHAOS=seed): at the
// points where the scheduler decides, another decision is taken, or a delay put in. Everything it
// does could also happen by itself, so a program that misbehaves under chaos has found a bug of
// ours or its own. One sequence of numbers for the whole process: the seed gives the same
// decisions, but the order in which kernel threads ask for them is the kernel's. Off (the default)
// each point costs a load and a predicted branch.
#pragma once
#include "platform/compiler.h"

namespace wisp {

struct Carrier;
struct WispTask;

extern uint32_t g_chaos;  // the seed; 0 = off. Written once, before the first worker.
inline bool chaos() { return WISP_UNLIKELY(g_chaos != 0); }

// --- only while chaos()
bool chaos_one_in(uint32_t n);
// ready() instead of the next slot: true if the task has been put somewhere else.
bool chaos_ready(Carrier* c, WispTask* task);
// Before pick_next: shuffles what is runnable; returns the task to run now, or null for the usual.
WispTask* chaos_pick(Carrier* c);
// The calling task enters the runtime (depth 1) or comes back from a wait: sometimes others first.
void chaos_yield(WispTask* self);

}  // namespace wisp
