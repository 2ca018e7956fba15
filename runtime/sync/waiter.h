// One wait of one thread, task or kernel thread, on one address. A task has exactly one (a thread
// waits for one thing at a time); a kernel thread keeps its own on its stack.
#pragma once
#include <atomic>

#include "platform/compiler.h"

namespace wisp {

struct WispTask;

enum class WakeReason : uint8_t {
  Unparked,     // somebody called unpark for it
  TimedOut,     // its deadline passed
  Interrupted,  // a signal is pending for this thread: handle it, then decide
  Mismatch,     // it never waited: the value was not the expected one
};

// A plain kernel thread's wait. Written by who has dequeued it (Woken); by the thread itself, in a
// handler (Compares) and back.
enum WakeState : uint32_t {
  kWaiting = 0,
  kWakened = 1,
  kCompares = 2,  // a handler has run: the wait is over by WakeReason::Mismatch, if nothing else
};

struct Waiter {
  Waiter* next = nullptr;
  Waiter* prev = nullptr;
  // Written under the bucket lock of the key; other threads read it first without, to find that
  // lock, and look again under it.
  std::atomic<const void*> key{nullptr};
  WispTask* task = nullptr;                  // null: a kernel thread waits on `wake`
  std::atomic<uint32_t> wake{0};             // kernel threads only, a futex: WakeState
  std::atomic<bool> queued{false};           // in a bucket; written under the bucket lock
  WakeReason reason = WakeReason::Unparked;  // written by who dequeues it
  uint32_t tag = 0;                          // caller's own: futex bitset, rwlock reader/writer
};

}  // namespace wisp
