// RunQueue (runtime/scheduler/run_queue.h, the very template) under every interleaving: the owner
// pushes and pops while one or two thieves steal. Every item must come out exactly once, or still
// be in the ring at the end. Indices start just below 2^32, so that they overflow in every case.
//
// Not covered: an index that travels all the way round (2^32 operations during one steal).
#include "scheduler/run_queue.h"

#include "model.h"

namespace {

constexpr uint32_t kStart = 0xFFFFFFFFu;

// The queue's own uint32_t members are head_ and tail_, both initialised with 0: here 0 is kStart.
template <typename T>
struct FromStart : model::Atomic<T> {
  using model::Atomic<T>::Atomic;
};
template <>
struct FromStart<uint32_t> : model::Atomic<uint32_t> {
  FromStart(uint32_t v = 0) : model::Atomic<uint32_t>(v + kStart) {}
};
// A compare-and-swap that is none, to see that the explorer would notice.
template <typename T>
struct Torn : FromStart<T> {
  using FromStart<T>::FromStart;
  bool compare_exchange_weak(T& expected, T desired, std::memory_order, std::memory_order) {
    T old = this->load();
    if (old != expected) return expected = old, false;
    this->store(desired, std::memory_order_release);
    return true;
  }
};

struct Item {
  int number;
};
constexpr int kMaxItems = 8;

template <uint32_t Capacity, template <typename> class Atomic>
struct Ring {
  wisp::RunQueue<Item, Capacity, Atomic> queue;
  Item items[kMaxItems];
  // Who got what: written by one thread each, read at the end.
  int taken[4][kMaxItems] = {};
  int pushed = 0;  // owner's

  bool push() {
    if (pushed == kMaxItems) return false;
    items[pushed].number = pushed;
    if (!queue.push(&items[pushed])) return false;
    ++pushed;
    return true;
  }
  bool pop(int thread) {
    Item* item = queue.pop();
    if (item != nullptr) ++taken[thread][item->number];
    return item != nullptr;
  }
  void steal(int thread, uint32_t max) {
    Item* out[Capacity] = {};
    uint32_t n = queue.steal(out, max);
    MODEL_CHECK(n <= max);
    for (uint32_t i = 0; i < n; ++i) {
      MODEL_CHECK(out[i] != nullptr);
      ++taken[thread][out[i]->number];
    }
  }
  void check() {
    while (pop(3)) {
    }
    MODEL_CHECK(queue.empty());
    for (int i = 0; i < kMaxItems; ++i) {
      int times = 0;
      for (auto& by : taken) times += by[i];
      if (i < pushed && times == 0) model::fail("lost");
      if (times > (i < pushed)) model::fail("duplicated");
    }
  }
};

// The owner's program as a word: '+' push, '-' pop, '*' push until full, '/' pop until empty.
template <uint32_t Capacity, template <typename> class Atomic = FromStart>
model::Scenario owner_and_thieves(const char* program, std::vector<std::vector<uint32_t>> thieves) {
  return [=](model::Test& t) {
    auto& r = t.make<Ring<Capacity, Atomic>>();
    t.thread("owner", [&r, program] {
      for (const char* p = program; *p != 0; ++p) {
        switch (*p) {
          case '+':
            r.push();
            break;
          case '-':
            r.pop(0);
            break;
          case '*':
            while (r.push()) {
            }
            break;
          case '/':
            while (r.pop(0)) {
            }
            break;
        }
      }
    });
    for (size_t i = 0; i < thieves.size(); ++i)
      t.thread(i == 0 ? "thief1" : "thief2", [&r, i, &mine = thieves[i]] {
        for (uint32_t max : mine) r.steal(static_cast<int>(i) + 1, max);
      });
    t.finally([&r] { r.check(); });
  };
}

// A hand-off in the middle: the ring changes its owner (as Carrier does, through a locked
// instruction of the one that takes it), the old owner is not seen again.
void owner_changes(model::Test& t) {
  struct State : Ring<4, FromStart> {
    model::Atomic<int> owner{1};
  };
  State& s = t.make<State>();
  t.thread("owner1", [&s] {
    s.push(), s.push();
    s.pop(0);
    s.owner.store(0, std::memory_order_release);  // gives it away
  });
  t.thread("owner2", [&s] {
    s.owner.await([](int o) { return o == 0; });
    int free = 0;
    s.owner.compare_exchange_strong(free, 2);
    s.push(), s.push();
    s.pop(1);
  });
  t.thread("thief", [&s] { s.steal(2, 2), s.steal(2, 1); });
  t.finally([&s] { s.check(); });
}

model::Options fast() {
  model::Options o;
  o.by_value = true;  // everything shared is in Atomics
  return o;
}

const std::vector<model::Case> kCases = {
    {"last_item", nullptr, fast(), owner_and_thieves<2>("+-", {{1}, {1}})},
    {"torn_cas_is_found", "duplicated", fast(), owner_and_thieves<2, Torn>("+-", {{1}})},
    {"torn_cas_between_thieves", "duplicated", fast(),
     owner_and_thieves<2, Torn>("++", {{1}, {1}})},
    {"fill_and_drain", nullptr, fast(), owner_and_thieves<2>("*-*/", {{2, 2}})},
    {"round_and_round", nullptr, fast(), owner_and_thieves<2>("+-+-+-+-", {{2, 1}})},
    {"overwritten_under_the_thief", nullptr, fast(), owner_and_thieves<2>("++--++--", {{2, 2}})},
    {"half_of_many", nullptr, fast(), owner_and_thieves<4>("*--", {{4, 4}})},
    {"two_thieves", nullptr, fast(), owner_and_thieves<4>("+++-+-", {{4}, {4}})},
    {"two_thieves_twice_each", nullptr, fast(), owner_and_thieves<2>("++-+", {{1, 1}, {1, 1}})},
    {"two_thieves_small_ring", nullptr, fast(), owner_and_thieves<2>("*-*", {{2}, {1}})},
    {"by_reads_from", nullptr, {}, owner_and_thieves<2>("++-+-", {{1}, {1}})},
    {"owner_changes", nullptr, {}, owner_changes},
};

}  // namespace

int main(int argc, char** argv) { return model::run_cases(argc, argv, kCases); }
