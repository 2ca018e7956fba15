// Waiting for several descriptors, or for both directions of one: a node per descriptor is chained
// to its record, and the event pump wakes the owner of each node. The nodes live in the waiting
// call. Also the calls built on it: poll and select.
#pragma once
#include <poll.h>
#include <sys/select.h>

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

// Wakes the owners of d's nodes that wait for something of `what` (PollInterest). Not of others: a
// descriptor that is not the process's own is registered anew for each wait, each time makes an
// event of all that it is ready for, and would be looked at without end. Needs a RuntimeEntry.
void poll_nodes_wake(Descriptor* d, uint8_t what);

// poll(2) with a timeout of 0, straight: its answer, or -errno.
long poll_now(pollfd* fds, nfds_t n);
// What poll's and epoll's events ask for, as PollInterest.
uint8_t poll_interest(uint32_t events);
// A descriptor's chain of nodes: d->pollers, changed and gone through under this lock.
SpinLock& poll_chain_lock(const Descriptor* d);
void poll_chain_add(PollNode* node);
void poll_chain_remove(PollNode* node);

// poll(2) on the calling task, outside any RuntimeEntry. It looks first: callers need not.
// deadline: kForever = none. Result as the system call's, or -errno.
int poll_until(pollfd* fds, nfds_t n, uint64_t deadline);

// select(2) likewise; the sets are changed only when the result is >= 0.
int select_until(int n, fd_set* in, fd_set* out, fd_set* except, uint64_t deadline);

}  // namespace wisp::io
