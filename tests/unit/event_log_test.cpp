// The log of scheduling events without Java: only what was asked for is in it, with times that fit.
#include "scheduler/event_log.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>

#include "scheduler/internal.h"
#include "scheduler/task_tid.h"
#include "sync/sleep.h"
#include "unit/scheduler_fixture.h"

namespace wisp::test {
namespace {

constexpr uint32_t kAll = log_bit(LogKind::Start) | log_bit(LogKind::End) | log_bit(LogKind::Park) |
                          log_bit(LogKind::HandOff);

std::vector<LogEvent> taken(uint64_t* lost) {
  std::vector<LogEvent> all;
  LogEvent part[64];
  while (uint32_t n = log_take(part, 64, lost)) all.insert(all.end(), part, part + n);
  return all;
}

struct EventLog : testing::Test {
  void SetUp() override {
    start_scheduler();
    taken(&lost_before);
  }
  void TearDown() override { log_want(0, 0, 0); }
  uint64_t lost_before = 0;
};

void sleep_ms(uint64_t ms) { task_sleep_until(monotonic_ns() + ms * 1'000'000); }

TEST_F(EventLog, LifeAndWaitsAboveTheThreshold) {
  ASSERT_TRUE(log_want(kAll, us_to_ticks(20'000), us_to_ticks(1000)));
  std::atomic<uint32_t> id{0};
  std::atomic<uint32_t> word{0};
  std::atomic<bool> waits{false};
  Latch done(1);
  // Twice what is to be seen once: a kernel thread that loses its processor sleeps no more when the
  // time has come meanwhile, and has no carrier to give away when SysMonitor has taken it.
  WispTask* waiter = spawn([&] {
    id = task_number(current_task()->tid);
    sleep_ms(2);  // too short
    for (int i = 0; i < 2; ++i) {
      sleep_ms(40);
      BlockingRegion region;
      usleep(5000);
    }
    {
      RuntimeEntry entry;
      park(&word, kForever, [&] {
        waits = true;
        return word.load() == 0;
      });
    }
    done.count_down();
  });
  std::atomic<uint32_t> waker{0};
  Latch woken(1);
  spawn([&] {
    waker = task_number(current_task()->tid);
    while (!waits || waiter->on_cpu.running()) sleep_ms(1);  // until it has left
    sleep_ms(100);
    word = 1;
    RuntimeEntry entry;
    ParkingLot::unpark(&word, 1);
    woken.count_down();
  });
  done.wait();
  woken.wait();
  std::vector<LogEvent> mine;
  uint64_t lost = 0;
  for (int i = 0; i < 60000 && (mine.empty() || mine.back().kind != LogKind::End); ++i) {
    for (const LogEvent& e : taken(&lost))
      if (e.task == id) mine.push_back(e);
    usleep(1000);
  }
  EXPECT_EQ(lost, lost_before);
  // On a busy machine a short sleep may be a long one, too.
  ASSERT_GE(mine.size(), 5u);
  EXPECT_EQ(mine.front().kind, LogKind::Start);
  EXPECT_EQ(mine.back().kind, LogKind::End);
  char of_creator[16] = {};
  prctl(PR_GET_NAME, of_creator);
  EXPECT_STREQ(mine.back().name, of_creator);
  int sleeps = 0, handoffs = 0, waits_for_word = 0;
  for (const LogEvent& e : mine) {
    uint64_t ns = ticks_to_ns(e.end - e.begin);
    if (e.kind == LogKind::HandOff) {
      handoffs++;
      EXPECT_GE(ns, 4'900'000u);
    } else if (e.kind == LogKind::Park && e.own_stack) {
      sleeps += ns >= 39'000'000;
      EXPECT_EQ(e.woken, WakeReason::TimedOut);
      EXPECT_EQ(e.other, ~0u);
    } else if (e.kind == LogKind::Park) {
      waits_for_word++;
      EXPECT_EQ(e.address, reinterpret_cast<uint64_t>(&word));
      EXPECT_EQ(e.woken, WakeReason::Unparked);
      EXPECT_EQ(e.other, waker);
      EXPECT_GT(e.ready_at, e.begin);
      EXPECT_LE(e.ready_at, e.end);
    }
    if (e.kind == LogKind::Park) {
      EXPECT_GE(ns, 19'900'000u);
    }
  }
  EXPECT_GE(sleeps, 1);
  EXPECT_GE(handoffs, 1);
  EXPECT_LE(handoffs, 2);
  EXPECT_EQ(waits_for_word, 1);
}

TEST_F(EventLog, WhatWasLeftBeforeIsDropped) {
  ASSERT_TRUE(log_want(kAll, 0, 0));
  Latch done(1);
  spawn([&] {
    for (int i = 0; i < 3; ++i) sleep_ms(2);
    done.count_down();
  });
  done.wait();
  LogEvent one;
  uint64_t lost = 0;
  for (int i = 0; i < 60000 && log_take(&one, 1, &lost) == 0; ++i) usleep(1000);
  ASSERT_TRUE(log_want(log_bit(LogKind::Park), 0, 0));  // the rest stays
  ASSERT_EQ(log_take(&one, 1, &lost), 1u);
  ASSERT_TRUE(log_want(0, 0, 0));
  // The task may end only now.
  ASSERT_TRUE(log_want(log_bit(LogKind::Park), us_to_ticks(3'600'000'000), 0));
  EXPECT_EQ(log_take(&one, 1, &lost), 0u);
}

TEST_F(EventLog, OffItHoldsNothing) {
  ASSERT_TRUE(log_want(kAll, 0, 0));
  ASSERT_TRUE(log_want(0, 0, 0));
  EXPECT_EQ(observed() & ~kTraceBit, 0u);
  Latch done(1);
  spawn([&] {
    sleep_ms(1);
    done.count_down();
  });
  done.wait();
  uint64_t lost = 0;
  EXPECT_TRUE(taken(&lost).empty());
  EXPECT_EQ(lost, lost_before);
}

// What a task parks inside its scope is for itself; what has no room there is not lost, and no
// other task's park gets in.
TEST_F(EventLog, AScopeKeepsTheParksOfItsTask) {
  ASSERT_TRUE(log_want(log_bit(LogKind::Park), us_to_ticks(4000), 0));
  LogScope scope, second;
  std::atomic<uint32_t> id{0};
  bool opened = false, again = true;
  LogScope *closed = nullptr, *nothing = &scope;
  uint64_t times_run = 0;
  Latch done(2);
  EXPECT_FALSE(log_scope_open(&scope));  // this thread is no task
  spawn([&] {
    id = task_number(current_task()->tid);
    opened = log_scope_open(&scope);
    again = log_scope_open(&second);
    while (scope.count < LogScope::kRoom) sleep_ms(6);
    times_run = current_task()->times_run;
    while (current_task()->times_run < times_run + 3) sleep_ms(6);  // no room
    closed = log_scope_close();
    nothing = log_scope_close();
    while (current_task()->times_run < times_run + 6) sleep_ms(6);  // not in it any more
    done.count_down();
  });
  spawn([&] {
    sleep_ms(6);
    done.count_down();
  });
  done.wait();
  EXPECT_TRUE(opened);
  EXPECT_FALSE(again);
  EXPECT_EQ(closed, &scope);
  EXPECT_EQ(nothing, nullptr);
  EXPECT_EQ(second.count, 0u);
  ASSERT_EQ(scope.count, LogScope::kRoom);
  for (const LogEvent& e : scope.events) {
    EXPECT_EQ(e.task, id);
    EXPECT_GE(e.end - e.begin, us_to_ticks(4000));
    EXPECT_LE(e.end, scope.events[LogScope::kRoom - 1].end);
  }
  uint64_t lost = 0;
  uint32_t logged = 0;
  for (const LogEvent& e : taken(&lost))
    if (e.task == id) {
      ++logged;
      EXPECT_GT(e.begin, scope.events[LogScope::kRoom - 1].begin);
    }
  EXPECT_GE(logged, 3u);
}

// A task takes what is about itself, and only that; the reader gets the rest, the young ones last.
TEST_F(EventLog, ATaskTakesItsOwn) {
  ASSERT_TRUE(log_want(log_bit(LogKind::Park), us_to_ticks(4000), 0));
  std::atomic<uint32_t> id{0}, other{0};
  std::vector<LogEvent> own;
  bool had = false, had_before = true, had_after = true;
  LogEvent nothing[1];
  EXPECT_FALSE(log_has_own());  // this thread is no task
  EXPECT_EQ(log_take_own(nothing, 1), 0u);
  Latch slept(1), done(1);
  spawn([&] {
    other = task_number(current_task()->tid);
    uint64_t before = current_task()->times_run;
    while (current_task()->times_run < before + 3) sleep_ms(6);
    slept.count_down();
  });
  slept.wait();
  spawn([&] {
    id = task_number(current_task()->tid);
    had_before = log_has_own();
    uint64_t before = current_task()->times_run;
    while (current_task()->times_run < before + 5) sleep_ms(6);
    had = log_has_own();
    LogEvent part[2];
    while (uint32_t n = log_take_own(part, 2)) own.insert(own.end(), part, part + n);
    had_after = log_has_own();
    sleep_ms(6);
    done.count_down();
  });
  done.wait();
  EXPECT_FALSE(had_before);
  EXPECT_TRUE(had);
  EXPECT_FALSE(had_after);
  ASSERT_GE(own.size(), 3u);
  for (size_t i = 0; i < own.size(); ++i) {
    EXPECT_EQ(own[i].task, id);
    EXPECT_GE(own[i].end - own[i].begin, us_to_ticks(4000));
    if (i > 0) {
      EXPECT_GE(own[i].begin, own[i - 1].end);
    }
  }
  LogEvent part[64];
  uint64_t lost = 0;
  EXPECT_EQ(log_take(part, 64, &lost, us_to_ticks(3'600'000'000)), 0u);
  uint32_t of_other = 0;
  for (const LogEvent& e : taken(&lost)) {
    of_other += e.task == other;
    if (e.task == id) {
      EXPECT_GT(e.begin, own.back().begin);
    }
  }
  EXPECT_GE(of_other, 1u);
  EXPECT_EQ(lost, lost_before);
}

TEST_F(EventLog, WhatNobodyFetchesIsCounted) {
  ASSERT_TRUE(log_want(log_bit(LogKind::Park), 0, 0));
  Latch done(1);
  spawn([&] {
    // More than are needed: where the time has passed before the task could leave, nothing is
    // logged.
    for (int i = 0; i < 12000; ++i) task_sleep_until(monotonic_ns() + 100000);
    done.count_down();
  });
  done.wait();
  uint64_t lost = 0;
  size_t kept = taken(&lost).size();
  EXPECT_LE(kept, 8192u);
  EXPECT_GT(kept, 8000u);
  EXPECT_GE(lost - lost_before, 100u);
}

}  // namespace
}  // namespace wisp::test
