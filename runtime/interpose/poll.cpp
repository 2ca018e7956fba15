// poll and select. On a task every wait is io/poll_wait.h's; a call with its own signal mask keeps
// the kernel's atomic exchange of the mask, and so its kernel thread.
#include <poll.h>
#include <sys/resource.h>
#include <sys/select.h>

#include "interpose/descriptor_entry.h"
#include "interpose/masked_wait.h"
#include "io/epoll_set.h"
#include "io/poll_wait.h"
#include "platform/kernel.h"

using namespace wisp;

namespace {

inline bool is_zero(const timespec* t) { return t->tv_sec == 0 && t->tv_nsec == 0; }
inline bool is_bad(const timespec* t) {
  return t->tv_sec < 0 || static_cast<unsigned long>(t->tv_nsec) >= 1000000000ul;
}

// The kernel looks at none of so many that the process cannot have them; and counts in 32 bits.
bool too_many(nfds_t n) {
  constexpr nfds_t kUsual = 1024;  // not asked for each call
  if (WISP_LIKELY(n <= kUsual)) return false;
  rlimit limit{0, 0};
  kernel::call(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, reinterpret_cast<long>(&limit));
  return n > limit.rlim_cur;
}

// Signals sent to the task that its own mask blocks and this one does not. The kernel knows nothing
// of them; it would run their handlers (EINTR) also where the call does not wait.
bool lets_in(const sigset_t* mask) {
  WispTask* task = mask != nullptr ? calling_task() : nullptr;
  return task != nullptr && (held_signals(task) & ~word_of(mask)) != 0;
}

// By the kernel itself: nothing to wait for, or nothing to look at.
bool polled_straight(pollfd* fds, nfds_t n) {
  if (WISP_UNLIKELY((fds == nullptr && n != 0) || too_many(n))) return true;
  if (interposing()) io::epoll_surrender_polled(fds, n);
  return !on_task();
}

}  // namespace

WISP_EXPORT int poll(pollfd* fds, nfds_t n, int timeout) {
  n = static_cast<uint32_t>(n);
  if (polled_straight(fds, n) || timeout == 0) return real::ensure(), real::poll(fds, n, timeout);
  return static_cast<int>(answer(io::poll_until(fds, n, deadline_in_ms(timeout))));
}

WISP_EXPORT int ppoll(pollfd* fds, nfds_t n, const timespec* timeout, const sigset_t* mask) {
  real::ensure();
  n = static_cast<uint32_t>(n);
  bool waits = timeout == nullptr || !(is_bad(timeout) || (is_zero(timeout) && !lets_in(mask)));
  if (polled_straight(fds, n) || !waits) return real::ppoll(fds, n, timeout, mask);
  uint64_t deadline = timeout != nullptr ? deadline_after(*timeout) : kForever;
  if (mask != nullptr)
    return wait_with_mask(current_task(), mask, deadline,
                          [&](const timespec* left) { return real::ppoll(fds, n, left, mask); });
  return static_cast<int>(answer(io::poll_until(fds, n, deadline)));
}

WISP_EXPORT int __poll_chk(pollfd* fds, nfds_t n, int timeout, size_t room) {
  if (room / sizeof *fds < n) return real::ensure(), real::__poll_chk(fds, n, timeout, room);
  return poll(fds, n, timeout);
}
WISP_EXPORT int __ppoll_chk(pollfd* fds, nfds_t n, const timespec* timeout, const sigset_t* mask,
                            size_t room) {
  if (room / sizeof *fds < n) return real::ensure(), real::__ppoll_chk(fds, n, timeout, mask, room);
  return ppoll(fds, n, timeout, mask);
}

WISP_EXPORT int select(int n, fd_set* in, fd_set* out, fd_set* except, timeval* timeout) {
  real::ensure();
  if (interposing()) io::epoll_surrender_selected(n, in, out, except);
  if (!on_task() || (timeout != nullptr && ((timeout->tv_sec == 0 && timeout->tv_usec == 0) ||
                                            timeout->tv_sec < 0 || timeout->tv_usec < 0)))
    return real::select(n, in, out, except, timeout);
  uint64_t deadline = kForever;
  if (timeout != nullptr) {
    timespec t{timeout->tv_sec + timeout->tv_usec / 1000000, timeout->tv_usec % 1000000 * 1000};
    deadline = deadline_after(t);
  }
  long r = io::select_until(n, in, out, except, deadline);
  if (timeout != nullptr) {  // Linux says how much was left
    timespec left = time_left(deadline);
    *timeout = {left.tv_sec, left.tv_nsec / 1000};
  }
  return static_cast<int>(answer(r));
}

WISP_EXPORT int pselect(int n, fd_set* in, fd_set* out, fd_set* except, const timespec* timeout,
                        const sigset_t* mask) {
  real::ensure();
  if (interposing()) io::epoll_surrender_selected(n, in, out, except);
  bool waits = timeout == nullptr || !(is_bad(timeout) || (is_zero(timeout) && !lets_in(mask)));
  if (!waits || !on_task()) return real::pselect(n, in, out, except, timeout, mask);
  uint64_t deadline = timeout != nullptr ? deadline_after(*timeout) : kForever;
  if (mask != nullptr)
    return wait_with_mask(current_task(), mask, deadline, [&](const timespec* left) {
      return real::pselect(n, in, out, except, left, mask);
    });
  return static_cast<int>(answer(io::select_until(n, in, out, except, deadline)));
}
