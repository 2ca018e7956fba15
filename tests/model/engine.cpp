// The search: which step comes next, and which executions are left to try. See engine.h.
#include "engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

namespace model {

Engine* g_engine = nullptr;

Engine::Engine(const Options& options, const Scenario& scenario)
    : options_(options), arena_(static_cast<char*>(calloc(1, kArena))), scenario_(scenario) {}

Engine::~Engine() {
  for (Thread* t : pool_) {
    munmap(t->stack, Thread::kStack);
    delete t;
  }
  free(arena_);
}

// --- what can happen next
bool Engine::barrier_passed(const Thread& t) const {
  for (size_t j = 0; j < t.barrier.size(); ++j)
    if (threads_[j]->flushed < t.barrier[j]) return false;
  return true;
}

bool Engine::enabled(int thread) const {
  const Thread& t = *threads_[thread];
  const Pending& p = t.pending;
  switch (p.op) {
    case Op::Start:
    case Op::Load:
    case Op::Step:
    case Op::Yield:
      return true;
    case Op::Await: {
      if (p.gives_up.asleep && t.buffered != 0) return false;
      if (p.gives_up.clock >= 0 && locations_[p.gives_up.clock].value >= p.gives_up.due)
        return true;
      // As the thread itself would see it.
      for (int i = t.buffered - 1; i >= 0; --i)
        if (t.buffer[i].loc == p.loc) return p.wanted(p.context, t.buffer[i].value);
      return p.wanted(p.context, locations_[p.loc].value);
    }
    case Op::Store:
    case Op::Rmw:
    case Op::Fence:
    case Op::FutexWait:
    case Op::FutexWake:
      return t.buffered == 0;
    case Op::Membarrier:
      return t.buffered == 0 && barrier_passed(t);
    case Op::Lock:
      return t.buffered == 0 && locations_[p.loc].value == 0;
    case Op::FutexSleep:
      return t.woken || p.may_time_out;
    case Op::Quiet:  // see options_at, as for an await that gives up when all is quiet
    case Op::Done:
      return false;
  }
  return false;
}

bool Engine::leaving_counts() const {
  if (last_ == kOutside || threads_[last_]->pending.op == Op::Yield) return false;
  return enabled(last_) || (options_.count_delays && threads_[last_]->buffered > 0);
}

// Thread i's operation is 2i, its buffer's oldest store 2i+1. The first choice is the tamest:
// stores reach memory at once and the same thread goes on. So a failure's schedule shows what it
// needs.
void Engine::options_at(std::vector<int>& out) const {
  out.clear();
  const int n = static_cast<int>(threads_.size());
  for (int i = 0; i < n; ++i)
    if (i == last_ && threads_[i]->buffered > 0) out.push_back(2 * i + 1);
  bool can_go_on = last_ != kOutside && enabled(last_);
  if (can_go_on) out.push_back(2 * last_);
  bool may_switch =
      options_.preemptions < 0 || preempted_ < options_.preemptions || !leaving_counts();
  for (int i = 0; i < n; ++i) {
    if (i == last_) continue;
    if (threads_[i]->buffered > 0) out.push_back(2 * i + 1);
    if (may_switch && enabled(i)) out.push_back(2 * i);
  }
  if (!out.empty()) return;
  for (int i = 0; i < n; ++i)
    if (threads_[i]->pending.op == Op::Quiet || threads_[i]->pending.gives_up.when_quiet)
      out.push_back(2 * i);
}

uint32_t Engine::decide(uint32_t n) {
  if (n <= 1) return 0;
  if (depth_ == choices_.size()) choices_.push_back({0, n});
  Choice& c = choices_[depth_++];
  if (c.count == 0) c.count = n;  // from a seed
  if (c.count != n || c.taken >= n) {
    fprintf(stderr, "model: the scenario is not deterministic, or the seed is not its own\n");
    abort();
  }
  return c.taken;
}

// Only locations made in set-up have the same number in every execution.
bool Engine::private_to_current(int loc) const {
  if (loc >= static_cast<int>(writes_.size()) || current_ == kOutside) return false;
  const Writes& w = writes_[loc];
  // Under their common lock the last writer's stores have reached memory, and no other can follow.
  return w.thread == kNobody || w.thread == current_ || (w.locks & threads_[current_]->held) != 0;
}
void Engine::note_write(int loc) {
  if (loc >= static_cast<int>(writes_.size()) || current_ == kOutside) return;
  Writes& w = writes_[loc];
  int thread = w.thread == kNobody || w.thread == current_ ? current_ : kSeveral;
  uint64_t locks = w.locks & threads_[current_]->held;
  if (thread == w.thread && locks == w.locks) return;
  guess_was_wrong_ = true;
  w = {thread, locks};
}

void Engine::flush(int thread) {
  Thread* t = threads_[thread];
  Buffered b = t->buffer[0];
  for (int i = 1; i < t->buffered; ++i) t->buffer[i - 1] = t->buffer[i];
  --t->buffered;
  ++t->flushed;
  Location& l = locations_[b.loc];
  log_flush(*t, b);
  if (l.dead_by != kAlive && l.dead_by != thread) {
    failed_ = true;
    message_ = "a buffered store hits what another thread has destroyed: " + name_of(b.loc);
  }
  l.value = b.value;
  l.stamp = b.stamp;
  l.written = b.published;
}

Engine::End Engine::finish(Test& test) {
  bool stuck_for_good = false;
  for (size_t i = 0; i < threads_.size(); ++i)
    if (threads_[i]->pending.op != Op::Done && !threads_[i]->daemon) stuck_for_good = true;
  if (stuck_for_good) {
    message_ = "deadlock: " + stuck();
    return End::Failed;
  }
  if (test.finally_ && _setjmp(engine_) == 0) test.finally_();
  return failed_ ? End::Failed : End::Done;
}

Engine::End Engine::run_once() {
  locations_.clear();
  sleepers_.clear();
  trace_.clear();
  memset(arena_, 0, arena_used_);
  arena_used_ = 0;
  watched_.clear();
  depth_ = 0;
  steps_ = 0;
  last_ = current_ = kOutside;
  preempted_ = 0;
  Test test;
  test_ = &test;
  scenario_(test);
  writes_.resize(locations_.size());
  writes_at_start_ = writes_;
  threads_.clear();
  for (size_t i = 0; i < test.bodies_.size(); ++i) {
    if (i == pool_.size()) pool_.push_back(new Thread);
    Thread* t = pool_[i];
    t->name = test.bodies_[i].name;
    t->daemon = test.bodies_[i].daemon;
    t->pending = Pending{};
    t->history = i;
    t->buffered = 0;
    t->pushed = t->flushed = t->settled = 0;
    t->woken = false;
    t->held = 0;
    t->clock = Clock{};
    if (i >= Clock::kThreads) abort();
    t->clock.of[i] = 1;
    t->barrier.clear();
    threads_.push_back(t);
  }
  // Up to its first visible operation a thread touches nothing shared: no choice to make.
  for (size_t i = 0; i < threads_.size() && !failed_; ++i) start_fiber(static_cast<int>(i));
  End end = End::Done;
  std::vector<int> next;
  while (!failed_) {
    options_at(next);
    if (next.empty()) {
      end = finish(test);
      break;
    }
    if (++steps_ > options_.max_steps) {
      message_ = "livelock? too many steps; " + stuck();
      failed_ = true;
      break;
    }
    if (next.size() > 1 && depth_ == choices_.size() && !seen_.insert(key())) {
      end = End::Cut;
      break;
    }
    int pick = next[decide(static_cast<uint32_t>(next.size()))];
    if (pick & 1) {
      flush(pick / 2);
      continue;
    }
    if (pick / 2 != last_ && leaving_counts()) ++preempted_;
    last_ = pick / 2;
    resume(last_);
  }
  if (failed_) end = End::Failed;
  for (auto it = test.at_end_.rbegin(); it != test.at_end_.rend(); ++it) (*it)();
  test_ = nullptr;
  return end;
}

// The next leaf: the deepest choice that has an untried alternative.
bool Engine::next_prefix() {
  while (!choices_.empty() && choices_.back().taken + 1 == choices_.back().count)
    choices_.pop_back();
  if (choices_.empty()) return false;
  ++choices_.back().taken;
  return true;
}

void Engine::explore(Result& result) {
  g_engine = this;
  for (;;) {
    End end = run_once();
    ++result.executions;
    if (guess_was_wrong_) {
      guess_was_wrong_ = failed_ = false;
      if (options_.restarted) options_.restarted();
      choices_.clear();
      seen_.clear();
      continue;
    }
    if (end == End::Failed) {
      result.failed = true;
      result.message = message_;
      result.seed = seed();
      break;
    }
    if (seen_.size() > options_.max_states) result.complete = false;
    if (!result.complete || !next_prefix()) break;
  }
  result.states = seen_.size();
  g_engine = nullptr;
}

}  // namespace model
