// What Wisp needs of the processor, the kernel and the C library.
#pragma once

namespace wisp {

// Null when all is there, else the reason in words for a user (static storage). Also prepares what
// it checks: membarrier is registered, threads before Wisp are found (sync/early.h), the context
// switch chosen. Once, from the constructor.
const char* why_not();

// Whose definition of a function of ours other libraries find; null when it is this library's own.
const void* who_else_defines(const char* function);

// Where another library's pthread_create is what others find: why that keeps Wisp off, in words for
// a user. Null where this library was not preloaded, but loaded by dlopen.
const char* threads_before_ours();

}  // namespace wisp
