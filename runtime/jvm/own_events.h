// Events that the thread they are about writes to Flight Recorder itself: the recorder's field for
// the thread and its stack are those of the thread that commits an event, and there is no other way
// to set them.
#pragma once
#include <jni.h>

#include "scheduler/event_log.h"

namespace wisp {

// `flight`: the class wisp.flight.Flight. Once, by the observer; leaves no exception.
void own_events_prepare(JNIEnv* env, jclass flight);
// Begins or ends it, for waits and for starts and ends of tasks. By the observer, at each look at
// the settings. False: not possible in this JVM.
bool own_events_want(JNIEnv* env, bool waits, bool lives);

// Where a thread waited, as in wisp.flight.Flight.
enum class WaitPlace : uint32_t {
  kPark,
  kSleep,
  kWait,
  kPoll,
  kEventPoll,
  kSocketRead,
  kAccept,
  kMonitor,
  kUnknown  // out of the log: elsewhere, and earlier
};
// Whether it is a virtual thread that this thread carries now. From JDK 24 on one that waits in
// Object.wait leaves it inside the native method, which then returns to nobody's frames: no Java
// may be called there. In a place where Java may be called.
bool own_events_on_virtual(JNIEnv* env);
// Writes the parks of the scope, which is closed, and what else the log holds about this thread. On
// the thread that has waited, in native code that may call Java; an exception that is pending stays
// so.
void own_wait_write(JNIEnv* env, const LogScope& scope, WaitPlace place);

}  // namespace wisp
