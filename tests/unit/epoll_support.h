// Epoll instances in user space and what is waited for with them, for the tests of them.
#pragma once
#include <sys/epoll.h>

#include "io/epoll_set.h"
#include "unit/io_support.h"

namespace wisp::test {

inline int instance() {
  start_scheduler();
  return fresh(::epoll_create1(0), io::kStream, io::kOwn | io::kEpoll);
}
// Ready by signal() until take().
inline int event_source() {
  return fresh(::eventfd(0, EFD_NONBLOCK), io::kStream, io::kOwn | io::kNonBlocking);
}
inline long control(int epoll, int operation, int fd, uint32_t events) {
  epoll_event e{events, {.fd = fd}};
  return io::epoll_control(epoll, operation, fd, &e);
}
inline void signal(int source) {
  uint64_t one = 1;
  ASSERT_EQ(::write(source, &one, sizeof one), 8);
}
inline int take(int source) {
  uint64_t n;
  return ::read(source, &n, sizeof n) == sizeof n ? static_cast<int>(n) : 0;
}
inline bool in_user_space(int epoll) {
  epoll_event e;
  return (io::descriptor_find(epoll)->state.load() & io::kEpoll) != 0 &&
         ::epoll_wait(epoll, &e, 1, 0) == 0;
}

}  // namespace wisp::test
