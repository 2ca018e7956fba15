// See epoll_wait.h. The waiter parks on the word of the instance's descriptor. The pump moves it
// for what is kept in user space (epoll_set.h), and for what is the kernel's: there the instance is
// registered with the pump as any descriptor (epolls nest). After each move a look settles which
// events there are and which waiter gets them.
#include "io/epoll_wait.h"

#include "io/epoll_set.h"
#include "io/wait.h"
#include "platform/kernel.h"

namespace wisp::io {

long epoll_wait_until(int epoll, epoll_event* events, int max, uint64_t deadline) {
  Descriptor* d = descriptor_get(epoll);
  WakeDuty duty;
  HandlersSince handlers;
  for (;;) {
    uint32_t life = 0, seen = 0;
    if (d != nullptr) {
      life = life_of(d->state.load(std::memory_order_acquire));
      seen = word_value(d->in);
    }
    long r = epoll_look(epoll, d, events, max, Look::Told);
    if (r != 0) return r;
    Wait w = d != nullptr
                 ? wait_for(epoll, d, life, Direction::In, seen, deadline, &handlers, &duty)
                 : Wait::Refused;
    switch (w) {
      case Wait::TimedOut:
        return epoll_look(epoll, d, events, max, Look::Exactly);  // as the kernel: a last look
      case Wait::Interrupted:
      case Wait::Restart:  // never restarted
        return -EINTR;
      case Wait::Refused: {
        uint64_t now = monotonic_ns();
        uint64_t ms = deadline > now ? (deadline - now + 999999) / 1000000 : 0;
        epoll_surrender(epoll);
        BlockingRegion region;
        if (handlers.take() != AfterSignal::GoesOn) return -EINTR;
        return kernel::call(SYS_epoll_pwait, epoll, reinterpret_cast<long>(events), max,
                            deadline == kForever ? -1 : static_cast<int>(ms), 0, 8);
      }
      default:
        break;
    }
  }
}

}  // namespace wisp::io
