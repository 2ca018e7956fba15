// Was this library preloaded, or loaded later into a running JVM (as an agent)? Only the former can
// be the thread implementation. Told by the order in which the dynamic linker lists its objects:
// what LD_PRELOAD names comes before libc, what dlopen brings comes after. Needs no environment,
// which by then may have been cleaned.
#pragma once

#include <cstddef>

namespace wisp {

// True when a libwisp.so, this one or another copy of it, was loaded before libc.
bool wisp_preloaded();
// The path this library was loaded from, as the dynamic linker knows it.
bool own_library_path(char* path, size_t room);

}  // namespace wisp
