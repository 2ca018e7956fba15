// The runtime's observer: a kernel thread that is attached to the JVM, so that it may ask threads
// for their Java stacks and write events of Flight Recorder. It exists only when something wants
// it: the stall finder's option, or a JVM that has started its Flight Recorder.
#pragma once
#include <jni.h>
#include <stdint.h>

#include "observe/stalls.h"

namespace wisp {

// Watches for the JVM's own threads that say that it is up, or that its Flight Recorder is. At
// start, once.
void observer_prepare();
// Wakes the observer: there is something to do. Any thread.
void observer_kick();

// --- flight.cpp, called by the observer only
// Loads and registers the events. False: this JVM has no Flight Recorder, or not one for us.
bool flight_load(JNIEnv* env);
// Writes what has happened; the milliseconds until the next turn, 0 = until told.
long flight_turn(JNIEnv* env);
// 0: no recording wants stalls.
uint64_t flight_stall_ns();
void flight_stall(JNIEnv* env, const stats::Stall& stall, jstring stack, bool in_native);

}  // namespace wisp
