// See child_wait.h. The pidfd is opened before the first look, so that all looks mean the process
// that had the number when the call began, whoever reaps it and gets its number meanwhile.
//
// Two waits for one child, or one beside a stranger's wait: the end of a child wakes all who wait
// for it, one of them reaps it, the others find ECHILD, as in the kernel. A child that is reaped
// without a wait (SIGCHLD ignored) makes its pidfd ready as well, and the look says ECHILD.
//
// A pidfd says nothing of the stops of a traced child, which end a plain wait of its tracer. So a
// wait looks by itself again after 50 ms, 100, 200...: a tracer waits at most twice as long.
#include "io/child_wait.h"

#include <fcntl.h>
#include <sys/syscall.h>

#include "io/descriptor.h"
#include "io/wait.h"
#include "platform/cleanup.h"
#include "platform/kernel.h"
#include "platform/own_descriptors.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

namespace wisp::io {

namespace {

constexpr idtype_t kByPidfd = static_cast<idtype_t>(3);  // P_PIDFD, newer than our oldest headers
constexpr uint64_t kFirstLook = 50'000'000;

// How many waits have one. A thread of the kernel would wait without: where they take more than
// this part of the numbers that the process may have, the next wait does the same.
std::atomic<uint32_t> g_pidfds{0};
constexpr uint32_t kPart = 16;

// A pidfd of our own, out of the way of the program's numbers, or -errno.
int own_pidfd(idtype_t type, id_t id) {
  // Relaxed: some more that begin at once do no harm.
  if (g_pidfds.load(std::memory_order_relaxed) >= descriptor_limit() / kPart) return -EMFILE;
  int fd = static_cast<int>(id);
  if (type == kByPidfd) {
    // A wait on a non-blocking one does not wait.
    long flags = kernel::call(SYS_fcntl, fd, F_GETFL);
    if (flags < 0 || (flags & O_NONBLOCK) != 0) return -EAGAIN;
    return high_duplicate(fd);
  }
  long opened = kernel::call(SYS_pidfd_open, static_cast<long>(id), 0);
  return opened < 0 ? static_cast<int>(opened) : move_up(static_cast<int>(opened));
}

long look(idtype_t type, id_t id, siginfo_t* info, int options, rusage* usage) {
  return kernel::call(SYS_waitid, type, static_cast<long>(id), reinterpret_cast<long>(info),
                      options | WNOHANG, reinterpret_cast<long>(usage));
}

// Parks until the pidfd may be ready: 0, or -EINTR. kNoPidfd: it cannot be waited for.
long wait_on(int fd, Descriptor* d, uint32_t life, uint32_t seen, uint64_t look_again,
             HandlersSince* handlers) {
  switch (wait_for(fd, d, life, Direction::In, seen, look_again, handlers)) {
    case Wait::Interrupted:
      return -EINTR;
    case Wait::Refused:
    case Wait::Ended:  // the program closed numbers that it did not open
    case Wait::WouldBlock:
      return kNoPidfd;
    default:
      return 0;
  }
}

struct Awaited {
  int fd;
  Descriptor* d;
  uint32_t life;
};

void let_go(void* of) {
  auto* a = static_cast<Awaited*>(of);
  g_pidfds.fetch_sub(1, std::memory_order_relaxed);
  if (life_of(a->d->state.load(std::memory_order_acquire)) != a->life) return;
  descriptor_closing(a->fd);
  kernel::call(SYS_close, a->fd);
}

}  // namespace

long wait_for_child(idtype_t type, id_t id, siginfo_t* info, int options, rusage* usage) {
  if (type != P_PID && type != kByPidfd) return kNoPidfd;
  siginfo_t unwanted = {};
  if (info == nullptr) info = &unwanted;
  int fd = own_pidfd(type, id);
  if (fd == -ESRCH) {  // nobody has that number: ECHILD, with all that comes with it
    long r = look(type, id, info, options, usage);
    return r != 0 || info->si_pid != 0 ? r : kNoPidfd;
  }
  if (fd < 0) return kNoPidfd;
  Descriptor* d = descriptor_get(fd);
  if (d == nullptr) {
    kernel::call(SYS_close, fd);
    return kNoPidfd;
  }
  descriptor_created(fd, kStream, kOwn);
  g_pidfds.fetch_add(1, std::memory_order_relaxed);
  uint32_t life = life_of(d->state.load(std::memory_order_acquire));
  Awaited awaited{fd, d, life};
  CleanupScope given_up(let_go, &awaited);  // by a handler that jumps out of the call
  uint64_t pause = kFirstLook;
  HandlersSince handlers;
  long r;
  for (;;) {
    uint32_t seen = word_value(d->in);
    r = look(kByPidfd, static_cast<id_t>(fd), info, options, usage);
    if (r == -EINVAL) r = kNoPidfd;  // Linux 5.3 has pidfds, but no waitid for them
    if (r != 0 || info->si_pid != 0) break;
    r = wait_on(fd, d, life, seen, monotonic_ns() + pause, &handlers);
    if (r != 0) break;
    pause *= 2;
  }
  let_go(&awaited);
  return r;
}

}  // namespace wisp::io
