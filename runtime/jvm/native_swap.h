// Native methods of the JDK, exchanged for ours which write what a thread waited for
// (own_events.h).
#pragma once
#include <jvmti.h>

namespace wisp {

// Once, by the observer; `tools` is used to find Unsafe.park. False, without an exception: it
// cannot be done here.
bool native_swap_prepare(JNIEnv* env, jvmtiEnv* tools);
// Puts ours there or takes them away. By the observer; may be called again with the same word, and
// should be while it is on: a library that was not loaded the last time may be now.
void native_swap(JNIEnv* env, bool ours);

}  // namespace wisp
