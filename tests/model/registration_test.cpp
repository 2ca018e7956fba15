// A descriptor's registration with the event pump against those who wait for it: that it is taken
// out while somebody begins to wait (pump_retire), and that it asks for room to write only from the
// first such wait on (pump_ask_out). Copied under their own names, reduced to what takes part:
// make_ready and park_on (io/wait.cpp), wait_for_any (io/poll_wait.cpp), add
// (io/epoll_control.cpp), pump_register, pump_retire, pump_ask_out (io/registration.cpp), deliver
// (io/event_pump.cpp). Keep alike.
//
// Checked: whoever waits hears of what comes. Bounds: two who wait, one retirement, one life.
#include "model.h"

namespace {

using model::Atomic;
using model::Plain;

enum Fault : uint32_t {
  kNone = 0,
  kTrustsFlags = 1,     // who parks does not look at the flags once more
  kLooksBefore = 2,     // the retirement looks for waiters before the flag is gone
  kNoLook = 4,          // and this one not at all
  kFlagsBeforeBit = 8,  // who parks looks at the flags, then sets its bit
  kTrustsAsked = 16,    // who has registered does not look once more what is asked for
  kAskNoChange = 32,    // a registration that is there is not changed
};

constexpr uint32_t kRegistering = 1, kRegistered = 2;
enum Way : uint32_t { kIn = 1, kOut = 2 };

struct Word {
  Atomic<uint32_t> value{0};
  model::SpinLock bucket{false};
  Plain<uint32_t> parked;     // under the lock
  Atomic<uint32_t> wakes{0};  // as many may go on
};

struct System {
  System(uint32_t f, bool registered) : faults(f) {
    if (!registered) return;
    state.store(kRegistered);
    interest = kIn;
  }
  const uint32_t faults;
  Atomic<uint32_t> state{0}, asked{0}, pollers{0};
  Word in, out;
  // The kernel's: what it is ready for, what the pump asks for, an event not yet taken.
  model::SpinLock kernel{false};
  Plain<uint32_t> ready, interest;
  Atomic<uint32_t> event{0};

  bool has(Fault f) const { return (faults & f) != 0; }
  Word& word_of(Way way) { return way == kIn ? in : out; }

  // --- the kernel
  void becomes_ready(Way way) {
    kernel.lock();
    ready = ready | way;
    if ((interest & way) != 0) event.fetch_or(ready & interest);
    kernel.unlock();
  }
  bool try_it(Way way) {
    kernel.lock();
    bool is = (ready & way) != 0;
    kernel.unlock();
    return is;
  }
  enum Operation { kAdd, kModify, kRemove };
  void control(Operation operation, uint32_t events) {
    kernel.lock();
    if (operation != kModify || interest != 0) {
      interest = operation == kRemove ? 0u : events;
      event.exchange(operation == kRemove ? 0 : ready & interest);
    }
    kernel.unlock();
  }

  // --- io/registration.cpp
  uint32_t wanted() { return kIn | (asked.load() != 0 ? kOut : 0u); }
  void finish() {
    uint32_t told = wanted();
    control(kAdd, told);
    set_flags(kRegistered, kRegistering);
    if (!has(kTrustsAsked) && wanted() != told) control(kModify, wanted());
  }
  void set_flags(uint32_t set, uint32_t clear) {
    uint32_t s = state.load();
    while (!state.compare_exchange_weak(s, (s | set) & ~clear)) {
    }
  }
  bool announce() {
    uint32_t s = state.load();
    do {
      if (s != 0) return false;
    } while (!state.compare_exchange_weak(s, kRegistering));
    return true;
  }
  void pump_register() {
    if (announce()) finish();
  }
  void pump_ask_out() {
    if (asked.load() != 0) return;
    asked.fetch_or(1);
    if ((state.load() & kRegistered) != 0 && !has(kAskNoChange)) control(kModify, wanted());
  }
  bool anybody() { return pollers.load() != 0 || ((in.value.load() | out.value.load()) & 1) != 0; }
  void pump_retire() {
    uint32_t s = state.load();
    do {
      if (s != kRegistered) return;
    } while (!state.compare_exchange_weak(s, kRegistering));
    control(kRemove, 0);
    bool waited = has(kLooksBefore) && anybody();
    set_flags(0, kRegistering);
    if (!has(kLooksBefore) && !has(kNoLook)) waited = anybody();
    if (waited && announce()) finish();
  }

