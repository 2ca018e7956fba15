// The explorer's inside: one Engine runs one execution after the other, each with the choices of
// the previous one up to a point and a new choice there (depth-first search by replay).
//
// A model thread runs until its next visible operation, announces it (Pending) and switches to the
// engine. So between two visible operations a thread is atomic, which is sound because everything
// in between is its own: locals, and stores into its own buffer. What can happen next (a thread's
// pending operation, or the oldest store of a buffer reaching memory) is the list of choices.
//
// A load that no other thread can interfere with is no visible operation either: of a location that
// nobody else ever writes, or is written only under a SpinLock which the loading thread holds.
// Which those are is guessed (all of them), and the search starts anew when a guess proves wrong.
//
// States seen before are cut off. A state is: memory, buffers, futex queues, and of each thread a
// hash of all it has observed: that determines its stack.
#pragma once
#include <setjmp.h>
#include <ucontext.h>

#include "model.h"

namespace model {

enum class Op : uint8_t {
  Start,
  Load,
  Await,
  Store,
  Rmw,
  Fence,
  Membarrier,
  Lock,
  FutexWait,
  FutexSleep,
  FutexWake,
  Step,
  Yield,
  Quiet,
  Done
};

struct Pending {
  Op op = Op::Start;
  int loc = -1;
  bool (*wanted)(const void*, uint64_t) = nullptr;
  const void* context = nullptr;
  bool may_time_out = false;
  detail::GivesUp gives_up{};
  Site at{"", 0};
};

// A vector clock: how much of each thread's past is known here. Only for data races on Plain.
struct Clock {
  static constexpr int kThreads = 8;
  uint32_t of[kThreads] = {};
  void join(const Clock& other) {
    for (int i = 0; i < kThreads; ++i)
      if (other.of[i] > of[i]) of[i] = other.of[i];
  }
  bool covers(const Clock& other) const {
    for (int i = 0; i < kThreads; ++i)
      if (other.of[i] > of[i]) return false;
    return true;
  }
};

struct Location {
  uint64_t value, stamp;
  detail::Stamp kind;
  int dead_by;        // kAlive, or the thread that destroyed it
  uint64_t lock_bit;  // of a SpinLock; else 0
  const char* name = nullptr;
  Clock written{},
      read{};  // Plain: by whom and when; else `written` is what the last store published
};
constexpr int kAlive = -2, kOutside = -1;

struct Buffered {
  int loc;
  uint64_t value, stamp;
  Clock published;
};

struct Thread {
  static constexpr size_t kStack = 128 * 1024;
  static constexpr int kBuffer = 32;
  // Fiber: made once with ucontext; afterwards `base` restarts it and `resume` continues it.
  jmp_buf base, resume;
  ucontext_t context;
  char* stack = nullptr;
  // Execution.
  const char* name = "";
  bool daemon = false;
  Pending pending;
  uint64_t history = 0;
  Clock clock;
  Buffered buffer[kBuffer];
  int buffered = 0;
  uint64_t pushed = 0, flushed = 0;  // stores ever buffered, and ever written back
  uint64_t settled = 0;              // `pushed` at the last visible operation, see membarrier()
  bool woken = false;
  uint64_t held = 0;              // SpinLocks, by Location::lock_bit
  std::vector<uint64_t> barrier;  // membarrier: each thread's `settled` when it began
};

// Of 64-bit hashes: eight bytes a state, which std::unordered_set is far from.
class HashSet {
 public:
  HashSet() { clear(); }
  bool insert(uint64_t key);  // false: it was there
  size_t size() const { return size_; }
  void clear() {
    table_.assign(1 << 12, 0);
    size_ = 0;
  }

 private:
  std::vector<uint64_t> table_;  // 0 = free
  size_t size_;
};

class Engine {
 public:
  Engine(const Options& options, const Scenario& scenario);
  ~Engine();
  void explore(Result& result);
  void replay(Result& result, const std::string& seed);

  // Called on model threads, through model.h.
  void visible(Op op, int loc, Site at);
  void visible(const Pending& pending);
  void observe(uint64_t what);
  uint32_t decide(uint32_t n);                              // chosen by the search
  uint64_t read(int loc, uint64_t* stamp = nullptr) const;  // through the current thread's buffer
  void write(int loc, uint64_t value);                      // straight to memory
  void publish(int loc);               // with that write, all that the current thread knows
  void push(int loc, uint64_t value);  // into the current thread's buffer
  [[noreturn]] void fail(const std::string& what, Site at);
  void log(const char* what, int loc, uint64_t value);
  bool private_to_current(int loc) const;   // nobody else can write it now
  void note_write(int loc);                 // by the current thread
  void hold(int lock, bool yes);            // so does the current thread
  void learn(int loc);                      // the current thread knows what its last writer knew
  void plain_access(int loc, bool writes);  // fails on a data race

  const Options options_;
  std::vector<Location> locations_;
  std::vector<Thread*> threads_;
  std::vector<int> sleepers_;  // threads asleep on futexes, oldest first
  int current_ = kOutside;     // who runs; kOutside: set-up or final check
  uint32_t steps_ = 0;
  static constexpr size_t kArena = 1 << 20;
  char* arena_;
  size_t arena_used_ = 0;
  std::vector<std::pair<const char*, size_t>> watched_;
  uint64_t hash_watched() const;

 private:
  enum class End { Done, Cut, Failed };
  struct Choice {
    uint32_t taken, count;
  };
  End run_once();
  End finish(Test& test);
  bool next_prefix();
  bool enabled(int thread) const;
  bool leaving_counts() const;  // for another thread than the last one
  bool barrier_passed(const Thread& t) const;
  void options_at(std::vector<int>& out) const;
  void flush(int thread);
  void resume(int thread);
  uint64_t key() const;
  std::string name_of(int loc) const;
  std::string stuck() const;
  void log_flush(const Thread& t, const Buffered& b);
  static void fiber_main();
  void start_fiber(int index);
  std::string seed() const;

  const Scenario& scenario_;
  jmp_buf engine_;
  Test* test_ = nullptr;
  std::vector<Thread*> pool_;
  std::vector<Choice> choices_;
  size_t depth_ = 0;
  int last_ = kOutside;  // whose operation came last
  int preempted_ = 0;
  HashSet seen_;
  static constexpr int kNobody = -1, kSeveral = -2;
  // By location made in set-up: which thread writes it, and which SpinLocks every writer holds.
  struct Writes {
    int thread = kNobody;
    uint64_t locks = ~0ull;
  };
  std::vector<Writes> writes_, writes_at_start_;  // the latter is part of this execution's seed
  bool guess_was_wrong_ = false;
  bool tracing_ = false, failed_ = false;
  std::string trace_, message_;
};

extern Engine* g_engine;

inline uint64_t mix(uint64_t h, uint64_t v) {
  h ^= v + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2);
  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ull;
  h = (h ^ (h >> 27)) * 0x94d049bb133111ebull;
  return h ^ (h >> 31);
}

}  // namespace model
