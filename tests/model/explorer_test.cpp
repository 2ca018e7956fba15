// The explorer itself: bugs everybody knows must be found, their repairs must pass. See also
// explorer_outcomes_test.cpp, which compares whole sets of outcomes.
#include "model.h"

using model::Atomic;
using model::Case;
using model::Options;
using model::Test;
constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto release = std::memory_order_release;
constexpr auto acquire = std::memory_order_acquire;

namespace {

// --- store buffering: both write, then both read the other's
enum class Guard { None, Fence, SeqCst, Membarrier, CompilerOnly };
struct Pair {
  Atomic<int> x{0}, y{0};
  int r1 = -1, r2 = -1;
};
void store_then_load(Atomic<int>& mine, Atomic<int>& other, int& seen, Guard guard) {
  mine.store(1, guard == Guard::SeqCst ? std::memory_order_seq_cst : release);
  if (guard == Guard::Fence) model::fence();
  if (guard == Guard::Membarrier) model::membarrier();
  seen = other.load(acquire);
}
model::Scenario store_buffering(Guard left, Guard right) {
  return [=](Test& t) {
    Pair& s = t.make<Pair>();
    t.thread("left", [&s, left] { store_then_load(s.x, s.y, s.r1, left); });
    t.thread("right", [&s, right] { store_then_load(s.y, s.x, s.r2, right); });
    t.finally([&s] { MODEL_CHECK(s.r1 == 1 || s.r2 == 1); });
  };
}

void message_passing(Test& t) {
  Pair& s = t.make<Pair>();
  t.thread("writer", [&s] {
    s.x.store(1, relaxed);
    s.y.store(1, release);
  });
  t.thread("reader", [&s] {
    if (s.y.load(acquire) == 1) MODEL_CHECK(s.x.load(relaxed) == 1);
  });
}

// A thread sees its own store before anybody else does: allowed by TSO, so it must be found.
void forwarding(Test& t) {
  Pair& s = t.make<Pair>();
  auto body = [](Atomic<int>& mine, Atomic<int>& other, int& result) {
    mine.store(1, relaxed);
    int own = mine.load(relaxed);
    result = own * 2 + other.load(relaxed);
  };
  t.thread("left", [=, &s] { body(s.x, s.y, s.r1); });
  t.thread("right", [=, &s] { body(s.y, s.x, s.r2); });
  t.finally([&s] { MODEL_CHECK(!(s.r1 == 2 && s.r2 == 2)); });
}

// --- Dekker's entry protocol, one attempt each
model::Scenario dekker(Guard left, Guard right) {
  return [=](Test& t) {
    struct State : Pair {
      model::Exclusive inside;
    };
    State& s = t.make<State>();
    auto enter = [&s](Atomic<int>& mine, Atomic<int>& other, Guard g) {
      int seen;
      store_then_load(mine, other, seen, g);
      if (seen == 0) {
        s.inside.enter();
        s.inside.leave();
      }
      mine.store(0, release);
    };
    t.thread("left", [=, &s] { enter(s.x, s.y, left); });
    t.thread("right", [=, &s] { enter(s.y, s.x, right); });
  };
}

// --- increments
void lost_update(Test& t) {
  Atomic<int>& n = t.make<Atomic<int>>(0);
  for (const char* name : {"one", "two"}) t.thread(name, [&n] { n.store(n.load() + 1); });
  t.finally([&n] { MODEL_CHECK(n.load() == 2); });
}
void no_lost_update(Test& t) {
  Atomic<int>& n = t.make<Atomic<int>>(0);
  for (const char* name : {"one", "two", "three"}) t.thread(name, [&n] { n.fetch_add(1); });
  t.finally([&n] { MODEL_CHECK(n.load() == 3); });
}

// --- wake-ups
model::Scenario wake_up(bool test_in_kernel) {
  return [=](Test& t) {
    struct State {
      Atomic<uint32_t> flag{0}, bell{0};
    };
    State& s = t.make<State>();
    t.thread("sleeper", [&s, test_in_kernel] {
      if (test_in_kernel)
        while (s.flag.load() == 0) s.flag.futex_wait(0);
      else if (s.flag.load() == 0)
        s.bell.futex_wait(0);  // the flag may have risen since
    });
    t.thread("waker", [&s, test_in_kernel] {
      s.flag.store(1, release);
      (test_in_kernel ? s.flag : s.bell).futex_wake(1);
    });
  };
}
// "Announce sleep, look again" against "publish work, look for sleepers": needs both fences.
model::Scenario announce_sleep(bool fence_left, bool fence_right) {
  return [=](Test& t) {
    struct State {
      Atomic<uint32_t> work{0}, asleep{0}, bell{0};
    };
    State& s = t.make<State>();
    t.thread("sleeper", [=, &s] {
      s.asleep.store(1, relaxed);
      if (fence_left) model::fence();
      if (s.work.load(acquire) == 0) s.bell.futex_wait(0);
    });
    t.thread("waker", [=, &s] {
      s.work.store(1, release);
      if (fence_right) model::fence();
      if (s.asleep.load(acquire) == 1) {
        s.bell.store(1, release);
        s.bell.futex_wake(1);
      }
    });
  };
}

// --- ABA: a stack whose nodes come back
model::Scenario stack_pop(bool tagged) {
  return [=](Test& t) {
    struct State {
      Atomic<uint32_t> head{1};              // index of the top node | tag << 8
      Atomic<uint32_t> next[3] = {0, 2, 0};  // 1 -> 2 -> end
      model::Ghost taken[3];
    };
    State& s = t.make<State>();
    auto pop = [&s, tagged]() -> uint32_t {
      uint32_t head = s.head.load();
      while ((head & 255) != 0) {
        uint32_t next = s.next[head & 255].load();
        uint32_t tag = tagged ? (head >> 8) + 1 : 0;
        if (s.head.compare_exchange_strong(head, next | tag << 8)) break;
      }
      if ((head & 255) != 0) MODEL_CHECK(s.taken[head & 255].add(1) == 1);
      return head & 255;
    };
    auto push = [&s](uint32_t node) {
      s.taken[node].set(0);
      uint32_t head = s.head.load();
      do s.next[node].store(head & 255, relaxed);
      while (!s.head.compare_exchange_strong(head, node | (head & ~255u)));
    };
    t.thread("slow", [=] { pop(), pop(); });
    t.thread("fast", [=] {
      uint32_t a = pop();
      pop();
      if (a != 0) push(a);
    });
  };
}

// --- blocking
void lock_order(Test& t) {
  struct State {
    model::SpinLock a, b;
  };
  State& s = t.make<State>();
  t.thread("ab", [&s] { s.a.lock(), s.b.lock(), s.b.unlock(), s.a.unlock(); });
  t.thread("ba", [&s] { s.b.lock(), s.a.lock(), s.a.unlock(), s.b.unlock(); });
}
void spin_for_ever(Test& t) {
  Pair& s = t.make<Pair>();
  t.thread("spinner", [&s] {
    while (s.x.load() == 0) {
    }
  });
  t.thread("other", [&s] { s.y.store(1); });
}
void destroyed_too_early(Test& t) {
  struct State {
    Atomic<Atomic<int>*> shared{nullptr};
  };
  State& s = t.make<State>();
  t.thread("owner", [&s] {
    Atomic<int> local(0);
    s.shared.store(&local);
    if (local.load() == 0) return;  // should have waited
  });
  t.thread("user", [&s] {
    if (Atomic<int>* p = s.shared.load()) p->store(1);
  });
}
// Two states that differ only in plain data behind a lock are two states.
void plain_data_is_seen(Test& t) {
  struct State {
    model::SpinLock lock;
    int order[2] = {0, 0};
    int count = 0;
  };
  State& s = t.make<State>();
  for (int me : {1, 2})
    t.thread(me == 1 ? "one" : "two", [&s, me] {
      s.lock.lock();
      s.order[s.count++] = me;
      s.lock.unlock();
      model::step();
    });
  t.finally([&s] { MODEL_CHECK(s.order[0] == 1); });
}

model::Scenario published(bool flag_first) {
  return [=](Test& t) {
    struct State {
      model::Plain<int> data{0};
      Atomic<int> flag{0};
    };
    State& s = t.make<State>();
    t.thread("writer", [=, &s] {
      if (flag_first) s.flag.store(1, release);
      s.data = 7;
      if (!flag_first) s.flag.store(1, release);
    });
    t.thread("reader", [&s] {
      if (s.flag.load(acquire) == 1) MODEL_CHECK(s.data == 7);
    });
  };
}
// A lock orders what comes before its release, not what comes after.
model::Scenario touched_by_lock_holder(bool after_release) {
  return [=](Test& t) {
    struct State {
      model::SpinLock lock;
      model::Plain<int> data{0};
    };
    State& s = t.make<State>();
    t.thread("one", [=, &s] {
      s.lock.lock();
      if (!after_release) s.data = 1;
      s.lock.unlock();
      if (after_release) s.data = 1;
    });
    t.thread("two", [&s] {
      s.lock.lock();
      s.data = 2;
      s.lock.unlock();
    });
  };
}

Options sequential() {
  Options o;
  o.sequential = true;
  return o;
}
Options by_value() {
  Options o;
  o.by_value = true;
  return o;
}
Options bounded(int preemptions) {
  Options o;
  o.preemptions = preemptions;
  return o;
}

const std::vector<Case> kCases = {
    {"store_buffering", "s.r1 == 1", {}, store_buffering(Guard::None, Guard::None)},
    {"store_buffering_by_value", "s.r1 == 1", by_value(),
     store_buffering(Guard::None, Guard::None)},
    {"store_buffering_one_fence", "s.r1 == 1", {}, store_buffering(Guard::Fence, Guard::None)},
    {"store_buffering_sequential", nullptr, sequential(),
     store_buffering(Guard::None, Guard::None)},
    {"store_buffering_fences", nullptr, {}, store_buffering(Guard::Fence, Guard::Fence)},
    {"store_buffering_seq_cst", nullptr, {}, store_buffering(Guard::SeqCst, Guard::SeqCst)},
    {"store_buffering_membarrier",
     nullptr,
     {},
     store_buffering(Guard::Membarrier, Guard::CompilerOnly)},
    {"message_passing", nullptr, {}, message_passing},
    {"forwarding", "s.r1 == 2", {}, forwarding},
    {"dekker_bare", "two inside", {}, dekker(Guard::None, Guard::None)},
    {"dekker_sequential", nullptr, sequential(), dekker(Guard::None, Guard::None)},
    {"dekker_one_fence", "two inside", {}, dekker(Guard::None, Guard::Fence)},
    {"dekker_fences", nullptr, {}, dekker(Guard::Fence, Guard::Fence)},
    {"dekker_membarrier", nullptr, {}, dekker(Guard::Membarrier, Guard::CompilerOnly)},
    {"lost_update", "n.load() == 2", {}, lost_update},
    {"lost_update_without_preemption", nullptr, bounded(0), lost_update},
    {"lost_update_one_preemption", "n.load() == 2", bounded(1), lost_update},
    {"no_lost_update", nullptr, {}, no_lost_update},
    {"lost_wake_up", "deadlock", {}, wake_up(false)},
    {"futex_tests_the_word", nullptr, {}, wake_up(true)},
    {"announce_sleep_bare", "deadlock", {}, announce_sleep(false, false)},
    {"announce_sleep_fence_left", "deadlock", {}, announce_sleep(true, false)},
    {"announce_sleep_fence_right", "deadlock", {}, announce_sleep(false, true)},
    {"announce_sleep_fences", nullptr, {}, announce_sleep(true, true)},
    {"aba", "taken", {}, stack_pop(false)},
    {"aba_by_value", "taken", by_value(), stack_pop(false)},
    {"aba_tagged", nullptr, {}, stack_pop(true)},
    {"lock_order", "deadlock", {}, lock_order},
    {"spin_for_ever", "livelock", {}, spin_for_ever},
    {"destroyed_too_early", "destroyed", {}, destroyed_too_early},
    {"published", nullptr, by_value(), published(false)},
    {"published_too_early", "data race", by_value(), published(true)},
    {"touched_under_lock", nullptr, by_value(), touched_by_lock_holder(false)},
    {"touched_after_unlock", "data race", by_value(), touched_by_lock_holder(true)},
    {"plain_data", "order[0] == 1", {}, plain_data_is_seen},
    {"plain_data_by_value", "order[0] == 1", by_value(), plain_data_is_seen},
};

}  // namespace

int main(int argc, char** argv) { return model::run_cases(argc, argv, kCases); }
