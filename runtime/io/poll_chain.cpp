// See poll_chain.h. Memory order: poll_wait.cpp for the calls, epoll_item.h for instances.
// Lock order: a chain's lock before a parking-lot bucket.
#include "io/poll_chain.h"

#include <poll.h>

#include "io/epoll_set.h"
#include "sync/parking_lot.h"

namespace wisp::io {

constexpr uint32_t kLocks = 64;
static struct alignas(kCacheLine) ChainLock { SpinLock lock; } g_locks[kLocks];

constexpr uint32_t kInEvents = POLLIN | POLLPRI | POLLRDNORM | POLLRDBAND | POLLRDHUP;
constexpr uint32_t kOutEvents = POLLOUT | POLLWRNORM | POLLWRBAND;

uint8_t poll_interest(uint32_t events) {
  return static_cast<uint8_t>(((events & kInEvents) != 0 ? kPollIn : 0) |
                              ((events & kOutEvents) != 0 ? kPollOut : 0));
}

SpinLock& poll_chain_lock(const Descriptor* d) {
  return g_locks[(reinterpret_cast<uintptr_t>(d) / sizeof(Descriptor)) % kLocks].lock;
}

void poll_chain_add(PollNode* node) {
  PollNode* head = node->d->pollers.load(std::memory_order_relaxed);
  node->prev = nullptr;
  node->next = head;
  if (head != nullptr) head->prev = node;
  // relaxed: the fence after the last one publishes.
  node->d->pollers.store(node, std::memory_order_relaxed);
}

void poll_chain_remove(PollNode* node) {
  if (node->next != nullptr) node->next->prev = node->prev;
  if (node->prev != nullptr)
    node->prev->next = node->next;
  else
    node->d->pollers.store(node->next, std::memory_order_relaxed);
}

void poll_nodes_wake(Descriptor* d, uint8_t what) {
  SpinGuard guard(poll_chain_lock(d));
  for (PollNode* node = d->pollers.load(std::memory_order_relaxed); node != nullptr;
       node = node->next) {
    if ((node->interest & what) == 0) continue;
    if (node->fired == nullptr) {
      epoll_item_ready(node);
      continue;
    }
    node->told |= what;
    // The owner takes its nodes away under this lock before it leaves: the word is there.
    node->fired->store(1, std::memory_order_relaxed);
    ParkingLot::unpark(node->fired, ~0u);
  }
}

}  // namespace wisp::io
