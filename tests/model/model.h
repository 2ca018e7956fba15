// A small model checker for concurrent code, in the spirit of Relacy and loom: `model::Atomic<T>`
// stands in for std::atomic<T>, a test is a few model threads, and explore() runs them under every
// schedule. Read tests/model/README.md for what that proves and what it does not.
//
// Machine: x86-TSO. Stores go through a FIFO buffer per thread and reach memory at a moment the
// explorer chooses; read-modify-writes, seq_cst stores and seq_cst fences drain the buffer first.
// Nothing weaker is modelled: memory_order arguments below seq_cst change nothing.
#pragma once
#include <stdint.h>
#include <string.h>

#include <atomic>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace model {

struct Options {
  // How the explorer recognises a state it has seen. false: a thread's state is whom it read from,
  // which is right also for plain data guarded by locks or published by atomics. true: what values
  // it read. Far fewer states, but all shared data must live in Atomic, SpinLock or Ghost.
  bool by_value = false;
  bool sequential = false;        // no store buffers: to show what only a store buffer breaks
  int preemptions = -1;           // at most so many switches away from a thread that could go on
  bool count_delays = false;      // and away from one that has stores in its buffer, blocked or not
  uint32_t max_steps = 2000;      // of one execution; beyond it the test fails as a livelock
  uint64_t max_states = 8000000;  // beyond it the result is not complete
  // Called when the search starts anew (engine.h tells why): what a scenario has gathered outside
  // of its own executions is void.
  std::function<void()> restarted;
};

struct Result {
  bool failed = false;
  bool complete = true;  // every schedule within the options was covered
  std::string message;   // what failed
  std::string trace;     // the failing schedule, with as few preemptions as possible
  std::string seed;      // feeds replay()
  uint64_t executions = 0;
  uint64_t states = 0;
};

// One execution's set-up. The scenario runs once per execution and must be deterministic.
class Test {
 public:
  // Shared state; lives until the execution ends. The address is the same in every execution.
  template <typename T, typename... A>
  T& make(A&&... args) {
    T* t = new (allocate(sizeof(T), alignof(T))) T(std::forward<A>(args)...);
    at_end_.push_back([t] { t->~T(); });
    return *t;
  }
  // by_value only: these bytes (no padding that matters; the memory of make() starts as zeros) are
  // part of the state, and taking any SpinLock observes them. For plain data touched only under
  // SpinLocks: states that differ merely in who held a lock when are then the same.
  void watch(const void* data, size_t size);
  // Bodies must own no heap memory through locals: most executions are abandoned half-way.
  void thread(const char* name, std::function<void()> body) { add(name, std::move(body), false); }
  // May stay blocked for ever without that being a deadlock.
  void daemon(const char* name, std::function<void()> body) { add(name, std::move(body), true); }
  // Runs alone when nothing can move any more and all (non-daemon) threads have ended.
  void finally(std::function<void()> check) { finally_ = std::move(check); }

 private:
  friend class Engine;
  struct Body {
    const char* name;
    std::function<void()> run;
    bool daemon;
  };
  void* allocate(size_t size, size_t align);
  void add(const char* name, std::function<void()> body, bool daemon);
  std::vector<Body> bodies_;
  std::vector<std::function<void()>> at_end_;
  std::function<void()> finally_;
};
using Scenario = std::function<void(Test&)>;

Result explore(const Options& options, const Scenario& scenario);
Result replay(const Options& options, const Scenario& scenario, const std::string& seed);