  // --- io/wait.cpp
  void make_ready() {
    if (state.load() == 0) pump_register();
  }
  bool park_on(Word& word, uint32_t seen) {
    word.bucket.lock();
    if (has(kFlagsBeforeBit) && state.load() == 0) return word.bucket.unlock(), false;
    uint32_t w = word.value.load();
    bool parks = true;
    do {
      if ((w & ~1u) != seen) parks = false;
    } while (parks && (w & 1) == 0 && !word.value.compare_exchange_weak(w, w | 1));
    if (parks && !has(kTrustsFlags) && !has(kFlagsBeforeBit)) parks = state.load() != 0;
    if (parks) word.parked = word.parked + 1;
    word.bucket.unlock();
    return parks;
  }
  void call_waits(Way way) {
    Word& word = word_of(way);
    for (;;) {
      model::forget();
      uint32_t seen = word.value.load() & ~1u;
      if (try_it(way)) return;
      if (way == kOut) pump_ask_out();
      make_ready();
      if (!park_on(word, seen)) continue;
      word.wakes.await([](uint32_t n) { return n != 0; });
      word.wakes.fetch_sub(1);
    }
  }
  // --- io/poll_wait.cpp, one who waits for input
  void poll_waits() {
    for (;;) {
      model::forget();
      make_ready();
      pollers.store(1, std::memory_order_relaxed);
      model::fence();
      bool found = try_it(kIn), watched = has(kTrustsFlags) || state.load() != 0;
      if (!found && watched) fired.await([](uint32_t v) { return v != 0; });
      pollers.exchange(0);
      fired.store(0);
      if (found) return;
    }
  }
  Atomic<uint32_t> fired{0};
  // --- io/epoll_control.cpp: added to an instance of the program's, which is told of what comes.
  void item_is_told() {
    do {
      make_ready();
      pollers.store(1, std::memory_order_relaxed);
      model::fence();
    } while (!has(kTrustsFlags) && state.load() == 0);
    if (!try_it(kIn)) fired.await([](uint32_t v) { return v != 0; });
  }

  // --- io/event_pump.cpp
  void word_move(Word& word) {
    uint32_t w = word.value.load();
    while (!word.value.compare_exchange_weak(w, (w & ~1u) + 2)) {
    }
    if ((w & 1) == 0) return;
    word.bucket.lock();
    if (word.parked != 0) word.wakes.fetch_add(word.parked);
    word.parked = 0u;
    word.bucket.unlock();
  }
  void pump_main() {
    for (;;) {
      model::forget();
      event.await([](uint32_t v) { return v != 0; });
      uint32_t e = event.exchange(0);
      if ((e & kIn) != 0) word_move(in);
      if ((e & kOut) != 0) word_move(out);
      if ((e & kIn) != 0 && pollers.load() != 0) fired.store(1);
    }
  }
};

enum class Who { Call, Poll, Item, Writer };

// Each of `who` begins to wait while the descriptor is taken out, and then it becomes ready.
model::Scenario waits(uint32_t faults, std::vector<Who> who, bool registered = true,
                      bool retired = true) {
  return [=](model::Test& t) {
    System& s = t.make<System>(faults, registered);
    t.daemon("pump", [&s] { s.pump_main(); });
    int n = 0;
    bool in = false, out = false;
    for (Who w : who) {
      const char* name = ++n == 1 ? "first" : "second";
      (w == Who::Writer ? out : in) = true;
      if (w == Who::Call) t.thread(name, [&s] { s.call_waits(kIn); });
      if (w == Who::Poll) t.thread(name, [&s] { s.poll_waits(); });
      if (w == Who::Item) t.thread(name, [&s] { s.item_is_told(); });
      if (w == Who::Writer) t.thread(name, [&s] { s.call_waits(kOut); });
    }
    if (registered && retired) t.thread("retirer", [&s] { s.pump_retire(); });
    t.thread("peer", [&s, in, out] {
      if (in) s.becomes_ready(kIn);
      if (out) s.becomes_ready(kOut);
    });
  };
}

model::Options fast() {
  model::Options o;
  o.by_value = true;  // all plain data is Plain
  return o;
}

// For two who wait, beside the pump, the retirement and the peer.
model::Options bounded() {
  model::Options o = fast();
  o.preemptions = 2;
  return o;
}

constexpr auto kLost = "deadlock";
const std::vector<model::Case> kCases = {
    {"call", nullptr, fast(), waits(kNone, {Who::Call})},
    {"two_calls", nullptr, bounded(), waits(kNone, {Who::Call, Who::Call})},
    {"poll", nullptr, fast(), waits(kNone, {Who::Poll})},
    {"item", nullptr, fast(), waits(kNone, {Who::Item})},
    {"call_trusts_flags", kLost, fast(), waits(kTrustsFlags, {Who::Call})},
    {"poll_trusts_flags", kLost, fast(), waits(kTrustsFlags, {Who::Poll})},
    {"item_trusts_flags", kLost, fast(), waits(kTrustsFlags, {Who::Item})},
    {"flags_before_bit", kLost, fast(), waits(kFlagsBeforeBit, {Who::Call})},
    {"looks_before", kLost, fast(), waits(kLooksBefore, {Who::Call})},
    {"no_look", kLost, fast(), waits(kNoLook, {Who::Call})},
    {"item_no_look", kLost, fast(), waits(kNoLook, {Who::Item})},
    {"writer", nullptr, fast(), waits(kNone, {Who::Writer})},
    {"writer_registers", nullptr, fast(), waits(kNone, {Who::Writer}, false)},
    {"reader_and_writer", nullptr, bounded(), waits(kNone, {Who::Call, Who::Writer}, false)},
    {"trusts_asked", kLost, fast(), waits(kTrustsAsked, {Who::Call, Who::Writer}, false)},
    {"ask_no_change", kLost, fast(), waits(kAskNoChange, {Who::Writer}, true, false)},
};

}  // namespace

int main(int argc, char** argv) { return model::run_cases(argc, argv, kCases); }
