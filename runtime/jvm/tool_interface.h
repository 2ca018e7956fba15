// The JVM's tool interface (JVMTI), for those parts that ask for it.
#pragma once
#include <jvmti.h>

namespace wisp {

// An environment of one's own, with these capabilities and callbacks; no event is switched on.
// Null: the JVM does not give it. By an attached thread, at any time after the JVM is up.
jvmtiEnv* tool_interface(JavaVM* vm, const jvmtiCapabilities& wanted,
                         const jvmtiEventCallbacks& callbacks);

}  // namespace wisp
