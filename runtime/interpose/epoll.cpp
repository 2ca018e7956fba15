// Waiting on the program's own epoll instances (selectors, event loops). The instance is itself a
// descriptor that becomes readable: io/epoll_wait.cpp registers it with the event pump. What the
// program registers in it, and how, stays between the program and the kernel.
#include <sys/epoll.h>

#include "interpose/descriptor_entry.h"
#include "interpose/masked_wait.h"
#include "io/epoll_wait.h"

using namespace wisp;

WISP_EXPORT int epoll_wait(int epoll, epoll_event* events, int max, int timeout) {
  if (timeout == 0 || !on_task())
    return real::ensure(), real::epoll_wait(epoll, events, max, timeout);
  uint64_t deadline =
      timeout < 0 ? kForever : monotonic_ns() + static_cast<uint64_t>(timeout) * 1000000u;
  return static_cast<int>(answer(io::epoll_wait_until(epoll, events, max, deadline)));
}

WISP_EXPORT int epoll_pwait(int epoll, epoll_event* events, int max, int timeout,
                            const sigset_t* mask) {
  if (mask == nullptr) return epoll_wait(epoll, events, max, timeout);
  real::ensure();
  if (timeout == 0 || !on_task()) return real::epoll_pwait(epoll, events, max, timeout, mask);
  return wait_with_mask(current_task(), mask,
                        [&] { return real::epoll_pwait(epoll, events, max, timeout, mask); });
}

// glibc 2.35; Netty asks for it by name.
WISP_EXPORT int epoll_pwait2(int epoll, epoll_event* events, int max, const timespec* timeout,
                             const sigset_t* mask) {
  real::ensure();
  bool waits = timeout == nullptr || timeout->tv_sec != 0 || timeout->tv_nsec != 0;
  bool bad = timeout != nullptr &&
             (timeout->tv_sec < 0 || timeout->tv_nsec < 0 || timeout->tv_nsec >= 1000000000);
  if (!waits || bad || !on_task() || mask != nullptr) {
    auto call = [&]() -> int {
      if (real::epoll_pwait2 != nullptr)
        return real::epoll_pwait2(epoll, events, max, timeout, mask);
      errno = ENOSYS;
      return -1;
    };
    if (!waits || !on_task()) return call();
    if (mask != nullptr) return wait_with_mask(current_task(), mask, call);
    BlockingRegion region;
    return call();
  }
  uint64_t deadline = timeout != nullptr ? deadline_after(*timeout) : kForever;
  return static_cast<int>(answer(io::epoll_wait_until(epoll, events, max, deadline)));
}
