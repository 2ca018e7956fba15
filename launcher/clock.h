// The command's own waiting and measuring of time, in seconds.
#pragma once

#include <time.h>

namespace wisp {

inline double monotonic_seconds() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

// Less, when a signal comes.
inline void sleep_for(double seconds) {
  auto whole = static_cast<time_t>(seconds);
  timespec t{whole, static_cast<long>((seconds - static_cast<double>(whole)) * 1e9)};
  nanosleep(&t, nullptr);
}

}  // namespace wisp
