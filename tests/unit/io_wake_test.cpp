// Whom an event wakes when several wait for it: one for what only one can take, and nobody is
// forgotten when that one leaves.
#include <thread>

#include "unit/io_support.h"

namespace wisp::test {
namespace {

int connected_to(const sockaddr_in& address) {
  int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) abort();
  return fd;
}

long accept_and_close(int listener) {
  long fd = io::accept(listener, nullptr, nullptr, 0);
  if (fd >= 0) ::close(static_cast<int>(fd));
  return fd;
}

TEST(IoWake, OneAcceptorPerConnection) {
  constexpr int kAcceptors = 64, kConnections = 300;
  sockaddr_in address;
  int listener = listen_tcp(&address);
  std::atomic<int> accepted{0}, ended{0};
  for (int i = 0; i < kAcceptors; ++i)
    spawn([&] {
      while (accept_and_close(listener) >= 0) ++accepted;
      ++ended;
    });
  uint64_t switches = 0;
  for (int i = 0; i < kConnections; ++i) {
    if (i == kConnections / 3) switches = scheduler_totals().switches;  // all have parked by then
    ::close(connected_to(address));
    ASSERT_TRUE(until([&] { return accepted.load() > i; })) << "connection " << i;
  }
  // The one that accepts, and the next, who finds nothing; 64 where all are woken.
  EXPECT_LT(scheduler_totals().switches - switches, kConnections * 2 / 3 * 16);
  ::shutdown(listener, SHUT_RDWR);  // an end is for all
  EXPECT_TRUE(until([&] { return ended.load() == kAcceptors; })) << ended;
  close_fd(listener);
}

TEST(IoWake, EachConnectionOfABurstIsAccepted) {
  constexpr int kAtOnce = 32;
  sockaddr_in address;
  int listener = listen_tcp(&address);
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> accepted{0};
    for (int i = 0; i < kAtOnce; ++i)
      spawn([&] {
        EXPECT_GE(accept_and_close(listener), 0);
        ++accepted;
      });
    if (round % 2 == 0) usleep(2000);  // all parked, or some not yet
    std::vector<int> clients;
    for (int i = 0; i < kAtOnce; ++i) clients.push_back(connected_to(address));
    ASSERT_TRUE(until([&] { return accepted.load() == kAtOnce; })) << accepted;
    for (int fd : clients) ::close(fd);
  }
  close_fd(listener);
}

// Readers that time out, that look first, and that just read, on one socket of datagrams.
TEST(IoWake, ReadersOfOneSocket) {
  constexpr int kReaders = 12, kSent = 3000;
  int fds[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_DGRAM, 0, fds), 0);
  int in = fresh(fds[0], io::kSocket, io::kOwn);
  timeval soon{0, 700};
  ASSERT_EQ(::setsockopt(in, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon), 0);
  io::descriptor_set_timeout(in, true, 700'000);
  std::atomic<int> received{0}, ended{0};
  std::atomic<bool> over{false};
  for (int i = 0; i < kReaders; ++i)
    spawn([&, i] {
      char c;
      while (!over.load()) {
        pollfd p{in, POLLIN, 0};
        if (i % 3 == 0) io::poll_until(&p, 1, monotonic_ns() + 500'000 * (1 + i));
        if (io::receive(in, &c, 1, 0, nullptr, nullptr) == 1) ++received;
      }
      ++ended;
    });
  for (int sent = 0; sent < kSent;) {
    int burst = 1 + sent % 7;
    for (int i = 0; i < burst; ++i) ASSERT_EQ(::send(fds[1], "x", 1, 0), 1);
    sent += burst;
    ASSERT_TRUE(until([&] { return received.load() >= sent; })) << sent;
  }
  over = true;
  EXPECT_TRUE(until([&] { return ended.load() == kReaders; }));
  ::close(fds[1]);
  close_fd(in);
}

// Without time-outs: nobody comes by again who would find what was forgotten.
TEST(IoWake, ReadersWithoutTimeouts) {
  constexpr int kReaders = 12, kSent = 6000;
  int fds[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds), 0);
  int in = fresh(fds[0], io::kSocket, io::kOwn);
  std::atomic<int> received{0}, ended{0};
  for (int i = 0; i < kReaders; ++i)
    spawn([&] {
      char c;
      while (io::receive(in, &c, 1, 0, nullptr, nullptr) == 1) ++received;
      ++ended;
    });
  for (int sent = 0; sent < kSent;) {
    int burst = 1 + sent % 11;
    for (int i = 0; i < burst; ++i) ASSERT_EQ(::send(fds[1], "x", 1, 0), 1);
    sent += burst;
    ASSERT_TRUE(until([&] { return received.load() >= sent; })) << sent;
  }
  ::close(fds[1]);
  EXPECT_TRUE(until([&] { return ended.load() == kReaders; })) << ended;
  close_fd(in);
}

TEST(IoWake, WhoLooksTakesNothing) {
  for (int round = 0; round < 100; ++round) {
    LocalPair pair;
    std::atomic<int> looked{0}, read{0};
    for (int i = 0; i < 3; ++i)
      spawn([&] {
        pollfd p{pair.b, POLLIN, 0};
        EXPECT_EQ(io::poll_until(&p, 1, kForever), 1);
        ++looked;
      });
    usleep(1000);  // they are the oldest
    spawn([&] {
      // Not before the others have seen it.
      char c;
      EXPECT_EQ(io::receive(pair.b, &c, 1, MSG_PEEK, nullptr, nullptr), 1);
      EXPECT_TRUE(until([&] { return looked.load() == 3; }));
      EXPECT_EQ(io::read(pair.b, &c, 1), 1);
      ++read;
    });
    usleep(500);
    ASSERT_EQ(::send(pair.a, "x", 1, 0), 1);
    ASSERT_TRUE(until([&] { return looked.load() == 3 && read.load() == 1; }));
    close_fd(pair.a), close_fd(pair.b);
  }
}

}  // namespace
}  // namespace wisp::test
