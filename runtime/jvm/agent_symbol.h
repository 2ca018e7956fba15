// The name by which a JVM finds this library as an agent, and which all agents have.
#pragma once

namespace wisp {

// Preloaded we stand before every agent, so one that refers to its own Agent_OnLoad (HPROF does; an
// Agent_OnAttach that calls it) would get ours: takes ours out of the dynamic linker's sight.
// HotSpot finds Agent_OnLoad_wisp, for it asks for an agent that is linked to the program first.
// With one thread.
void agent_symbol_hide();

}  // namespace wisp
