// Deadlines of parked tasks, one heap per carrier: intrusive, so nothing allocates. Inserting and
// removing (the usual end of a timed wait) are cheap, and no single operation is long, however many
// timers are pending: see timer_heap.cpp. Not thread-safe: the owner (Carrier) holds timer_lock
// around every call.
#pragma once
#include "platform/compiler.h"

namespace wisp {

struct WispTask;

struct TimerNode {
  uint64_t deadline = 0;  // CLOCK_MONOTONIC ns
  TimerNode* child = nullptr;
  TimerNode* sibling = nullptr;
  TimerNode* prev = nullptr;  // parent if first child, else the left sibling; null for a root
  bool queued = false;
  uint32_t carrier_index = 0;  // whose heap; written under that heap's lock
  WispTask* task = nullptr;
};

class TimerHeap {
 public:
  static constexpr uint32_t kTrees = 32;
  static constexpr uint32_t kFlat = 64;

  void insert(TimerNode* node);
  void remove(TimerNode* node);  // node->queued must be true
  TimerNode* first() const { return first_; }
  TimerNode* pop_if_due(uint64_t now_ns);  // null when nothing is due
  bool empty() const { return first_ == nullptr; }
  const TimerNode* tree(uint32_t index) const { return trees_[index]; }  // for tests

 private:
  static TimerNode* meld(TimerNode* a, TimerNode* b);
  static TimerNode* merge_pairs(TimerNode* first);
  void find_first();

  TimerNode* first_ = nullptr;  // the earliest of the roots
  uint32_t fresh_ = 0;          // insertions since trees_[0] last moved on
  uint32_t present_ = 0;        // bit i: trees_[i] is there
  TimerNode* trees_[kTrees] = {};
};

}  // namespace wisp
