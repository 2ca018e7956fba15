// See steps.h.
#include "steps.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "fake_jvm.h"
#include "quiet.h"
#include "sync/kernel_threads.h"

namespace fuzz {

bool start_thread(pthread_t* thread, void* (*run)(void*), void* argument) {
  return start_java(thread, nullptr, run, argument) == 0;
}

namespace {

sem_t g_news;  // a worker is done
thread_local Worker* t_self = nullptr;
std::atomic<int> g_tasks{0};

pthread_key_t g_end;

// It runs within a thread that a handler has ended in the middle of an operation.
void ended(void* worker) {
  auto* self = static_cast<Worker*>(worker);
  if (self->leaves) return;
  self->result = "its thread has ended";
  self->over.store(true);
  self->state.store(State::Done);
  sem_post(&g_news);
}

int index_of(int signal) {
  if (signal == kEnding) return 0;
  if (signal == restarting()) return 1;
  return signal == last_call() ? 2 : 3;
}

void handler(int signal) {
  int saved = errno;
  if (t_self != nullptr) t_self->handled[index_of(signal)].fetch_add(1);
  errno = saved;
}

// Not at a moment at which the operation has ended.
void leave(int signal) {
  if (t_self == nullptr || !t_self->may_leave.exchange(false)) return;
  if (signal == quitting()) pthread_exit(nullptr);
  siglongjmp(t_self->back, 1);
}

void* work(void* argument) {
  auto* self = static_cast<Worker*>(argument);
  t_self = self;
  pthread_setspecific(g_end, self);
  if (gettid() >= 4 * 1024 * 1024) g_tasks.fetch_add(1);  // beyond what the kernel gives out
  for (;;) {
    while (sem_wait(&self->go) != 0) {
    }
    if (self->leaves) return nullptr;
    if (self->op.run) {
      if (sigsetjmp(self->back, 1) == 0) {
        self->may_leave.store(self->op.may_leave);
        self->result = self->op.run();
        self->may_leave.store(false);
      } else {
        self->result = "left by a jump";
      }
    }
    self->state.store(State::Done);
    sem_post(&g_news);
  }
}

}  // namespace

int64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * int64_t{1000000000} + t.tv_nsec;
}

void sleep_ms(long ms) {
  timespec t{ms / 1000, ms % 1000 * 1000000};
  while (nanosleep(&t, &t) != 0 && errno == EINTR) {
  }
}

std::string text_of(const char* format, ...) {
  char buffer[400];
  va_list list;
  va_start(list, format);
  vsnprintf(buffer, sizeof buffer, format, list);
  va_end(list);
  return buffer;
}

std::string answer(long r) {
  if (r >= 0) return std::to_string(r);
  const char* name = strerrorname_np(errno);
  return name != nullptr ? name : "errno " + std::to_string(errno);
}

std::string answer_in_part(long r, long all) { return r <= 0 || r == all ? answer(r) : "part"; }

std::string checksum(const void* bytes, long size) {
  uint32_t h = 2166136261u;
  for (long i = 0; i < size; ++i) h = (h ^ static_cast<const uint8_t*>(bytes)[i]) * 16777619u;
  return size > 0 ? text_of(" #%04x", h & 0xffff) : "";
}

void install_handlers(bool handle_pipe) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigaction(kEnding, &action, nullptr);
  sigaction(last_call(), &action, nullptr);
  action.sa_flags = SA_RESTART;
  sigaction(restarting(), &action, nullptr);
  action.sa_handler = leave;
  sigaction(leaving(), &action, nullptr);
  sigaction(quitting(), &action, nullptr);
  action.sa_handler = handler;
  if (!handle_pipe) action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, nullptr);
  sigset_t taken;
  sigemptyset(&taken);
  sigaddset(&taken, kTaken);
  sigaddset(&taken, for_descriptor());
  pthread_sigmask(SIG_BLOCK, &taken, nullptr);
}

namespace {

// It has run nothing yet but is ready.
bool start_worker(Worker* w) {
  Op op = std::move(w->op);
  w->op = Op();
  if (!start_thread(&w->thread, work, w)) return false;
  w->state.store(State::Busy);
  sem_post(&w->go);
  while (w->state.load() != State::Done) sem_wait(&g_news);
  w->op = std::move(op);
  return true;
}

}  // namespace

bool Steps::begin(int workers, int settle_ms, bool expect_tasks) {
  settle_ms_ = settle_ms;
  sem_init(&g_news, 0, 0);
  pthread_key_create(&g_end, ended);
  begin_canaries();
  begin_to_count_stops();
  for (int i = 0; i < workers; ++i) {
    auto* w = new Worker;
    w->number = i;
    for (auto& n : w->handled) n.store(0);
    sem_init(&w->go, 0, 0);
    if (!start_worker(w)) return false;
    workers_.push_back(w);
    w->state.store(State::Idle);
  }
  return g_tasks.load() == (expect_tasks ? workers : 0);
}

void is_odd_from_now_on() {
  if (t_self != nullptr) t_self->odd = true;
}

Worker* Steps::idle(bool even) {
  for (Worker* w : workers_)
    if (w->state.load() == State::Idle && (!even || !w->odd)) return w;
  return nullptr;
}

int Steps::busy() const {
  return static_cast<int>(std::count_if(workers_.begin(), workers_.end(), [](const Worker* w) {
    return w->state.load() == State::Busy;
  }));
}

