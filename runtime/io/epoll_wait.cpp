// See epoll_wait.h. The instance is registered with the pump as any descriptor (epolls nest): an
// event that becomes ready in it is an edge of the instance. After each edge the program's call is
// made without waiting, which settles which events there are and which waiter gets them.
#include "io/epoll_wait.h"

#include "io/wait.h"
#include "platform/kernel.h"

namespace wisp::io {

static long look(int epoll, epoll_event* events, int max, int timeout) {
  return kernel::call(SYS_epoll_pwait, epoll, reinterpret_cast<long>(events), max, timeout, 0, 8);
}

long epoll_wait_until(int epoll, epoll_event* events, int max, uint64_t deadline) {
  Descriptor* d = descriptor_get(epoll);
  WakeDuty duty;
  for (;;) {
    uint32_t life = 0, seen = 0;
    if (d != nullptr) {
      life = life_of(d->state.load(std::memory_order_acquire));
      seen = word_value(d->in);
    }
    long r = look(epoll, events, max, 0);
    if (r != 0) return r;
    Wait w = d != nullptr ? wait_for(epoll, d, life, Direction::In, seen, deadline, &duty)
                          : Wait::Refused;
    switch (w) {
      case Wait::TimedOut:
        return look(epoll, events, max, 0);  // as the kernel: a last look
      case Wait::Interrupted:
      case Wait::Restart:  // never restarted
        return -EINTR;
      case Wait::Refused: {
        uint64_t now = monotonic_ns();
        uint64_t ms = deadline > now ? (deadline - now + 999999) / 1000000 : 0;
        BlockingRegion region;
        return look(epoll, events, max, deadline == kForever ? -1 : static_cast<int>(ms));
      }
      default:
        break;
    }
  }
}

}  // namespace wisp::io
