// Tasks that wake each other and never run for long: each gets on (give_turn), not only who comes
// first in each round. A bounded queue as java.util.concurrent has it: a lock whose waiters queue,
// and which who comes by takes all the same; conditions whose waiters are moved into that queue.
#include <deque>

#include "scheduler/internal.h"
#include "sync/condition.h"
#include "sync/sleep.h"
#include "unit/sync_support.h"

namespace wisp::test {
namespace {

struct Guard {
  explicit Guard(pthread_mutex_t& m) : m_(m) { mutex_lock(&m_); }
  ~Guard() { mutex_unlock(&m_); }
  pthread_mutex_t& m_;
};

// `held`: signals with the mutex held, as JDK 8; else behind it, as later ones.
class Parker {
 public:
  void park() {
    Guard guard(m_);
    while (!permit_) condition_wait(&c_, &m_, kForever);
    permit_ = false;
  }
  void unpark(bool held) {
    {
      Guard guard(m_);
      permit_ = true;
      if (held) condition_signal(&c_);
    }
    if (!held) condition_signal(&c_);
  }
  bool woken = false;  // of the lock's

 private:
  pthread_mutex_t m_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t c_ = PTHREAD_COND_INITIALIZER;
  bool permit_ = false;
};

struct BargingLock {
  bool signals_held = false;
  pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
  bool locked = false;
  std::deque<Parker*> waiters;

  void lock(Parker* me) {
    {
      Guard guard(own);
      if (!locked) {
        locked = true;
        return;
      }
      waiters.push_back(me);
    }
    acquire(me);
  }
  void acquire(Parker* me) {
    for (;; me->park()) {
      Guard guard(own);
      if (waiters.empty() || waiters.front() != me) continue;
      me->woken = false;
      if (locked) continue;
      locked = true;
      waiters.pop_front();
      return;
    }
  }
  void unlock() {
    Parker* next = nullptr;
    {
      Guard guard(own);
      locked = false;
      if (!waiters.empty() && !waiters.front()->woken) next = waiters.front();
      if (next != nullptr) next->woken = true;
    }
    if (next != nullptr) next->unpark(signals_held);
  }
  void wait(std::deque<Parker*>& condition, Parker* me) {
    condition.push_back(me);
    unlock();
    acquire(me);
  }
  void signal(std::deque<Parker*>& condition) {
    if (condition.empty()) return;
    Guard guard(own);
    waiters.push_back(condition.front());
    condition.pop_front();
  }
};

constexpr int kEach = 4, kRoom = 16;

struct Store {
  BargingLock lock;
  std::deque<Parker*> not_full, not_empty;
  int held = 0;
  bool over = false;

  // False once it is over.
  bool move(int by, Parker* me) {
    lock.lock(me);
    while (!over && (by > 0 ? held == kRoom : held == 0))
      lock.wait(by > 0 ? not_full : not_empty, me);
    bool goes_on = !over;
    held += by;
    lock.signal(by > 0 ? not_empty : not_full);
    lock.unlock();
    return goes_on;
  }
  void end(Parker* me) {
    lock.lock(me);
    over = true;
    while (!not_full.empty()) lock.signal(not_full);
    while (!not_empty.empty()) lock.signal(not_empty);
    lock.unlock();
  }
};

void all_get_on(bool signals_held) {
  Store store;
  store.lock.signals_held = signals_held;
  Parker parkers[2 * kEach], mine;
  std::atomic<int> done[2 * kEach] = {}, left{2 * kEach};
  start_scheduler();
  for (int me = 0; me < 2 * kEach; ++me)
    spawn([&, me] {
      while (store.move(me < kEach ? 1 : -1, &parkers[me])) ++done[me];
      --left;
    });
  EXPECT_TRUE(until([&] {
    for (auto& n : done)
      if (n < 100) return false;
    return true;
  }));
  store.end(&mine);
  EXPECT_TRUE(until([&] { return left == 0; }));
}

// Who waits on a condition is queued there when it unlocks the mutex, and that may wake somebody: a
// turn for that one would end with the waiter queued twice, by the turn and by a signal. That is
// inside the runtime.
TEST(SyncTurns, NoneInsideTheRuntime) {
  pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t c = PTHREAD_COND_INITIALIZER;
  bool over = false;
  run_crew(2, 0, [&](int me) {
    if (me == 1) {
      Guard guard(m);
      while (!over) condition_wait(&c, &m, kForever);
      return;
    }
    bool due = false;
    // The woken one may be gone already: with a thief, or with a carrier that is taken away.
    for (int n = 0; n < 10000 && !due; ++n) {
      task_sleep_until(monotonic_ns() + 100'000);  // the other waits; this one has a carrier
      Carrier* mine = current_task()->carrier;
      if (mine == nullptr) continue;
      mine->turn_at = ~0ull;
      condition_signal(&c);
      mine->turn_at = 0;
      {
        RuntimeEntry entry;
        EXPECT_FALSE(turn_is_due());
      }
      due = turn_is_due();
    }
    EXPECT_TRUE(due);
    {
      Guard guard(m);
      over = true;
    }
    condition_signal(&c);
  });
}

TEST(SyncTurns, SignalsWithTheMutexHeld) { all_get_on(true); }
TEST(SyncTurns, SignalsAfterUnlock) { all_get_on(false); }

}  // namespace
}  // namespace wisp::test
