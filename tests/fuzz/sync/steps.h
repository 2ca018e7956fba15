// sync_steps: threads, locks and signals one step at a time, so that what racing threads do is the
// same in every run of a seed. One driver draws operations and gives one at a time to an idle
// worker; then it waits until the worker is done, or nothing has happened for a while: those that
// are not done then are blocked. What was done, with results and errno, is the log. It has to be
// the same on plain threads and under Wisp.
//
// Where the system has a choice (which waiter is woken, which handler runs first) the generator
// leaves only one to choose from, or the log has sums.
#pragma once
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace steps {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ull + 1) {}
  uint64_t next();
  int below(int n) { return static_cast<int>(next() % static_cast<uint64_t>(n)); }
  bool one_in(int n) { return below(n) == 0; }
  template <typename T>
  T of(std::initializer_list<T> list) {
    return *(list.begin() + below(static_cast<int>(list.size())));
  }

 private:
  uint64_t state_;
};

// What an operation gave: a number or error number `rc`, errno where rc is -1, and a word more.
struct Result {
  long rc = 0;
  int error = 0;
  std::string note = {};
};
// Of functions that return -1 and set errno; of those that return an error number.
Result by_errno(long rc, std::string note = "");
Result by_number(int error, std::string note = "");

struct Worker;
struct Op {
  std::string name;
  std::function<Result(Worker&)> body;
  // Once it is done; the driver calls it.
  std::function<void(Worker&, const Result&)> after;
  // What has to happen besides, to one who computes and may wait for a processor long.
  std::function<bool()> expects;
  bool ends_by_itself = true;  // else it may wait for others
  bool touches_others = true;  // else nobody else is looked at after it
  std::string waits_as;        // what it waits for meanwhile, for the generator: "mutex 1"
};

// A Java thread is a task under Wisp, others are not.
enum class Kind { Java, Native };

enum class State { Idle, Given, Done, Ended, Gone };

// What is told from handlers, destructors and helper threads: no allocation there.
struct Event {
  const char* what;
  long a, b, c;
};

class Events {
 public:
  void add(const char* what, long a = 0, long b = 0, long c = 0);
  std::vector<std::string> take();  // sorted, equal ones counted
  int count() const { return written_.load(); }

 private:
  static constexpr int kRoom = 4096;
  Event list_[kRoom];
  std::atomic<int> written_{0}, ready_{0};
  int taken_ = 0;
};

struct Worker {
  int index = 0;
  Kind kind = Kind::Java;
  pthread_t thread{};
  pid_t tid = 0;
  std::atomic<State> state{State::Gone};
  std::atomic<bool> running{false};  // between the beginning and the end of an op
  const Op* op = nullptr;
  Op current;
  Result result;
  Events events;
  bool canceled = false;  // asked for
  bool cancel_off = false;
  bool end_seen = false;
  bool detached = false;
  bool joined_by_op = false;  // somebody waits for its end
  long end_value = 0;
  // Of this thread's signals; the driver's picture.
  uint64_t blocked = 0;
  bool has_stack = false;
  char* stack = nullptr;
  // For handlers that jump out of a wait.
  void* jump = nullptr;
  std::atomic<bool> stop{false};  // ends a computation
  int depth = 0;                  // of handlers
  bool busy() const { return state.load() == State::Given; }
  bool idle() const { return state.load() == State::Idle; }
};

constexpr int kMaxWorkers = 6;
constexpr size_t kSignalStack = 64 << 10;

// The worker that calls, or null: the driver, the first thread, a helper.
extern thread_local Worker* t_me;

// How an idle worker waits for the next op.
enum class IdleBy { Sleeps, Semaphore, Pipe, Condition };

struct World {
  explicit World(uint64_t seed) : random(seed) {
    for (int i = 0; i < kMaxWorkers; ++i) workers[i].index = i;
  }
  Random random;
  int workers_wanted = 3;
  Worker workers[kMaxWorkers];
  Events elsewhere;  // of threads that are no workers
  IdleBy idle_by = IdleBy::Sleeps;
  int settle_ms = 15;
  int step = 0;
  uint64_t seed = 0;
  bool driver_is_thread = false;
  std::vector<std::function<void(int)>> when_ended;  // of workers, for owners of locks

  // Somebody who waits as this, or null.
  Worker* waiting(const std::string& as);
  int count_waiting(const std::string& as);
  int count_busy();
  Worker* idle_worker();  // a random one, or null
  Worker* any_living();   // busy or idle
  void log(const char* format, ...) __attribute__((format(printf, 2, 3)));
  // Gives the op to the worker (null: the driver does it itself) and waits until all is quiet.
  void give(Worker* w, Op op);
  bool start_worker(Kind kind, int index, const pthread_attr_t* attributes, const char* how);

 private:
  void settle(Worker* w, const std::function<bool()>& expects);
  bool all_asleep();
  bool collect();
};
extern World* g_world;

// Makes an op that `w` may do now, or says that it has none.
using Maker = bool (*)(World&, Worker*, Op*);
struct Family {
  const char* name;
  void (*prepare)(World&);
  std::vector<Maker> makers;
};
bool accept_cancellation(World&, Worker*, Op*);
Family mutex_family();
Family condition_family();
Family rwlock_family();
Family semaphore_family();
Family barrier_family();
Family futex_family();
Family once_family();
Family c11_family();
Family sleep_family();
Family signal_family();
Family signal_wait_family();
Family timer_family();
Family thread_family();
Family identity_family();
Family process_family();

// How the program ends: by the seed.
void end_program(World& world);

int start_thread(Kind kind, pthread_t* thread, const pthread_attr_t* attributes,
                 void* (*run)(void*), void* argument);
// Wakes a worker for its op.
void tell_worker(Worker& w);

std::string error_name(int error);
uint64_t now_ns(clockid_t clock);
timespec after_ms(clockid_t clock, long ms);  // ms may be negative
std::string format(const char* f, ...) __attribute__((format(printf, 1, 2)));
void sleep_ms(long ms);
// "early" unless at least that much has gone by on the clock since `start`.
std::string unless_after(clockid_t clock, uint64_t start, long ms);

}  // namespace steps
