// Deadlines of parked tasks, one heap per carrier: an intrusive pairing heap, so inserting is O(1),
// removing (the usual end of a timed wait) is cheap and nothing allocates. Not thread-safe: the
// owner (Carrier) holds timer_lock around every call.
#pragma once
#include "platform/compiler.h"

namespace wisp {

struct WispTask;

struct TimerNode {
  uint64_t deadline = 0;  // CLOCK_MONOTONIC ns
  TimerNode* child = nullptr;
  TimerNode* sibling = nullptr;
  TimerNode* prev = nullptr;  // parent if first child, else the left sibling; null for the root
  bool queued = false;
  uint32_t carrier_index = 0;  // whose heap; written under that heap's lock
  WispTask* task = nullptr;
};

class TimerHeap {
 public:
  void insert(TimerNode* node);
  void remove(TimerNode* node);  // node->queued must be true
  TimerNode* first() const { return root_; }
  TimerNode* pop_if_due(uint64_t now_ns);  // null when nothing is due
  bool empty() const { return root_ == nullptr; }

 private:
  static TimerNode* meld(TimerNode* a, TimerNode* b);
  static TimerNode* merge_pairs(TimerNode* first);
  TimerNode* root_ = nullptr;
};

}  // namespace wisp
