// A worker waits in the event pump and has been woken, but the kernel lets something else run on
// its processor: scheduler/polling.cpp. The pump is one of the test's own, whose waiting poll comes
// back when the test says so.
#include <gtest/gtest.h>

#include "scheduler/internal.h"
#include "scheduler/poller.h"
#include "sync/sleep.h"
#include "unit/overlooked.h"

namespace wisp::test {
namespace {

// One part, so that nobody else waits anywhere.
[[maybe_unused]] const int g_one_part = g_config_parts = 1;

std::atomic<bool> g_standing{true};  // who is inside the waiting poll stays there
std::atomic<bool> g_inside{false};   // somebody is
std::atomic<bool> g_interrupted{false};
std::atomic<bool> g_event{false};       // an event that nobody has taken
std::atomic<uint32_t> g_waited_for{0};  // what the task parks on

int take_event() {
  if (!g_event.exchange(false)) return 0;
  g_waited_for = 1;
  ParkingLot::unpark(&g_waited_for, ~0u);
  return 1;
}

// The last look of a worker that found nothing elsewhere: it still counts as searching.
std::atomic<bool> g_hold{false}, g_held{false};
void hold_who_goes_idle() {
  const Worker* w = thread_self().worker;
  if (!g_hold || w == nullptr || !w->searching || !g_scheduler.global.empty()) return;
  g_held = true;
  while (g_hold) usleep(100);
}

int fake_poll(uint32_t, uint64_t deadline_ns) {
  if (deadline_ns == kDontWait) {
    hold_who_goes_idle();
    int n = take_event();
    // From now on it may come out: whom the event woke may have gone home, to its carrier.
    if (n != 0) g_standing = false;
    return n;
  }
  g_inside = true;
  while (g_standing || (!g_event && !g_interrupted)) usleep(100);
  g_inside = false;
  g_interrupted = false;
  return take_event();
}

const Poller kFake = {fake_poll, [](uint32_t) { g_interrupted = true; }, [](uint32_t) {},
                      [](uint32_t) { return true; }};

// With a task parked on the event, which does `afterwards` then, and a worker in the pump that does
// not come out.
void with_the_poller_standing(
    const std::function<void(const std::function<bool()>& woken)>& body,
    const std::function<void()>& afterwards = [] {}) {
  start_scheduler();
  g_waited_for = 0;
  g_standing = true;
  poller_start(&kFake);
  std::atomic<bool> ran{false};
  spawn([&] {
    {
      RuntimeEntry entry;
      park(&g_waited_for, kForever, [] { return g_waited_for.load() == 0; });
    }
    afterwards();
    ran = true;
  });
  EXPECT_TRUE(until([] { return g_inside.load(); }));
  body([&] { return ran.load(); });
  g_standing = false;
  g_interrupted = true;
  if (!until([&] { return ran.load(); })) abort();  // the task uses this stack
}

TEST(WatchedPump, WhoGoesIdleTakesWhatThePollerHasNotTaken) {
  if (carriers() == 1) GTEST_SKIP() << "nobody could be in the pump while another goes idle";
  with_the_poller_standing([](const std::function<bool()>& woken) {
    spawn([] { g_event = true; });
    EXPECT_TRUE(until(woken));
  });
}

TEST(WatchedPump, WhoIsBusyLooksBetweenTwoTasks) {
  if (carriers() == 1) GTEST_SKIP();
  with_the_poller_standing([](const std::function<bool()>& woken) {
    std::atomic<bool> gave_up{false}, done{false};
    spawn([&] {
      g_event = true;
      while (!woken() && !gave_up) task_yield();  // it never goes idle
      done = true;
    });
    EXPECT_TRUE(until(woken));
    gave_up = true;
    if (!until([&] { return done.load(); })) abort();  // the task uses this stack
  });
}

// Two tasks for two carriers: each computes until the other one runs as well, or for long.
class Meeting {
 public:
  void attend() {
    ++there_;
    while (there_ < 2 && monotonic_ns() < end_) cpu_pause();
    if (there_ < 2) missed_ = true;
    ++left_;
  }
  // For the main thread, at the end.
  bool took_place() {
    if (!until([&] { return left_ == 2; })) abort();  // they use its stack
    return !missed_;
  }

 private:
  const uint64_t end_ = monotonic_ns() + 10'000'000'000;
  std::atomic<int> there_{0}, left_{0};
  std::atomic<bool> missed_{false};
};

// It gave way, and the carrier runs only one of the two.
TEST(WatchedPump, WhoGaveWayIsNotForgottenForAnEvent) {
  if (carriers() == 1) GTEST_SKIP();
  Meeting meeting;
  auto body = [&](const std::function<bool()>&) {
    EXPECT_TRUE(until(sysmon_sleeps));
    spawn([&] {
      g_event = true;
      while (g_event) task_yield();
      meeting.attend();
    });
    EXPECT_TRUE(meeting.took_place());
  };
  with_the_poller_standing(body, [&] { meeting.attend(); });
}

// Both were announced while it still searched; it sees them when it is about to sleep.
TEST(WatchedPump, WhoIsTrustedAsItGoesIdleSeesToAll) {
  if (carriers() == 1) GTEST_SKIP();
  with_the_poller_standing([](const std::function<bool()>&) {
    EXPECT_TRUE(until(sysmon_sleeps));
    g_scheduler.idle.keep_back(0);  // else who is alone does not search
    g_hold = true;
    spawn([] {});
    EXPECT_TRUE(until([] { return g_held.load(); }));
    Meeting meeting;
    for (int i = 0; i < 2; ++i) spawn([&] { meeting.attend(); });
    g_hold = false;
    EXPECT_TRUE(meeting.took_place());
    g_event = true;  // for the task that waits
  });
}

}  // namespace
}  // namespace wisp::test
