// An event of the runtime's log as the words that wisp.flight.Flight reads.
#pragma once
#include <jni.h>

#include "observe/wait_names.h"
#include "scheduler/event_log.h"

namespace wisp {

constexpr uint32_t kFlightWords = 12;

// `names` tells descriptors from locks. Any thread.
void flight_words(jlong* words, const LogEvent& event, const stats::WaitNames& names);

}  // namespace wisp
