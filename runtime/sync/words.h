// How the sync layer reaches its state inside libc's own object types, and who "the caller" is to
// a lock that knows its owner. The state lives in the caller's memory because static initialisers
// (all zero) must work without a call of ours.
#pragma once
#include <errno.h>
#include <time.h>

#include <atomic>

#include "platform/clock.h"
#include "platform/compiler.h"
#include "scheduler/scheduler.h"

namespace wisp {

template <typename T>
inline std::atomic<T>& word_at(void* object, size_t offset) {
  static_assert(sizeof(std::atomic<T>) == sizeof(T));
  return *reinterpret_cast<std::atomic<T>*>(static_cast<char*>(object) + offset);
}

// The tid that gettid() gives the calling thread, task or kernel thread; what __owner fields hold.
uint32_t caller_tid();
// In a forked child, whose thread has another one.
void caller_forget_tid();

inline bool valid_nsec(const timespec& t) {
  return static_cast<unsigned long>(t.tv_nsec) < 1000000000ul;
}
// The clocks that POSIX lock functions with an absolute time take.
inline bool valid_lock_clock(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
}
// A deadline before 1970 is in the past like any other: never "no deadline".
inline uint64_t lock_deadline(clockid_t clock, const timespec& abstime) {
  return abstime.tv_sec < 0 ? 1 : monotonic_deadline(clock, abstime);
}

}  // namespace wisp