// Where an operation stands in the source, for traces.
struct Site {
  const char* file;
  int line;
  static constexpr Site here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

// --- what model threads call
[[noreturn]] void fail(const char* what, Site at = Site::here());
#define MODEL_CHECK(cond)                         \
  do {                                            \
    if (!(cond)) ::model::fail("broken: " #cond); \
  } while (0)
void fence(std::memory_order order = std::memory_order_seq_cst, Site at = Site::here());
// membarrier(2): returns when every other thread has passed a full barrier since the call.
void membarrier(Site at = Site::here());
void step(Site at = Site::here());  // a moment in which others may run
// The same, and they do not count as preemptions: in a loop that goes on until they have run.
void yield(Site at = Site::here());
// A long time passes: goes on when nothing else can move. What a periodic timer of a monitor is.
void when_quiet(Site at = Site::here());
// "Of all I have read so far I remember only `tag`": at the head of a loop without other live
// locals. Makes by_value recognise that two different pasts have led to the same place; else no
// effect.
void forget(uint64_t tag = 0, Site at = Site::here());
uint32_t choose(uint32_t n, Site at = Site::here());  // every value of 0 .. n-1

namespace detail {
enum class Stamp : uint8_t { Default, Value, Lock };
int new_location(uint64_t initial, Stamp stamp, bool is_lock = false);
void drop_location(int loc);
void set_name(int loc, const char* name);
uint64_t load(int loc, Site at);
void store(int loc, uint64_t value, bool drain, Site at);
uint64_t rmw_read(int loc, Site at);      // the schedule point; the caller goes on with...
void rmw_write(int loc, uint64_t value);  // ...this, or not (a failed CAS)
// An await in the kernel, and when it gives up: `clock` has reached `due`, or nothing else can
// move.
struct GivesUp {
  bool asleep = false;
  int clock = -1;
  uint64_t due = 0;
  bool when_quiet = false;
};
uint64_t await(int loc, bool (*wanted)(const void* context, uint64_t value), const void* context,
               GivesUp gives_up, Site at);
void lock(int loc, Site at);
bool try_lock(int loc, Site at);
void unlock(int loc, Site at);
int futex_wait(int loc, uint64_t expected, bool may_time_out, Site at);
int futex_wake(int loc, int count, Site at);
uint64_t ghost_read(int loc);
void ghost_write(int loc, uint64_t value);
uint64_t plain_read(int loc);
void plain_write(int loc, uint64_t value);
template <typename T>
uint64_t bits(T v) {
  uint64_t b = 0;
  memcpy(&b, &v, sizeof v);
  return b;
}
template <typename T>
T value(uint64_t b) {
  T v;
  memcpy(&v, &b, sizeof v);
  return v;
}
}  // namespace detail

template <typename T>
class Atomic {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
  static constexpr auto kSeqCst = std::memory_order_seq_cst;

 public:
  Atomic(T initial = T{}) : loc_(detail::new_location(bits(initial), detail::Stamp::Default)) {}
  ~Atomic() { detail::drop_location(loc_); }
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  T load(std::memory_order = kSeqCst, Site at = Site::here()) const {
    return value(detail::load(loc_, at));
  }
  void store(T v, std::memory_order order = kSeqCst, Site at = Site::here()) {
    detail::store(loc_, bits(v), order == kSeqCst, at);
  }
  T exchange(T v, std::memory_order = kSeqCst, Site at = Site::here()) {
    return update([&](T) { return v; }, at);
  }
  T fetch_add(T v, std::memory_order = kSeqCst, Site at = Site::here()) {
    return update([&](T old) { return static_cast<T>(old + v); }, at);
  }
  T fetch_sub(T v, std::memory_order = kSeqCst, Site at = Site::here()) {
    return update([&](T old) { return static_cast<T>(old - v); }, at);
  }
  T fetch_or(T v, std::memory_order = kSeqCst, Site at = Site::here()) {
    return update([&](T old) { return static_cast<T>(old | v); }, at);
  }
  T fetch_and(T v, std::memory_order = kSeqCst, Site at = Site::here()) {
    return update([&](T old) { return static_cast<T>(old & v); }, at);
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order = kSeqCst,
                               std::memory_order = kSeqCst, Site at = Site::here()) {
    T old = value(detail::rmw_read(loc_, at));
    if (bits(old) == bits(expected)) {
      detail::rmw_write(loc_, bits(desired));
      return true;
    }
    expected = old;
    return false;
  }
  // x86's never fails spuriously, and neither does this one.
  bool compare_exchange_weak(T& expected, T desired, std::memory_order = kSeqCst,
                             std::memory_order = kSeqCst, Site at = Site::here()) {
    return compare_exchange_strong(expected, desired, kSeqCst, kSeqCst, at);
  }
  // A loop that spins until wanted(value), without its useless rounds.
  template <typename F>
  T await(F wanted, Site at = Site::here()) {
    return await(wanted, detail::GivesUp{}, at);
  }
  // The same in the kernel, with no store left in the buffer: until `clock` has reached `due`, or
  // for a long time (when_quiet). The value tells which it was.
  template <typename F>
  T sleep_until(F wanted, const Atomic& clock, T due, Site at = Site::here()) {
    return await(wanted, detail::GivesUp{true, clock.loc_, bits(due), false}, at);
  }
  template <typename F>
  T sleep_for_long(F wanted, Site at = Site::here()) {
    return await(wanted, detail::GivesUp{true, -1, 0, true}, at);
  }
  template <typename F>
  T sleep(F wanted, Site at = Site::here()) {
    return await(wanted, detail::GivesUp{true, -1, 0, false}, at);
  }
  int futex_wait(T expected, bool may_time_out = false, Site at = Site::here()) {
    return detail::futex_wait(loc_, bits(expected), may_time_out, at);
  }
  int futex_wake(int count, Site at = Site::here()) { return detail::futex_wake(loc_, count, at); }
  void name(const char* name) { detail::set_name(loc_, name); }

 private:
  template <typename F>
  T await(const F& wanted, detail::GivesUp gives_up, Site at) {
    auto call = [](const void* f, uint64_t v) { return (*static_cast<const F*>(f))(value(v)); };
    return value(detail::await(loc_, call, &wanted, gives_up, at));
  }
  template <typename F>
  T update(F next, Site at) {
    T old = value(detail::rmw_read(loc_, at));
    detail::rmw_write(loc_, bits(next(old)));
    return old;
  }
  static uint64_t bits(T v) { return detail::bits(v); }
  static T value(uint64_t b) { return detail::value<T>(b); }
  int loc_;
};

// Blocks instead of spinning; the unlocking store goes through the store buffer, as it does on x86.
class SpinLock {
 public:
  // guards_plain false: what it guards is all Atomic, Plain or Ghost, so that by_value need not ask
  // who held it.
  explicit SpinLock(bool guards_plain = true)
      : loc_(detail::new_location(0, guards_plain ? detail::Stamp::Lock : detail::Stamp::Default,
                                  true)) {}
  ~SpinLock() { detail::drop_location(loc_); }
  void lock(Site at = Site::here()) { detail::lock(loc_, at); }
  bool try_lock(Site at = Site::here()) { return detail::try_lock(loc_, at); }
  void unlock(Site at = Site::here()) { detail::unlock(loc_, at); }

 private:
  int loc_;
};

// The test's own bookkeeping: shared, but no schedule point and no store buffer.
class Ghost {
 public:
  explicit Ghost(uint64_t v = 0) : loc_(detail::new_location(v, detail::Stamp::Value)) {}
  uint64_t get() const { return detail::ghost_read(loc_); }
  void set(uint64_t v) { detail::ghost_write(loc_, v); }
  uint64_t add(int64_t d) {
    uint64_t v = get() + static_cast<uint64_t>(d);
    set(v);
    return v;
  }

 private:
  int loc_;
};

// A plain variable of the code under test, seen by by_value: no schedule point, no buffer, but two
// conflicting accesses without an atomic in between that orders them are a failure.
template <typename T>
class Plain {
 public:
  Plain(T v = T{}) : loc_(detail::new_location(detail::bits(v), detail::Stamp::Value)) {}
  operator T() const { return detail::value<T>(detail::plain_read(loc_)); }
  Plain& operator=(T v) {
    detail::plain_write(loc_, detail::bits(v));
    return *this;
  }
  Plain& operator=(const Plain& other) { return *this = static_cast<T>(other); }
  T operator->() const { return *this; }

 private:
  int loc_;
};

// "At most one at a time": enter() fails while somebody else is inside, and lets others run so that
// they can try.
class Exclusive {
 public:
  void enter(Site at = Site::here()) {
    if (inside_.get() != 0) fail("two inside at once", at);
    inside_.set(1);
    step(at);
  }
  void leave() { inside_.set(0); }

 private:
  Ghost inside_;
};

// --- running a file of tests
struct Case {
  const char* name;
  const char* must_fail_with;  // part of the message; null: must pass
  Options options;
  Scenario scenario;
};
// main() of every test here: all cases; `NAME [SEED]`: one of them with its trace; `--all-but
// NAME...`.
int run_cases(int argc, char** argv, const std::vector<Case>& cases);

}  // namespace model
