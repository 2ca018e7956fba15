// Asks the black and white lists about one Java thread.
#pragma once
#include <jni.h>

namespace wisp {

// Whether this java.lang.Thread, about to be started, shall become a task. Uses JNI only when there
// are rules; leaves no exception pending.
bool java_thread_converts(JNIEnv* env, jobject thread);

}  // namespace wisp
