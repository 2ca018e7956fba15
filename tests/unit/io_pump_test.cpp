// The pump as the place where idle workers wait: an interrupt of the waiting poll belongs to the
// worker that was chosen, whoever else looks at the pump or comes into it meanwhile; and who goes
// in there is kept off other workers' processors.
#include <thread>

#include "scheduler/internal.h"
#include "scheduler/placement.h"
#include "sync/sleep.h"
#include "unit/io_support.h"

namespace wisp::test {
namespace {

constexpr uint64_t kPatience = 60'000'000'000;

// A word that a kernel thread (even: its turn) and a task move in turns.
struct Turns {
  std::atomic<uint32_t> word{0};
  std::atomic<bool> over{false};

  // False when the other side did not come in time.
  bool take(uint32_t mine, uint64_t deadline) {
    for (uint32_t seen; (seen = word.load()) % 2 != mine;) {
      RuntimeEntry entry;
      if (park(&word, deadline, [&] { return word.load() == seen; }) == WakeReason::TimedOut &&
          word.load() == seen)
        return false;
    }
    return true;
  }
  void pass() {
    RuntimeEntry entry;
    word.fetch_add(1);
    ParkingLot::unpark(&word, ~0u);
  }
};

bool all_carriers_idle() {
  uint64_t deadline = monotonic_ns() + kPatience;
  while (g_scheduler.idle.idle() != g_scheduler.carrier_count) {
    if (monotonic_ns() > deadline) return false;
    usleep(100);
  }
  return true;
}

// Bursts of tasks that kernel threads wake, and that yield, so that busy carriers look at the pump
// while its poller is being chosen. No descriptor is ever ready: an event would send a worker on
// its way that has missed its interrupt. After a burst such a worker sits in the pump with a
// carrier, which therefore never gets idle.
TEST(IoPump, EveryInterruptReachesItsWorker) {
  constexpr int kThreads = 2, kTasks = 2, kBursts = 40, kTurns = 10;
  start_scheduler();
  Turns turns[kThreads][kTasks];
  Pipe quiet;
  std::atomic<int> left{kThreads * kTasks + 1};
  spawn([&] {
    char c;
    EXPECT_EQ(io::read(quiet.in, &c, 1), 1);
    --left;
  });
  for (auto& row : turns)
    for (Turns& t : row)
      spawn([&] {
        while (t.take(1, kForever) && !t.over) {
          uint64_t end = monotonic_ns() + 200'000;
          while (monotonic_ns() < end) task_yield();
          t.pass();
        }
        --left;
      });
  std::atomic<bool> lost{false};
  for (int burst = 0; burst < kBursts && !lost; ++burst) {
    // The poller is chosen only when no other worker is left: in each burst one more sits in the
    // kernel than ever before.
    std::atomic<int> blocked{burst};
    for (int i = 0; i < burst; ++i)
      spawn([&] {
        {
          BlockingRegion region;
          usleep(3000);
        }
        --blocked;
      });
    std::vector<std::thread> threads;
    for (int me = 0; me < kThreads; ++me)
      threads.emplace_back([&, me] {
        unsigned dice = static_cast<unsigned>(burst * kThreads + me);
        for (int i = 0; i < kTurns && !lost; ++i) {
          for (Turns& t : turns[me]) {
            if (!t.take(0, monotonic_ns() + kPatience)) lost = true;
            if (!lost) t.pass();
          }
          dice = dice * 1103515245 + 12345;
          if ((dice >> 16) % 4 != 0) usleep((dice >> 18) % 400);
        }
      });
    for (std::thread& t : threads) t.join();
    for (int i = 0; i < 60000 && blocked != 0; ++i) usleep(1000);
    if (blocked != 0) abort();  // they use this stack
    if (!all_carriers_idle()) lost = true;
    EXPECT_FALSE(lost) << "in burst " << burst;
  }
  for (auto& row : turns)
    for (Turns& t : row) t.over = true;
  EXPECT_EQ(::write(quiet.out, "x", 1), 1);
  // A carrier that looked idle may have been on its way to a task, which then takes one turn more.
  for (int i = 0; i < 60000 && left != 0; ++i, usleep(1000))
    for (auto& row : turns)
      for (Turns& t : row)
        if (t.word.load() % 2 == 0) t.pass();
  // Tasks that still wait use what lies on this stack.
  if (left != 0) abort();
  close_fd(quiet.in), close_fd(quiet.out);
}

// Who is chosen for a carrier on its way into the pump is bound by another worker just then: what
// it asks about the others must not read that (ThreadSanitizer).
TEST(IoPump, WorkersKeptApart) {
  constexpr int kRounds = 100;
  start_scheduler();
  std::atomic<bool> over{false};
  std::thread apart([&] {  // SysMonitor thinks otherwise, four times a second
    for (; !over; usleep(1000)) g_kept_apart = true;
  });
  for (int i = 0; i < kRounds; ++i) {
    TcpPair tcp;
    run_tasks({[&] {
                 char got[100];
                 while (io::read(tcp.b, got, sizeof got) > 0) continue;
               },
               [&] {
                 if (i % 2 != 0) usleep(200);
                 EXPECT_EQ(io::write(tcp.a, "wisp", 4), 4);
                 close_fd(tcp.a);
               }});
    close_fd(tcp.b);
  }
  over = true;
  apart.join();
  g_kept_apart = false;
}

}  // namespace
}  // namespace wisp::test
