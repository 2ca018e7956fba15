// The trace's rings without Java: what tasks do is what the rings say, old records are overwritten
// and counted, and a ring is read while it is written.
#include "observe/trace.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <algorithm>
#include <map>

#include "scheduler/internal.h"
#include "scheduler/task_tid.h"
#include "trace.h"
#include "unit/scheduler_fixture.h"

namespace wisp::test {
namespace {

// The rings as the command reads them: of its own process here.
Trace read_own() {
  auto rings = TraceRingsFile::open(Process(getpid()));
  Trace trace;
  EXPECT_NE(rings, nullptr);
  if (rings != nullptr) {
    EXPECT_TRUE(rings->read(&trace));
  }
  return trace;
}

uint64_t count(const Trace& trace, TraceKind kind, uint32_t task) {
  uint64_t n = 0;
  for (const auto& ring : trace.rings)
    for (const TraceEvent& e : ring) n += e.kind == kind && e.task == task;
  return n;
}

// Wake-ups by a task, in records of their own and in those of runs.
uint64_t count_wakes(const Trace& trace, uint32_t task) {
  uint64_t n = count(trace, TraceKind::Unpark, task);
  for (const auto& ring : trace.rings)
    for (const TraceEvent& e : ring) n += e.task == task && e.waker != kNoTraceTask;
  return n;
}

uint32_t id_of(const WispTask* task) { return task_number(task->tid); }

// Two tasks that wake each other `rounds` times; their ids.
std::pair<uint32_t, uint32_t> ping_pong(uint32_t rounds) {
  std::atomic<uint32_t> ball{0};
  std::atomic<uint32_t> ids[2] = {};
  Latch done(2);
  for (uint32_t side = 0; side < 2; ++side) {
    spawn([&, side] {
      ids[side] = id_of(current_task());
      for (uint32_t n = 0; n < rounds; ++n) {
        RuntimeEntry entry;
        while (ball.load() % 2 != side)
          park(&ball, kForever, [&] { return ball.load() % 2 != side; });
        ball.fetch_add(1);
        ParkingLot::unpark(&ball, 1);
      }
      done.count_down();
    });
  }
  done.wait();
  return {ids[0], ids[1]};
}

// What two tasks did that wake each other; whether they have often waited for each other: on two
// carriers a wake-up can come each time before the other has left.
bool says_what_tasks_did() {
  EXPECT_TRUE(stats::trace_on(1 << 20));
  auto [a, b] = ping_pong(100);
  // Their last switch is behind the latch.
  Trace trace;
  for (int i = 0; i < 60000; ++i) {
    trace = read_own();
    if (count(trace, TraceKind::End, a) + count(trace, TraceKind::End, b) == 2) break;
    usleep(1000);
  }
  stats::trace_off();
  EXPECT_EQ(trace.lost, 0u);
  EXPECT_EQ(trace.carriers, static_cast<uint32_t>(carriers()));
  char here[16] = {};  // their first name is their creator's
  prctl(PR_GET_NAME, here);
  for (uint32_t task : {a, b}) {
    EXPECT_EQ(count(trace, TraceKind::Start, task), 1u);
    EXPECT_EQ(count(trace, TraceKind::End, task), 1u);
    EXPECT_EQ(trace.names[task], here);
    // Every park ends in a run, and the first run is the start's. (A task woken before it has left
    // never leaves: its park is taken back.) So does the loss of a carrier, which SysMonitor takes
    // when the kernel thread lost its processor.
    uint64_t ran = count(trace, TraceKind::Run, task), parked = count(trace, TraceKind::Park, task);
    EXPECT_GE(ran, 1 + parked);
    EXPECT_LE(ran, 1 + parked + count(trace, TraceKind::Preempt, task));
    EXPECT_GE(count_wakes(trace, task), count(trace, TraceKind::Park, task));
  }
  uint64_t woken = 0;
  for (const TraceSlice& s : trace_slices(trace))
    woken += s.task == a && s.waker == b && s.woken_by == std::string("task");
  return count(trace, TraceKind::Park, a) > 10 && woken > 10;
}

TEST(Trace, SaysWhatTasksDid) {
  start_scheduler();
  bool waited = false;
  for (int i = 0; i < 50 && !waited; ++i) waited = says_what_tasks_did();
  EXPECT_TRUE(waited);
}

TEST(Trace, OverwritesTheOldestAndCountsThem) {
  start_scheduler();
  ASSERT_TRUE(stats::trace_on(kMinTraceBytes));
  ping_pong(20000);
  stats::trace_off();
  Trace trace = read_own();
  size_t kept = 0;
  for (const auto& ring : trace.rings) {
    kept += ring.size();
    for (size_t i = 1; i < ring.size(); ++i) EXPECT_GE(ring[i].ns, ring[i - 1].ns);
  }
  EXPECT_GT(trace.lost, 1000u);
  // A switch's record is two events.
  EXPECT_LE(kept, 2 * kMinTraceBytes / sizeof(TraceRecord));
}

TEST(Trace, SlicesOfACarrierDoNotOverlapWhileItIsWritten) {
  start_scheduler();
  ASSERT_TRUE(stats::trace_on(kMinTraceBytes));
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    while (!stop) {
      Trace trace = read_own();
      std::map<uint32_t, uint64_t> until;
      for (const TraceSlice& s : trace_slices(trace)) {
        EXPECT_LE(until[s.carrier], s.begin_ns);
        EXPECT_LE(s.begin_ns, s.end_ns);
        until[s.carrier] = s.end_ns;
      }
    }
  });
  for (int i = 0; i < 5; ++i) ping_pong(2000);
  stop = true;
  reader.join();
  stats::trace_drop();
}

TEST(Trace, OffAndOnWithOtherSizesWhileTasksSwitch) {
  start_scheduler();
  std::atomic<bool> stop{false};
  std::thread switcher([&] {
    for (uint64_t size = kMinTraceBytes; !stop;
         size = size >= 8u << 20 ? kMinTraceBytes : size * 3) {
      EXPECT_TRUE(stats::trace_on(size));
      usleep(500);
      stats::trace_off();
    }
  });
  for (int i = 0; i < 5; ++i) ping_pong(2000);
  stop = true;
  switcher.join();
  stats::trace_drop();
  Trace trace = read_own();
  for (const auto& ring : trace.rings) EXPECT_LE(ring.size(), 8u);  // a late writer's, at most
}

TEST(Trace, SizesOutOfRangeAreRefused) {
  start_scheduler();
  for (uint64_t size : {uint64_t{0}, kMinTraceBytes - 1, kMaxTraceBytes + 1, ~uint64_t{0}})
    EXPECT_FALSE(stats::trace_on(size)) << size;
  EXPECT_EQ(stats::trace_serve(~0u), stats::TraceState::Refused);
  EXPECT_EQ(stats::trace_serve(0), stats::TraceState::Off);
}

}  // namespace
}  // namespace wisp::test
