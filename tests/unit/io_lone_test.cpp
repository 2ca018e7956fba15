// What a carrier does before each wait for the only connection that there is: scheduler/worker.cpp.
#include <thread>

#include "scheduler/internal.h"
#include "unit/io_support.h"

namespace wisp::test {
namespace {

struct Counts {
  uint64_t idles = 0, searches = 0, looks = 0, busy_us = 0;
};
Counts counts() {
  Counts all;
  for (uint32_t i = 0; i < g_scheduler.carrier_count; ++i) {
    const Carrier& c = g_scheduler.carriers[i];
    all.idles += c.idles.load();
    all.searches += c.failed_steals.load();
    all.looks += c.polls.load();
    all.busy_us += c.busy.up_to(ticks()) / g_ticks_per_us;
  }
  return all;
}

TEST(IoLone, NobodySearchesOrLooksInVain) {
  constexpr int kTrips = 100;
  start_scheduler();
  Pipe there, back;
  std::thread other([&] {
    char c;
    while (::read(there.in, &c, 1) == 1 && c != 'q') {
      usleep(100);  // so that it has gone to sleep
      EXPECT_EQ(::write(back.out, &c, 1), 1);
    }
  });
  run_tasks({[&] {
    char c = 0;
    auto trips = [&](int n) {
      for (int i = 0; i < n; ++i) {
        EXPECT_EQ(io::write(there.out, &c, 1), 1);
        EXPECT_EQ(io::read(back.in, &c, 1), 1);
      }
    };
    trips(100);  // what a start brings is over
    // One carrier is kept back at times, where there are several: asked for is what happens then.
    auto kept = [] { return carriers() == 1 || g_scheduler.idle.kept_back() != 0; };
    Counts before, after;
    for (uint64_t end = monotonic_ns() + 20'000'000'000; monotonic_ns() < end;) {
      bool began = kept();
      before = counts();
      trips(kTrips);
      after = counts();
      if (began && kept()) break;
    }
    if (!kept()) GTEST_SKIP() << "none is kept back where a trip takes half a millisecond";
    uint64_t idles = after.idles - before.idles;
    EXPECT_GE(idles, kTrips / 2u);
    // Each time they did before; one of two carriers is kept back, and nobody else is up.
    uint64_t searches = after.searches - before.searches, looks = after.looks - before.looks;
    if (carriers() <= 2) {
      EXPECT_LE(searches, idles / 4);
      uint64_t due = 0;
#if defined(__SANITIZE_THREAD__)
      // One is due anyway when a carrier was busy for 50 us: a trip takes as long there.
      due = (after.busy_us - before.busy_us) / 50;
#endif
      EXPECT_LE(looks, idles / 3 + due);
      return;
    }
    // Of more two are wanted: the other one is woken to wait in the event pump, searches and looks
    // for itself, and at the other part: how often depends on what a switch takes (TSan).
    EXPECT_LE(searches, idles * 3 / 4);
  }});
  EXPECT_EQ(::write(there.out, "q", 1), 1);
  other.join();
}

}  // namespace
}  // namespace wisp::test
