// The pairing heap of timer_heap.h. Invariants: a node's deadline is never above its children's;
// `prev` is null exactly for the root and for nodes outside the heap. Nothing here recurses: after
// n inserts the root may have n children, and the caller may be on a small coroutine stack.
//
// Among equal deadlines the older node tends to win: `child` lists run from the newest child to the
// oldest, and every meld below names the older side first. It is a tendency, not a promise.
#include "scheduler/timer_heap.h"

namespace wisp {

// Both are roots without siblings. `a` wins ties.
TimerNode* TimerHeap::meld(TimerNode* a, TimerNode* b) {
  if (b->deadline < a->deadline) {
    TimerNode* t = a;
    a = b;
    b = t;
  }
  b->prev = a;
  b->sibling = a->child;
  if (a->child != nullptr) a->child->prev = b;
  a->child = b;
  return a;
}

// Makes one tree of a sibling list (null for an empty one). Two passes, which is what gives a
// pairing heap its logarithmic amortised cost: melding the list into one tree from left to right
// would not.
TimerNode* TimerHeap::merge_pairs(TimerNode* first) {
  // Left to right: meld neighbours; the results form a stack, linked through `sibling`.
  TimerNode* pairs = nullptr;
  while (first != nullptr) {
    TimerNode* a = first;
    TimerNode* b = a->sibling;
    first = b != nullptr ? b->sibling : nullptr;
    a->sibling = a->prev = nullptr;
    TimerNode* tree = a;
    if (b != nullptr) {
      b->sibling = b->prev = nullptr;
      tree = meld(b, a);
    }
    tree->sibling = pairs;
    pairs = tree;
  }
  // Right to left: the top of the stack is the rightmost pair.
  TimerNode* root = nullptr;
  while (pairs != nullptr) {
    TimerNode* tree = pairs;
    pairs = tree->sibling;
    tree->sibling = nullptr;
    root = root != nullptr ? meld(root, tree) : tree;
  }
  return root;
}

void TimerHeap::insert(TimerNode* node) {
  node->child = node->sibling = node->prev = nullptr;
  node->queued = true;
  root_ = root_ != nullptr ? meld(root_, node) : node;
}

void TimerHeap::remove(TimerNode* node) {
  TimerNode* below = merge_pairs(node->child);
  if (node == root_) {
    root_ = below;
  } else {
    if (node->prev->child == node)  // first child: prev is the parent
      node->prev->child = node->sibling;
    else
      node->prev->sibling = node->sibling;
    if (node->sibling != nullptr) node->sibling->prev = node->prev;
    if (below != nullptr) root_ = meld(root_, below);
  }
  node->child = node->sibling = node->prev = nullptr;
  node->queued = false;
}

TimerNode* TimerHeap::pop_if_due(uint64_t now_ns) {
  TimerNode* node = root_;
  if (node == nullptr || node->deadline > now_ns) return nullptr;
  remove(node);
  return node;
}

}  // namespace wisp
