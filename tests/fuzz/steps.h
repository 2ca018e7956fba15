// Threads that do one thing at a time, so that what they see depends on nothing but the order in
// which they were told: a driver gives an operation to an idle worker and waits until that is done
// or waits for something, and until nobody else ends either. What ended in a step is its log.
// Only the driver touches what is not said to be the worker's.
#pragma once
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace fuzz {

// What of a file an operation uses while it waits. Two that would compete are never given.
enum class Use { In, Out, Watch, Number };
struct Hold {
  Use use;
  int which;  // a file, or, for Number, a slot
};

struct Op {
  std::string text;
  std::function<std::string()> run;  // on a worker or the driver; its answer is logged
  std::function<void()> begins;      // on the driver, when it is given
  std::function<void()> after;       // on the driver, once it is done
  std::vector<Hold> holds;
  bool may_wait = true;
  bool stirs = false;             // something may come of it later, though nobody waits
  bool ends = false;              // by itself, so its end is waited for
  std::function<bool()> expects;  // what other processes or clocks have to do first
  bool takes_signal = false;      // waits for kTaken
  bool may_leave = false;         // a handler may jump out of it, or end its thread there
  // The same once more, for others who wait so at the same time: the log does not say which of them
  // gets what. Nothing where that is not possible (any more).
  std::function<std::optional<Op>()> again;
  int squad = 0;  // one of several, of which again() has made all but the first
};

// Signals of the program; each has a handler that counts.
inline const int kEnding = SIGUSR1;               // without SA_RESTART
inline int restarting() { return SIGRTMIN + 5; }  // with it
inline int last_call() { return SIGRTMIN + 6; }   // without, never blocked: ends what still waits
inline const int kTaken = SIGUSR2;                // blocked everywhere, for sigwait
inline int for_descriptor() { return SIGRTMIN + 7; }  // the same, for signalfd
// Their handlers do not come back, where the operation may be left: a jump, the thread's end.
inline int leaving() { return SIGRTMIN + 8; }
inline int quitting() { return SIGRTMIN + 9; }
constexpr int kSignals = 4;  // ending, restarting, last call, SIGPIPE

enum class State { Idle, Busy, Done };

struct Worker {
  pthread_t thread;
  int number;
  sem_t go;
  std::atomic<State> state{State::Idle};
  bool leaves = false;
  bool odd = false;  // has a mask or pending signals of its own, so nobody can stand for it
  sigjmp_buf back;
  std::atomic<bool> may_leave{false};
  std::atomic<bool> over{false};  // the thread has ended
  Op op;
  std::string result;
  std::atomic<int> handled[kSignals];
  int logged[kSignals] = {};
};

class Steps {
 public:
  // False: no workers could be had.
  bool begin(int workers, int settle_ms, bool expect_tasks);
  // One who is idle, and stands for any other, if that is wanted.
  Worker* idle(bool even = false);
  std::vector<Worker*>& workers() { return workers_; }
  int busy() const;
  // On worker w, or on the driver (null).
  void step(Worker* w, Op op);
  // Ends what waits. False: something could not be ended.
  bool finish();
  void describe_busy() const;
  // Logs what has ended since.
  void settle_done() { log_done(); }

 private:
  void settle(const Worker* given, bool stirs, const std::function<bool()>& expects);
  void log_done();
  void log_squads();
  void log_signals();
  bool wait_slice(int ms);

  std::vector<Worker*> workers_;
  int settle_ms_ = 15;  // so long nobody may want a processor
  int number_ = 0;
};

// What system calls return: a number, or the name of the error.
std::string answer(long r);
// The same where the number depends on how the kernel cuts things: only whether it is all.
std::string answer_in_part(long r, long all);
std::string checksum(const void* bytes, long size);
std::string text_of(const char* format, ...) __attribute__((format(printf, 1, 2)));
// What a worker runs changes its mask, or leaves it a signal.
void is_odd_from_now_on();
int64_t now_ns();
void sleep_ms(long ms);
void install_handlers(bool handle_pipe);
// A "Java" thread (tests/preload/fake_jvm.c): a task under Wisp.
bool start_thread(pthread_t* thread, void* (*run)(void*), void* argument);

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 2 + 1) {
    for (int i = 0; i < 4; ++i) next();
  }
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(next() >> 33) % n; }
  bool one_in(uint32_t n) { return below(n) == 0; }
  template <typename T, size_t N>
  T of(const T (&choices)[N]) {
    return choices[below(N)];
  }

 private:
  uint64_t next() {  // splitmix64
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  uint64_t state_;
};

}  // namespace fuzz
