// Waiting for several descriptors, or for both directions of one: a node per descriptor is chained
// to its record (poll_chain.h). The nodes live in the waiting call. Also the calls built on it:
// poll and select.
#pragma once
#include <poll.h>
#include <stdint.h>
#include <sys/select.h>

namespace wisp::io {

// poll(2) with a timeout of 0, straight: its answer, or -errno.
long poll_now(pollfd* fds, nfds_t n);

// poll(2) on the calling task, outside any RuntimeEntry. It looks first: callers need not.
// deadline: kForever = none. Result as the system call's, or -errno.
int poll_until(pollfd* fds, nfds_t n, uint64_t deadline);

// select(2) likewise; the sets are changed only when the result is >= 0.
int select_until(int n, fd_set* in, fd_set* out, fd_set* except, uint64_t deadline);

}  // namespace wisp::io
