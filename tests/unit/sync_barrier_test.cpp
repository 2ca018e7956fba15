// Barriers: nobody passes early, one serial thread per generation, destroyed by the first through.
#include "sync/barrier.h"
#include "unit/sync_support.h"

namespace wisp::test {

TEST(SyncBarrier, KnowsTheLayout) {
  const char* why = nullptr;
  EXPECT_TRUE(barrier_layout_probe(&why)) << why;
}

TEST(SyncBarrier, NobodyPassesEarly) {
  pthread_barrier_t b;
  pthread_barrier_init(&b, nullptr, 6);
  std::atomic<int> arrived{0}, serial{0};
  run_crew(4, 2, [&](int) {
    for (int n = 1; n <= 100 * kScale; ++n) {
      ++arrived;
      if (barrier_wait(&b) == PTHREAD_BARRIER_SERIAL_THREAD) ++serial;
      ASSERT_GE(arrived, 6 * n);
      barrier_wait(&b);
      ASSERT_LE(arrived, 6 * (n + 1));
    }
  });
  EXPECT_EQ(100 * kScale, serial);
  EXPECT_EQ(0, barrier_destroy(&b));
}

TEST(SyncBarrier, MoreThreadsThanItsCount) {
  pthread_barrier_t b;
  pthread_barrier_init(&b, nullptr, 2);
  std::atomic<int> serial{0}, tickets{800 * kScale};  // an even number: nobody is left alone
  run_crew(6, 2, [&](int) {
    while (--tickets >= 0)
      if (barrier_wait(&b) == PTHREAD_BARRIER_SERIAL_THREAD) ++serial;
  });
  EXPECT_EQ(800 * kScale / 2, serial);
}

TEST(SyncBarrier, GoesOnWhereLibcEnded) {
  real::ensure();
  for (bool used : {false, true}) {
    pthread_barrier_t b;
    pthread_barrier_init(&b, nullptr, 2);
    std::thread other([&] { pthread_barrier_wait(&b); });
    pthread_barrier_wait(&b);
    other.join();
    std::atomic<int> serial{0};
    if (used)
      run_crew(1, 1, [&](int) {
        for (int n = 0; n < 100; ++n)
          if (barrier_wait(&b) == PTHREAD_BARRIER_SERIAL_THREAD) ++serial;
      });
    EXPECT_EQ(used ? 100 : 0, serial);
    EXPECT_EQ(0, barrier_destroy(&b));
  }
}

TEST(SyncBarrier, DestroyedByTheFirstThrough) {
  for (int round = 0; round < 50 * kScale; ++round) {
    auto* b = new pthread_barrier_t;
    pthread_barrier_init(b, nullptr, 3);
    run_crew(2, 1, [&](int) {
      if (barrier_wait(b) == PTHREAD_BARRIER_SERIAL_THREAD) {
        EXPECT_EQ(0, barrier_destroy(b));
        delete b;
      }
    });
  }
}

}  // namespace wisp::test
