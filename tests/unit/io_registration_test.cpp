// Registrations that come too late, and sockets for whose room the kernel has no event.
#include <sys/un.h>

#include "unit/io_support.h"

namespace wisp::test {
namespace {

// The end of a life that nobody waited in moves no word: who comes too late must not park.
TEST(IoRegistration, NotInAnEndedLife) {
  start_scheduler();
  Pipe p;
  io::Descriptor* d = io::descriptor_find(p.in);
  uint32_t life = io::life_of(d->state.load());
  EXPECT_EQ(io::pump_register(p.in, d, life, false), io::Wait::Ready);
  EXPECT_EQ(io::pump_register(p.in, d, life, false), io::Wait::Ready);
  EXPECT_EQ(io::pump_register(p.in, d, life, true), io::Wait::Ready);
  io::descriptor_replaced(p.in, -1);
  for (bool verify : {false, true})
    EXPECT_EQ(io::pump_register(p.in, d, life, verify), io::Wait::Ended);
  close_fd(p.in), close_fd(p.out);
}

// ... and a registration that is under way meanwhile must not take the events of the number's next
// file, which is registered already: what arrives for the former life is dropped. (With `verify` it
// does not look at the life first, so it is as if the life had ended right after that look.)
TEST(IoRegistration, ALateOneTakesNoEventsOfTheNextFile) {
  start_scheduler();
  Pipe p;
  io::Descriptor* d = io::descriptor_find(p.in);
  uint32_t life = io::life_of(d->state.load());
  EXPECT_EQ(io::pump_register(p.in, d, life, false), io::Wait::Ready);
  io::descriptor_replaced(p.in, -1);
  static std::atomic<long> result;
  result = 1000;
  spawn([=] {
    char c;
    result = io::read(p.in, &c, 1);
  });
  while ((d->in.load() & 1) == 0) usleep(100);  // it is parked, in the new life
  EXPECT_EQ(io::pump_register(p.in, d, life, true), io::Wait::Ended);
  EXPECT_EQ(::write(p.out, "x", 1), 1);
  for (int i = 0; i < 20000 && result.load() == 1000; ++i) usleep(1000);
  EXPECT_EQ(result.load(), 1) << "its event was dropped";
  if (result.load() == 1000) abort();
  close_fd(p.in), close_fd(p.out);
}

// A descriptor that others share is registered anew for each wait, which makes an event of all that
// it is ready for. A wait for something else must not look again for that.
TEST(IoRegistration, AWaitForBytesDoesNotLookForRoom) {
  start_scheduler();
  for (bool selects : {false, true}) {
    LocalPair pair, other;
    int shared = fresh(::dup(pair.a), io::kSocket);
    int last = fresh(::dup(other.a), io::kSocket);
    io::descriptor_shared(shared), io::descriptor_shared(last);
    static std::atomic<int> result;
    result = 1000;
    spawn([=] {
      pollfd two[2] = {{shared, POLLIN, 0}, {last, POLLIN, 0}};
      fd_set in;
      FD_ZERO(&in);
      FD_SET(shared, &in);
      FD_SET(last, &in);
      int n = (shared > last ? shared : last) + 1;
      result = selects ? io::select_until(n, &in, nullptr, nullptr, kForever)
                       : io::poll_until(two, 2, kForever);
    });
    usleep(20'000);
    uint64_t before = io::pump_counts().registrations;
    usleep(200'000);
    EXPECT_LT(io::pump_counts().registrations - before, 100u) << "it goes round";
    EXPECT_EQ(result.load(), 1000);
    EXPECT_EQ(::write(pair.b, "x", 1), 1);
    for (int i = 0; i < 20000 && result.load() == 1000; ++i) usleep(1000);
    EXPECT_EQ(result.load(), 1);
    if (result.load() == 1000) abort();
    for (int fd : {pair.a, pair.b, other.a, other.b, shared, last}) close_fd(fd);
  }
}

// A datagram socket that is not connected has room of its own whenever the addressee has none: it
// says "writable" after each attempt, and a sender that believed it would go round and round.
TEST(IoRegistration, ASenderToAFullAddresseeWaits) {
  start_scheduler();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  int to = fresh(::socket(AF_UNIX, SOCK_DGRAM, 0), io::kSocket, io::kOwn);
  socklen_t length = sizeof(sa_family_t);
  ASSERT_EQ(::bind(to, reinterpret_cast<sockaddr*>(&address), length), 0);  // a name by the kernel
  length = sizeof address;
  ::getsockname(to, reinterpret_cast<sockaddr*>(&address), &length);
  int from = fresh(::socket(AF_UNIX, SOCK_DGRAM, 0), io::kSocket, io::kOwn);
  int queued = 0;
  while (::sendto(from, "x", 1, MSG_DONTWAIT, reinterpret_cast<sockaddr*>(&address), length) == 1)
    ++queued;
  for (bool message : {false, true}) {
    static std::atomic<long> result;
    result = 1000;
    spawn([&, message] {
      char c = 'y';
      iovec part{&c, 1};
      msghdr m{};
      m.msg_name = &address, m.msg_namelen = length;
      m.msg_iov = &part, m.msg_iovlen = 1;
      result = message ? io::send_message(from, &m, 0)
                       : io::send(from, &c, 1, 0, reinterpret_cast<sockaddr*>(&address), length);
    });
    usleep(20'000);
    uint64_t before = io::pump_counts().events;
    usleep(200'000);
    EXPECT_LT(io::pump_counts().events - before, 100u) << "it goes round";
    EXPECT_EQ(result.load(), 1000);
    char c;
    EXPECT_EQ(::recv(to, &c, 1, 0), 1);
    for (int i = 0; i < 20000 && result.load() == 1000; ++i) usleep(1000);
    EXPECT_EQ(result.load(), 1);
    if (result.load() == 1000) abort();
  }
  close_fd(from), close_fd(to);
}

}  // namespace
}  // namespace wisp::test
