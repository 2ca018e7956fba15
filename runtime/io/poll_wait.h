// Waiting for several descriptors, or for both directions of one: a node per descriptor is chained
// to its record, and the event pump wakes the owner of each node. The nodes live in the waiting
// call. Also the calls built on it: poll and select.
#pragma once
#include <poll.h>
#include <sys/select.h>

#include "io/descriptor.h"

namespace wisp::io {

struct PollNode {
  PollNode* next;
  PollNode* prev;
  Descriptor* d;
  std::atomic<uint32_t>* fired;  // the owner's word: 0 until something happened
};

// Wakes the owners of all nodes of d. Needs a RuntimeEntry.
void poll_nodes_wake(Descriptor* d);

// poll(2) on the calling task, after a look that found nothing is not needed: it looks itself.
// deadline: kForever = none. Result as the system call's, or -errno.
int poll_until(pollfd* fds, nfds_t n, uint64_t deadline);

// select(2) likewise; the sets are changed only when the result is >= 0.
int select_until(int n, fd_set* in, fd_set* out, fd_set* except, uint64_t deadline);

}  // namespace wisp::io
