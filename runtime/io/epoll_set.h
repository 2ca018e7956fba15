// The program's epoll instances in user space. What is registered in one is a node in the chain of
// its descriptor (io/poll_chain.h); the event pump, in which the descriptor is registered, marks
// it ready. So a selector that adds and removes its sockets with each request, as
// the JDK's does for Tomcat, makes no system call for it, and none to learn what is ready.
//
// The kernel's instance stays: it holds what the pump cannot serve (descriptors that we did not see
// created, or that have duplicates; EPOLLEXCLUSIVE and its like), beside the rest or, once somebody
// looks at the instance that only the kernel can answer, or the process forks, all of it
// (epoll_surrender). The latter is for the rest of that instance's life.
//
// Differences from the kernel's: /proc/self/fdinfo does not list what is registered here; a program
// that is executed with the instance finds it empty; events of a descriptor that was closed while a
// child of fork still has it end with the close, in instances made after the fork.
#pragma once
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include "io/poll_chain.h"

namespace wisp::io {

// All instances stay the kernel's. Set before there are tasks, or by epoll_leave_to_kernel.
extern std::atomic<bool> g_epoll_in_kernel;

// epoll_ctl(2). Any thread, outside the runtime. 0 or -errno.
long epoll_control(int epoll, int operation, int fd, epoll_event* event);

enum class Look {
  Told,     // what the pump has told; the rest comes with a wait
  Exactly,  // all that is ready: a timeout of 0, the end of a wait; on tasks only
};
// What is ready, without a wait: a count, 0, or -errno. d: the record of `epoll`, or null. Outside
// the runtime.
long epoll_look(int epoll, Descriptor* d, epoll_event* events, int max, Look how);

// From now on all of it is the kernel's: a thread that is no task waits in it, it is duplicated,
// polled, or put into another instance. Any thread, any descriptor.
void epoll_surrender(int epoll);
// The same for those of them that may be instances.
void epoll_surrender_polled(pollfd* fds, nfds_t n);
void epoll_surrender_selected(int n, const fd_set* in, const fd_set* out, const fd_set* except);
// Of all instances, those without entries too: before a fork. The child has them in common with us.
void epoll_surrender_all();
// And of those that are made later: the program has an io_uring, through which it may change them
// unseen (IORING_OP_EPOLL_CTL, as libuv does).
void epoll_leave_to_kernel();

// --- for the descriptor table and the pump; need a RuntimeEntry
// Something that the node waits for has happened. Under the lock of its chain.
void epoll_item_ready(PollNode* node);
// That life of d has ended, or is about to: what was registered in it is gone.
void epoll_items_end(Descriptor* d, uint32_t life);
// d is about to be in that part of the pump.
void epoll_items_part(Descriptor* d, uint32_t part);
// d's file gets a duplicate: its events are the kernel's business from now on.
void epoll_items_surrender(Descriptor* d);
// The life of the instance d has ended.
void epoll_set_end(Descriptor* d);

}  // namespace wisp::io
