// The end of a thread on a thread block: thread_local destructors and pthread keys.
#include <gtest/gtest.h>

#include "coroutine_test_support.h"

#if WISP_SWITCH_FS

#include <limits.h>

#include <vector>

#include "coroutine/key_registry.h"

using namespace wisp;
using namespace wisp::test;

namespace {

struct Tracked {
  static inline int alive = 0;
  static inline int destroyed = 0;
  Tracked() { alive++; }
  ~Tracked() { alive--, destroyed++; }
  int value = 1;
};
thread_local Tracked tracked;

TEST(ThreadEnd, ThreadLocalDestructorsRunOnce) {
  int alive = Tracked::alive, destroyed = Tracked::destroyed;
  Block block;
  run_as_thread(&block, [&] {
    tracked.value = 3;
    EXPECT_EQ(Tracked::alive, alive + 1);
  });
  EXPECT_EQ(Tracked::alive, alive);
  EXPECT_EQ(Tracked::destroyed, destroyed + 1);
  run_as_thread(
      &block, [] {}, true);
  EXPECT_EQ(Tracked::destroyed, destroyed + 1);
  run_as_thread(
      &block, [] { EXPECT_EQ(tracked.value, 1); }, true);
  EXPECT_EQ(Tracked::destroyed, destroyed + 2);
}

pthread_key_t key;
int key_calls;
void* key_last;

void key_destructor(void* value) {
  key_calls++;
  key_last = value;
  EXPECT_EQ(pthread_getspecific(key), nullptr);
  // Sets itself again: POSIX allows a bounded number of rounds.
  if (value == &key_calls) pthread_setspecific(key, value);
}

TEST(ThreadEnd, KeyDestructorsRun) {
  pthread_key_t plain;
  key_calls = 0;
  ASSERT_EQ(pthread_key_create(&key, key_destructor), 0);
  ASSERT_EQ(pthread_key_create(&plain, nullptr), 0);
  key_created(key, key_destructor);
  key_created(plain, nullptr);
  Block block;
  int value = 0;
  auto body = [&] {
    EXPECT_EQ(pthread_getspecific(key), nullptr);
    EXPECT_EQ(pthread_getspecific(plain), nullptr);
    pthread_setspecific(key, &value);
    pthread_setspecific(plain, &value);
  };
  run_as_thread(&block, body);
  EXPECT_EQ(key_calls, 1);
  EXPECT_EQ(key_last, &value);
  run_as_thread(&block, body, true);
  EXPECT_EQ(key_calls, 2);
  run_as_thread(
      &block, [] { pthread_setspecific(key, &key_calls); }, true);
  EXPECT_EQ(key_calls, 2 + PTHREAD_DESTRUCTOR_ITERATIONS);
  key_deleted(key);
  run_as_thread(&block, body, true);
  EXPECT_EQ(key_calls, 2 + PTHREAD_DESTRUCTOR_ITERATIONS);
  pthread_key_delete(key);
  pthread_key_delete(plain);
}

TEST(ThreadEnd, KeysBeyondTheFirstBlock) {
  std::vector<pthread_key_t> keys(200);
  for (auto& each : keys) ASSERT_EQ(pthread_key_create(&each, nullptr), 0);
  Block block;
  for (int round = 0; round < 2; round++) {
    run_as_thread(
        &block,
        [&] {
          for (auto& each : keys) {
            EXPECT_EQ(pthread_getspecific(each), nullptr);
            EXPECT_EQ(pthread_setspecific(each, &each), 0);
          }
          for (auto& each : keys) EXPECT_EQ(pthread_getspecific(each), &each);
        },
        round > 0);
  }
  for (auto& each : keys) pthread_key_delete(each);
}

TEST(ThreadEnd, ThreadLocalTouchedByAKeyDestructor) {
  int destroyed = Tracked::destroyed;
  pthread_key_t late;
  auto destructor = [](void*) { tracked.value = 2; };
  ASSERT_EQ(pthread_key_create(&late, destructor), 0);
  key_created(late, destructor);
  Block block;
  run_as_thread(&block, [&] { pthread_setspecific(late, &late); });
  EXPECT_EQ(Tracked::destroyed, destroyed + 1);
  key_deleted(late);
  pthread_key_delete(late);
}

}  // namespace

#endif