// True: a worker has ended an operation. False: none has in this time.
bool Steps::wait_slice(int ms) {
  int64_t until = now_ns() + ms * int64_t{1000000};
  timespec t{until / 1000000000, until % 1000000000};
  int r;
  while ((r = sem_clockwait(&g_news, CLOCK_MONOTONIC, &t)) != 0 && errno == EINTR) {
  }
  return r == 0;
}

// Until nobody has ended anything for a while in which no thread wanted a processor; at a moment at
// which the kernel's own threads have had theirs, who may do the rest of what was asked for.
void Steps::settle(const Worker* given, bool stirs, const std::function<bool()>& expects) {
  constexpr int kSlice = 2;
  auto goes_on = [given] { return given != nullptr && given->state.load() == State::Busy; };
  int64_t began = now_ns();
  for (int quiet = 0;;) {
    int64_t waited = now_ns() - began;
    if (wait_slice(kSlice))
      quiet = 0;
    else if (waited > 20000000000)
      return;
    else if ((goes_on() && given->op.ends) || (expects && !expects()) ||
             steps::runnable_threads() > 1)
      continue;
    else
      quiet += kSlice;
    if (!stirs && busy() == 0 && !goes_on()) return;
    if (quiet < settle_ms_) continue;
    ask_canaries();
    if (sem_trywait(&g_news) == 0 || steps::runnable_threads() > 1)
      quiet = 0;
    else
      return;
  }
}

void Steps::log_signals() {
  static const char* const kNames[kSignals] = {"ending", "restarting", "last", "pipe"};
  for (Worker* w : workers_)
    for (int i = 0; i < kSignals; ++i) {
      int n = w->handled[i].load();
      // One for a write to a pipe that has lost its reader in the middle, by the kernel; two, by
      // Wisp (docs/compatibility.md).
      if (n != w->logged[i] && i == 3)
        printf("    w%d handled pipe\n", w->number);
      else if (n != w->logged[i])
        printf("    w%d handled %s %d\n", w->number, kNames[i], n - w->logged[i]);
      w->logged[i] = n;
    }
}

// Of those who did the same the log tells how many have ended, and with what. From then on the
// others stand for those who have not.
void Steps::log_squads() {
  std::vector<int> told;
  for (Worker* w : workers_) {
    const int which = w->op.squad;
    if (which == 0 || std::find(told.begin(), told.end(), which) != told.end()) continue;
    told.push_back(which);
    std::vector<Worker*> squad;
    std::vector<int> numbers;
    for (Worker* v : workers_)
      if (v->op.squad == which) squad.push_back(v), numbers.push_back(v->number);
    auto key = [](Worker* v) {
      return v->state.load() == State::Done ? v->result : std::string(1, '\x7f');
    };
    std::stable_sort(squad.begin(), squad.end(),
                     [&key](Worker* a, Worker* b) { return key(a) < key(b); });
    for (size_t i = 0; i < squad.size(); ++i) squad[i]->number = numbers[i];
  }
  std::sort(workers_.begin(), workers_.end(),
            [](Worker* a, Worker* b) { return a->number < b->number; });
}

void Steps::log_done() {
  log_signals();
  log_squads();
  for (Worker* w : workers_) {
    if (w->state.load() != State::Done) continue;
    if (w->op.squad != 0)
      printf("    one of those of %s = %s\n", w->op.text.c_str(), w->result.c_str());
    else
      printf("    w%d %s = %s\n", w->number, w->op.text.c_str(), w->result.c_str());
    if (w->over.exchange(false)) {
      pthread_join(w->thread, nullptr);
      w->odd = false;
      start_worker(w);
    }
    if (w->op.after) w->op.after();
    w->op = Op();
    w->state.store(State::Idle);
  }
  fflush(stdout);
}

void Steps::step(Worker* w, Op op) {
  ++number_;
  if (w == nullptr) {
    printf("%d driver %s\n", number_, op.text.c_str());
    fflush(stdout);
    std::string result = op.run();
    printf("    = %s\n", result.c_str());
    if (op.after) op.after();
    if (busy() != 0 || op.stirs) settle(nullptr, op.stirs, op.expects);
  } else {
    printf("%d w%d %s\n", number_, w->number, op.text.c_str());
    fflush(stdout);
    bool stirs = op.stirs;
    auto expects = op.expects;
    w->op = std::move(op);
    w->state.store(State::Busy);
    sem_post(&w->go);
    settle(w, stirs, expects);
  }
  log_done();
}

bool Steps::finish() {
  // One signal ends what waits; a second one tells of a lost first. One by one: the end of a call
  // may be what another one waits for.
  for (int round = 0; round < 100 && busy() != 0; ++round)
    for (Worker* w : std::vector<Worker*>(workers_)) {
      if (w->state.load() != State::Busy) continue;
      printf("end w%d%s\n", w->number, round != 0 ? " again" : "");
      fflush(stdout);
      pthread_kill(w->thread, w->op.takes_signal ? kTaken : last_call());
      settle(nullptr, true, {});
      log_done();
    }
  if (busy() != 0) return false;
  for (Worker* w : workers_) {
    w->leaves = true;
    sem_post(&w->go);
    pthread_join(w->thread, nullptr);
  }
  return true;
}

void Steps::describe_busy() const {
  for (const Worker* w : workers_)
    if (w->state.load() == State::Busy) printf("HANG w%d %s\n", w->number, w->op.text.c_str());
  fflush(stdout);
}

}  // namespace fuzz
