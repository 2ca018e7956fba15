// Who waits in the event pump while one carrier works and another is idle: scheduler/attendance.h.
#include <thread>

#include "scheduler/internal.h"
#include "unit/io_support.h"

namespace wisp::test {
namespace {

constexpr int kRounds = 500;

// Two servers like event loops: each byte is some work. Their client, a kernel thread, asks the
// second one when the first is at work, waits for both answers, and a moment longer, so that all
// carriers are idle again. Returns how often a worker was sent into the pump meanwhile.
uint32_t sent_while_serving(uint64_t work_ns) {
  LocalPair pairs[2];
  std::atomic<int> at_work{0};
  std::vector<std::function<void()>> bodies;
  for (LocalPair& pair : pairs)
    bodies.push_back([&pair, &at_work, work_ns] {
      char c;
      for (int i = 0; i < kRounds; ++i) {
        ASSERT_EQ(io::read(pair.a, &c, 1), 1);
        ++at_work;
        uint64_t end = monotonic_ns() + work_ns;
        while (monotonic_ns() < end) {
        }
        ASSERT_EQ(::send(pair.a, &c, 1, 0), 1);
      }
    });
  uint32_t before = g_scheduler.attendance.times_sent();
  std::thread client([&] {
    char c = 'x';
    for (int i = 0; i < kRounds; ++i) {
      ASSERT_EQ(::send(pairs[0].b, &c, 1, 0), 1);
      ASSERT_TRUE(until([&] { return at_work > 2 * i; }));
      ASSERT_EQ(::send(pairs[1].b, &c, 1, 0), 1);
      for (LocalPair& pair : pairs) {
        pollfd answer{pair.b, POLLIN, 0};
        ASSERT_EQ(::poll(&answer, 1, 60000), 1);
        ASSERT_EQ(::recv(pair.b, &c, 1, 0), 1);
      }
      usleep(50);
    }
  });
  run_tasks(std::move(bodies));
  client.join();
  for (LocalPair& pair : pairs) close_fd(pair.a), close_fd(pair.b);
  return g_scheduler.attendance.times_sent() - before;
}

TEST(IoAttendance, SomebodyWaitsInThePumpForTheSecondLoop) {
  uint32_t sent = sent_while_serving(300'000);
  if (g_scheduler.carrier_count == 1)
    EXPECT_EQ(sent, 0u);
  else
    EXPECT_GT(sent, 0u);
}

}  // namespace
}  // namespace wisp::test
