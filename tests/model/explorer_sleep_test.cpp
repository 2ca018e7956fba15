// The explorer's own tests: sleeping, clocks, and what counts as a preemption.
#include "model.h"

namespace {

using model::Atomic;
using model::Case;
using model::Options;
using model::Test;
constexpr auto relaxed = std::memory_order_relaxed;

// Asleep until another thread's clock has got there; woken by nobody.
void timed_sleep(Test& t) {
  struct State {
    Atomic<uint32_t> word{0}, now{0};
  };
  State& s = t.make<State>();
  t.thread("sleeper", [&s] {
    s.word.sleep_until([](uint32_t v) { return v != 0; }, s.now, 2u);
    MODEL_CHECK(s.now.load() == 2);
  });
  t.thread("clock", [&s] {
    s.now.store(1);
    s.now.store(2);
  });
}
// Who goes to sleep, be it for no time, leaves nothing in its store buffer; who spins may.
model::Scenario late_store(bool sleeps) {
  return [=](Test& t) {
    struct State {
      Atomic<uint32_t> word{1}, x{0}, y{0};
      model::Ghost r1{1}, r2{1};
    };
    State& s = t.make<State>();
    t.thread("one", [=, &s] {
      s.x.store(1, relaxed);
      auto set = [](uint32_t v) { return v != 0; };
      sleeps ? s.word.sleep(set) : s.word.await(set);
      s.r1.set(s.y.load());
    });
    t.thread("two", [&s] {
      s.y.store(1);
      s.r2.set(s.x.load());
    });
    t.finally([&s] { MODEL_CHECK(s.r1.get() == 1 || s.r2.get() == 1); });
  };
}
// After a long time the others have done all they could.
void long_sleep(Test& t) {
  struct State {
    Atomic<uint32_t> word{0}, steps{0};
  };
  State& s = t.make<State>();
  t.thread("sleeper", [&s] {
    s.word.sleep_for_long([](uint32_t v) { return v != 0; });
    MODEL_CHECK(s.steps.load() == 2);
  });
  t.thread("other", [&s] {
    s.steps.store(1, relaxed);
    s.steps.store(2, relaxed);
  });
}
// A loop that waits for another thread, without an await.
model::Scenario loop(bool yields) {
  return [=](Test& t) {
    Atomic<uint32_t>& flag = t.make<Atomic<uint32_t>>(0u);
    t.thread("loop", [=, &flag] {
      while (flag.load() == 0) {
        model::forget();
        yields ? model::yield() : model::step();
      }
    });
    t.thread("other", [&flag] { flag.store(1); });
  };
}

Options bounded(int preemptions, bool count_delays = false) {
  Options o;
  o.preemptions = preemptions;
  o.count_delays = count_delays;
  return o;
}
Options unpreempted_by_value() {
  Options o = bounded(0);
  o.by_value = true;
  return o;
}

const std::vector<Case> kCases = {
    {"timed_sleep", nullptr, {}, timed_sleep},
    {"long_sleep", nullptr, {}, long_sleep},
    {"late_store", "s.r1.get() == 1", {}, late_store(false)},
    {"sleep_drains", nullptr, {}, late_store(true)},
    {"late_store_without_preemption", "s.r1.get() == 1", bounded(0), late_store(false)},
    {"no_late_store", nullptr, bounded(0, true), late_store(false)},
    {"one_late_store", "s.r1.get() == 1", bounded(1, true), late_store(false)},
    {"loop_that_yields", nullptr, unpreempted_by_value(), loop(true)},
    {"loop_unpreempted", "livelock", unpreempted_by_value(), loop(false)},
};

}  // namespace

int main(int argc, char** argv) { return model::run_cases(argc, argv, kCases); }
