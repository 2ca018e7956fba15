// A descriptor's chain of nodes: who waits for it beside others (poll_wait.h), or for both its
// directions, or has it in an epoll instance (epoll_item.h). The event pump wakes the owner of each
// node. A node of poll_wait lives in the waiting call, one of an instance in its set.
#pragma once
#include "io/descriptor.h"
#include "platform/spin_lock.h"

namespace wisp::io {

// What a node waits for, what has happened. An error, a hang-up or the end of the file is for all.
enum PollInterest : uint8_t { kPollIn = 1, kPollOut = 2, kPollAll = 4 };

struct PollNode {
  PollNode* next;
  PollNode* prev;
  Descriptor* d;
  std::atomic<uint32_t>* fired;  // the owner's word: 0 until something happened; null: io/epoll_set
  uint32_t life;                 // of d, in which it waits
  uint8_t interest;              // PollInterest
  uint8_t told;                  // what of it an event has said; under the chain's lock
  uint32_t index;                // the owner's own
};

// What poll's and epoll's events ask for, as PollInterest.
uint8_t poll_interest(uint32_t events);

// d->pollers is changed and gone through under this lock. Several descriptors share one.
SpinLock& poll_chain_lock(const Descriptor* d);
// Under the lock of node->d's chain.
void poll_chain_add(PollNode* node);
void poll_chain_remove(PollNode* node);

// Wakes the owners of d's nodes that wait for something of `what` (PollInterest). Not of others: a
// descriptor that is not the process's own is registered anew for each wait, each time makes an
// event of all that it is ready for, and would be looked at without end. Needs a RuntimeEntry.
void poll_nodes_wake(Descriptor* d, uint8_t what);

}  // namespace wisp::io
