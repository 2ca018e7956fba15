// A close releases the file, although a worker that waits in the pump may just be looking at it
// (pump_turn_out). preload_epoll_storm met it in 2 of some 2,600 runs beside a compiler.
#include <sys/epoll.h>

#include "io/epoll_set.h"
#include "scheduler/internal.h"
#include "unit/io_support.h"

namespace wisp::test {
namespace {

// Asked by a change of the registration, which is of no use afterwards: its events are of a life
// that the number never has.
bool in_pump(int fd) {
  epoll_event e{EPOLLIN | EPOLLET, {.u64 = 1ull << 63 | static_cast<uint32_t>(fd)}};
  int part = io::descriptor_find(fd)->part;
  return ::epoll_ctl(io::pump_instance(static_cast<uint32_t>(part)), EPOLL_CTL_MOD, fd, &e) == 0;
}
void wait_for_byte(int in, int out) {
  static std::atomic<bool> over;
  over = false;
  spawn([=] {
    char c;
    EXPECT_EQ(io::read(in, &c, 1), 1);
    over = true;
  });
  while ((io::descriptor_get(in)->in.load() & 1) == 0) usleep(100);  // it is parked
  ASSERT_EQ(::write(out, "x", 1), 1);
  if (!until([] { return over.load(); })) abort();
}

TEST(IoRelease, TakenOutOfThePumpBeforeTheClose) {
  start_scheduler();
  Pipe p;
  wait_for_byte(p.in, p.out);
  io::Closing closing = io::descriptor_closing(p.in);
  EXPECT_FALSE(in_pump(p.in));
  ::close(p.in);
  io::descriptor_closed(p.in, closing);
  close_fd(p.out);
}

TEST(IoRelease, TakenOutOfThePumpBeforeDup2) {
  start_scheduler();
  Pipe p, other;
  wait_for_byte(p.in, p.out);
  int kept = io::descriptor_replacing(p.in);
  EXPECT_FALSE(in_pump(p.in));
  ASSERT_EQ(::dup2(other.in, p.in), p.in);
  io::descriptor_replaced(p.in, kept);
  for (int fd : {p.in, p.out, other.in, other.out}) close_fd(fd);
}

// How often workers were turned out of the pump by what `ends`, all parts having one.
template <typename Ends>
uint64_t turned_out(Ends&& ends) {
  EXPECT_TRUE(until([] { return g_scheduler.idle.polling() == pump_parts(); }));
  usleep(1000);  // from the idle set into the kernel
  uint64_t before = io::pump_counts().turned_out;
  ends();
  return io::pump_counts().turned_out - before;
}

TEST(IoRelease, MembersOfTheKernelsInstances) {
  start_scheduler();
  int epoll = fresh(::epoll_create1(0), io::kStream, io::kOwn | io::kEpoll);
  Pipe moved, added, ours;
  wait_for_byte(ours.in, ours.out);  // the pump is started
  auto add = [=](int fd) {
    epoll_event e{EPOLLIN, {.fd = fd}};
    ASSERT_EQ(io::epoll_control(epoll, EPOLL_CTL_ADD, fd, &e), 0);
  };
  add(moved.in);
  EXPECT_EQ(turned_out([] {}), 0u);
  io::epoll_surrender(epoll);
  add(added.in);
  EXPECT_EQ(turned_out([=] { close_fd(ours.in); }), 0u);
  EXPECT_NE(turned_out([=] { close_fd(moved.in); }), 0u);
  EXPECT_NE(turned_out([=] { replace(added.in, moved.out); }), 0u);
  EXPECT_EQ(turned_out([=] { close_fd(added.in); }), 0u) << "another file by then";
  for (int fd : {moved.out, added.out, ours.out, epoll}) close_fd(fd);
}

}  // namespace
}  // namespace wisp::test
