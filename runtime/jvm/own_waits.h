// Waits that the waiting thread itself writes to Flight Recorder: the recorder's field for the
// thread and its stack are those of the thread that commits an event, and there is no other way to
// set them.
#pragma once
#include <jni.h>

namespace wisp {

// `flight`: the class wisp.flight.Flight. Once, by the observer; leaves no exception.
void own_waits_prepare(JNIEnv* env, jclass flight);
// Begins or ends it. By the observer; may be called again with the same word, and should be while
// it is on: a library that was not loaded the last time may be now.
void own_waits_want(JNIEnv* env, bool on);

}  // namespace wisp
