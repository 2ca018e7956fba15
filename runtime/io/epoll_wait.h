// epoll_wait(2) on the calling task, for an epoll instance of the program's.
#pragma once
#include <stdint.h>
#include <sys/epoll.h>

namespace wisp::io {

// deadline: kForever = none. A count or -errno.
long epoll_wait_until(int epoll, epoll_event* events, int max, uint64_t deadline);

}  // namespace wisp::io
