// Descriptors for the io tests, created and closed as the interposed functions do it.
#pragma once
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "io/descriptor.h"
#include "io/epoll_wait.h"
#include "io/event_pump.h"
#include "io/poll_wait.h"
#include "io/transfer.h"
#include "unit/scheduler_fixture.h"

namespace wisp::test {

inline int fresh(int fd, io::Kind kind = io::kUnknown, uint32_t flags = 0) {
  if (fd < 0) abort();
  io::descriptor_created(fd, kind, flags);
  return fd;
}
inline uint32_t life_of_number(int fd) {
  return io::life_of(io::descriptor_find(fd)->state.load());
}
inline void close_fd(int fd) {
  io::Closing closing = io::descriptor_closing(fd);
  ::close(fd);
  io::descriptor_closed(fd, closing);
}

// Puts another file under the number, as the interposed dup2 does.
inline void replace(int fd, int by) {
  int kept = io::descriptor_replacing(fd);
  if (::dup2(by, fd) != fd) abort();
  io::descriptor_replaced(fd, kept);
}

struct Pipe {
  int in, out;
  Pipe() {
    int fds[2];
    if (::pipe(fds) != 0) abort();
    in = fresh(fds[0], io::kStream, io::kOwn);
    out = fresh(fds[1], io::kStream, io::kOwn);
  }
};

struct LocalPair {
  int a, b;
  explicit LocalPair(int type = SOCK_STREAM) {
    int fds[2];
    if (::socketpair(AF_UNIX, type, 0, fds) != 0) abort();
    a = fresh(fds[0], io::kSocket, io::kOwn);
    b = fresh(fds[1], io::kSocket, io::kOwn);
  }
};

constexpr uint32_t kTcpSocket = io::kOwn | io::kTcp;

// A port that nobody listens on, and that nobody else gets as long as it is open.
inline int bind_tcp(sockaddr_in* address) {
  int fd = fresh(::socket(AF_INET, SOCK_STREAM, 0), io::kSocket, kTcpSocket);
  *address = sockaddr_in{};
  address->sin_family = AF_INET;
  address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof *address;
  if (::bind(fd, reinterpret_cast<sockaddr*>(address), length) != 0) abort();
  ::getsockname(fd, reinterpret_cast<sockaddr*>(address), &length);
  return fd;
}
inline int listen_tcp(sockaddr_in* address) {
  int fd = bind_tcp(address);
  if (::listen(fd, 100) != 0) abort();
  return fd;
}

struct TcpPair {
  int a, b;  // a has connected, b was accepted
  TcpPair() {
    sockaddr_in address;
    int listener = listen_tcp(&address);
    a = fresh(::socket(AF_INET, SOCK_STREAM, 0), io::kSocket, kTcpSocket);
    if (::connect(a, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) abort();
    b = fresh(::accept(listener, nullptr, nullptr), io::kSocket, kTcpSocket | io::kAccepted);
    int one = 1;
    ::setsockopt(a, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    ::setsockopt(b, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    close_fd(listener);
  }
};

inline uint64_t in_ms(uint64_t ms) { return monotonic_ns() + ms * 1'000'000; }

inline char byte_of(size_t i) { return static_cast<char>(i * 2654435761u >> 13); }

// Runs the bodies as tasks at once; fails if they are not done within two minutes.
inline void run_tasks(std::vector<std::function<void()>> bodies) {
  static std::atomic<int> left;
  left = static_cast<int>(bodies.size());
  for (auto& body : bodies)
    spawn([body = std::move(body)] {
      body();
      left.fetch_sub(1);
    });
  for (int i = 0; i < 120000 && left.load() != 0; ++i) usleep(1000);
  ASSERT_EQ(left.load(), 0) << "tasks still wait";
}

// Returns when that many blocking calls hold the file behind fd: from here on they go on whatever
// becomes of the number, before it they may find another file or none.
inline void until_callers(int fd, uint32_t wanted) {
  for (;; usleep(100)) {
    io::Descriptor* d = io::descriptor_find(fd);
    if (d != nullptr && static_cast<uint32_t>(d->state.load()) / io::kOneCaller == wanted) return;
  }
}

inline void spin_until(uint64_t ns) {
  while (monotonic_ns() < ns) {
  }
}

}  // namespace wisp::test
