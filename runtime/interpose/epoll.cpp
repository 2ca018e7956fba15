// The program's own epoll instances (selectors, event loops). io/epoll_set.h has what is registered
// in them, io/epoll_wait.h the waits.
#include <sys/epoll.h>

#include "interpose/descriptor_entry.h"
#include "interpose/masked_wait.h"
#include "io/epoll_set.h"
#include "io/epoll_wait.h"

using namespace wisp;

namespace {

// What is kept in user space only tasks can wait for.
void leave_to_kernel(int epoll) {
  if (interposing()) io::epoll_surrender(epoll);
}

int look_now(int epoll, epoll_event* events, int max) {
  return static_cast<int>(
      answer(io::epoll_look(epoll, io::descriptor_find(epoll), events, max, io::Look::Exactly)));
}

// Rounded up, as no wait may end too early.
int ms_of(const timespec& left) {
  return static_cast<int>(left.tv_sec * 1000 + (left.tv_nsec + 999999) / 1000000);
}

}  // namespace

WISP_EXPORT int epoll_ctl(int epoll, int operation, int fd, epoll_event* event) noexcept {
  real::ensure();
  if (!interposing()) return real::epoll_ctl(epoll, operation, fd, event);
  return static_cast<int>(answer(io::epoll_control(epoll, operation, fd, event)));
}

WISP_EXPORT int epoll_wait(int epoll, epoll_event* events, int max, int timeout) {
  if (!on_task()) {
    real::ensure();
    leave_to_kernel(epoll);
    return real::epoll_wait(epoll, events, max, timeout);
  }
  if (timeout == 0) return look_now(epoll, events, max);
  return static_cast<int>(
      answer(io::epoll_wait_until(epoll, events, max, deadline_in_ms(timeout))));
}

WISP_EXPORT int epoll_pwait(int epoll, epoll_event* events, int max, int timeout,
                            const sigset_t* mask) {
  if (mask == nullptr) return epoll_wait(epoll, events, max, timeout);
  real::ensure();
  leave_to_kernel(epoll);
  if (timeout == 0 || !on_task()) return real::epoll_pwait(epoll, events, max, timeout, mask);
  return wait_with_mask(current_task(), mask, deadline_in_ms(timeout), [&](const timespec* left) {
    return real::epoll_pwait(epoll, events, max, left != nullptr ? ms_of(*left) : -1, mask);
  });
}

// glibc 2.35; Netty asks for it by name.
WISP_EXPORT int epoll_pwait2(int epoll, epoll_event* events, int max, const timespec* timeout,
                             const sigset_t* mask) {
  real::ensure();
  bool waits = timeout == nullptr || timeout->tv_sec != 0 || timeout->tv_nsec != 0;
  bool bad = timeout != nullptr &&
             (timeout->tv_sec < 0 || timeout->tv_nsec < 0 || timeout->tv_nsec >= 1000000000);
  if (!waits && mask == nullptr && on_task()) return look_now(epoll, events, max);
  bool straight = !waits || bad || !on_task();
  uint64_t deadline = !straight && timeout != nullptr ? deadline_after(*timeout) : kForever;
  if (straight || mask != nullptr) {
    leave_to_kernel(epoll);
    auto call = [&](const timespec* limit) -> int {
      if (real::epoll_pwait2 != nullptr) return real::epoll_pwait2(epoll, events, max, limit, mask);
      errno = ENOSYS;
      return -1;
    };
    return straight ? call(timeout) : wait_with_mask(current_task(), mask, deadline, call);
  }
  return static_cast<int>(answer(io::epoll_wait_until(epoll, events, max, deadline)));
}
