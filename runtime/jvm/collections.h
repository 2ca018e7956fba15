// Garbage collections in the trace (scheduler/trace.h), from the JVM's tool interface. Nothing is
// asked of it, and nothing in the JVM changes, before the first trace.
#pragma once
#include <jni.h>

namespace wisp {

// Begins or ends to write them. By one thread, which is attached to the JVM; it may be called again
// with the same word.
void trace_collections(JavaVM* vm, bool on);

}  // namespace wisp
