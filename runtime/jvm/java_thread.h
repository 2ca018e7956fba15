// Asks the black and white lists about one Java thread.
#pragma once
#include <jni.h>
#include <stdint.h>

#include <atomic>

namespace wisp {

// Whether this java.lang.Thread, about to be started, shall become a task. Uses JNI only when there
// are rules; leaves no exception pending.
bool java_thread_converts(JNIEnv* env, jobject thread);

// Called when a Java thread is about to be started, by who starts it; null: nobody asks.
extern std::atomic<void (*)(JNIEnv*)> g_java_thread_starts;

// Thread.getId(), from its field, which has had this name on every JDK; 0 = not found.
uint64_t java_thread_id(JNIEnv* env, jobject thread);

}  // namespace wisp
