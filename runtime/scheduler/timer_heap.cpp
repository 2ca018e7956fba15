// A forest of pairing heaps. Invariants: a node's deadline is never above its children's; `prev` is
// null exactly for roots and for nodes outside the heap. Nothing here recurses: the caller may be
// on a small coroutine stack.
//
// One pairing heap would make every insertion a child of its root, and the first expiry after a
// million of them would walk a list of a million children (12.8 ms, under the carrier's lock, were
// measured). Here trees_[0] takes in kFlat of them and moves on; the others count such trees in
// binary: two of a kind become one of the next. So a root has some kFlat children and as many more
// as the number of timers has a logarithm. What is removed is replaced by its own children where it
// was, so that removals do not make the lists longer either.
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
  TimerNode* tree = trees_[0] != nullptr ? meld(trees_[0], node) : node;
  uint32_t i = 0;
  if (++fresh_ == kFlat) {
    fresh_ = 0;
    present_ &= ~1u;
    trees_[0] = nullptr;
    // The last tree takes in whatever comes.
    for (i = 1; (present_ >> i & 1) != 0; ++i) {
      tree = meld(trees_[i], tree);
      if (i == kTrees - 1) break;
      trees_[i] = nullptr;
      present_ &= ~(1u << i);
    }
  }
  trees_[i] = tree;
  present_ |= 1u << i;
  // first_ is still a root: only an earlier node could have won against it, or an equally early
  // root of a larger tree, and among equals first_ is the one in the largest.
  if (first_ == nullptr || node->deadline < first_->deadline) first_ = node;
}

void TimerHeap::remove(TimerNode* node) {
  TimerNode* below = merge_pairs(node->child);
  if (node->prev == nullptr) {
    uint32_t i = 0;
    while (trees_[i] != node) ++i;
    trees_[i] = below;
    if (below == nullptr) present_ &= ~(1u << i);
    if (node == first_) find_first();
  } else {
    TimerNode* place = below != nullptr ? below : node->sibling;
    if (below != nullptr) {
      below->sibling = node->sibling;
      if (node->sibling != nullptr) node->sibling->prev = below;
    }
    if (place != nullptr) place->prev = node->prev;
    if (node->prev->child == node)  // first child: prev is the parent
      node->prev->child = place;
    else
      node->prev->sibling = place;
  }
  node->child = node->sibling = node->prev = nullptr;
  node->queued = false;
}

// From the largest tree down: among equals the oldest is there.
void TimerHeap::find_first() {
  first_ = nullptr;
  for (uint32_t left = present_; left != 0;) {
    auto i = static_cast<uint32_t>(31 - __builtin_clz(left));
    left &= ~(1u << i);
    if (first_ == nullptr || trees_[i]->deadline < first_->deadline) first_ = trees_[i];
  }
}

TimerNode* TimerHeap::pop_if_due(uint64_t now_ns) {
  TimerNode* node = first_;
  if (node == nullptr || node->deadline > now_ns) return nullptr;
  remove(node);
  return node;
}

}  // namespace wisp
