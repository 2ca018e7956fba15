// The operations of model.h on top of the engine: what each does to memory and store buffers. Each
// ends in observe(), which is what tells states apart.
#include "model.h"

#include <stdlib.h>

#include <algorithm>

#include "engine.h"

namespace model {

void* Test::allocate(size_t size, size_t align) {
  Engine* e = g_engine;
  e->arena_used_ = (e->arena_used_ + align - 1) / align * align;
  void* p = e->arena_ + e->arena_used_;
  e->arena_used_ += size;
  if (e->arena_used_ > Engine::kArena) abort();
  return p;
}
void Test::watch(const void* data, size_t size) {
  g_engine->watched_.push_back({static_cast<const char*>(data), size});
}
void Test::add(const char* name, std::function<void()> body, bool daemon) {
  bodies_.push_back({name, std::move(body), daemon});
}

void fail(const char* what, Site at) { g_engine->fail(what, at); }

void fence(std::memory_order order, Site at) {
  Engine& e = *g_engine;
  if (order != std::memory_order_seq_cst || e.current_ == kOutside) return;
  if (e.threads_[e.current_]->buffered > 0) e.visible(Op::Fence, -1, at);
  e.observe(1);
}

// "Every other thread passes a full barrier between call and return": at the least, what was in its
// buffer at the call has reached memory at the return. The kernel may do more (drain later stores
// too); the explorer gets those outcomes as well, by draining earlier. Stores made since a thread's
// last visible operation do not count: the engine runs them ahead of time, they may still be to
// come.
void membarrier(Site at) {
  Engine& e = *g_engine;
  if (e.current_ == kOutside) return;
  fence(std::memory_order_seq_cst, at);
  Thread& self = *e.threads_[e.current_];
  self.barrier.clear();
  for (const Thread* t : e.threads_) self.barrier.push_back(t->settled);
  e.visible(Op::Membarrier, -1, at);
  e.observe(2);
  e.log("membarrier done", -1, 0);
}

void step(Site at) {
  g_engine->visible(Op::Step, -1, at);
  g_engine->observe(3);
}

void yield(Site at) {
  g_engine->visible(Op::Yield, -1, at);
  g_engine->observe(7);
}

void when_quiet(Site at) {
  g_engine->visible(Op::Quiet, -1, at);
  g_engine->observe(6);
}

void forget(uint64_t tag, Site at) {
  Engine& e = *g_engine;
  if (e.options_.by_value && e.current_ != kOutside)
    e.threads_[e.current_]->history =
        mix(mix(static_cast<uint64_t>(e.current_), static_cast<uint64_t>(at.line)), tag);
}

uint32_t choose(uint32_t n, Site) {
  uint32_t c = g_engine->decide(n);
  g_engine->observe(c);
  g_engine->log("chooses", -1, c);
  return c;
}

namespace detail {

int new_location(uint64_t initial, Stamp stamp, bool is_lock) {
  Engine& e = *g_engine;
  uint64_t lock_bit = 0;
  if (is_lock) {
    int locks = 0;
    for (const Location& l : e.locations_) locks += l.lock_bit != 0;
    lock_bit = locks < 64 ? 1ull << locks : 0;
  }
  e.locations_.push_back({initial, initial, stamp, kAlive, lock_bit});
  int loc = static_cast<int>(e.locations_.size()) - 1;
  e.observe(static_cast<uint64_t>(loc));
  return loc;
}
void drop_location(int loc) { g_engine->locations_[loc].dead_by = g_engine->current_; }
void set_name(int loc, const char* name) { g_engine->locations_[loc].name = name; }

uint64_t load(int loc, Site at) {
  Engine& e = *g_engine;
  if (!e.private_to_current(loc))
    e.visible(Op::Load, loc, at);
  else if (e.current_ != kOutside) {
    e.threads_[e.current_]->pending.at = at;
    if (++e.steps_ > e.options_.max_steps)
      fail("livelock? a loop that reads only what nobody else writes", at);
  }
  uint64_t stamp;
  uint64_t v = e.read(loc, &stamp);
  e.learn(loc);
  e.observe(stamp);
  e.log("load", loc, v);
  return v;
}

uint64_t await(int loc, bool (*wanted)(const void*, uint64_t), const void* context,
               GivesUp gives_up, Site at) {
  Engine& e = *g_engine;
  Pending p;
  p.op = Op::Await;
  p.loc = loc;
  p.wanted = wanted;
  p.context = context;
  p.gives_up = gives_up;
  p.at = at;
  e.visible(p);
  uint64_t stamp;
  uint64_t v = e.read(loc, &stamp);
  e.learn(loc);
  e.observe(stamp);
  e.log("await", loc, v);
  return v;
}

// A plain store is no schedule point: it only enters the thread's own buffer.
void store(int loc, uint64_t value, bool drain, Site at) {
  Engine& e = *g_engine;
  e.read(loc);  // still alive?
  if (!drain && !e.options_.sequential && e.current_ != kOutside) {
    e.push(loc, value);
    e.threads_[e.current_]->pending.at = at;
    e.log("store (buffered)", loc, value);
    return;
  }
  e.visible(Op::Store, loc, at);
  e.read(loc);
  e.write(loc, value);
  e.locations_[loc].written = Clock{};
  e.publish(loc);
  e.log("store", loc, value);
}

uint64_t rmw_read(int loc, Site at) {
  Engine& e = *g_engine;
  e.visible(Op::Rmw, loc, at);
  uint64_t stamp;
  uint64_t v = e.read(loc, &stamp);
  e.learn(loc);
  e.observe(stamp);
  e.log("rmw reads", loc, v);
  return v;
}
void rmw_write(int loc, uint64_t value) {
  g_engine->write(loc, value);
  g_engine->publish(loc);
  g_engine->log("  and writes", loc, value);
}

static void observe_guarded(int loc) {
  if (g_engine->locations_[loc].kind == Stamp::Lock) g_engine->observe(g_engine->hash_watched());
}

void lock(int loc, Site at) {
  Engine& e = *g_engine;
  e.visible(Op::Lock, loc, at);
  uint64_t stamp;
  if (e.read(loc, &stamp) != 0) fail("lock taken outside of the threads", at);
  e.learn(loc);
  e.observe(stamp);
  observe_guarded(loc);
  e.write(loc, 1);
  e.publish(loc);
  e.hold(loc, true);
  e.log("lock", loc, 1);
}
bool try_lock(int loc, Site at) {
  Engine& e = *g_engine;
  if (rmw_read(loc, at) != 0) return false;
  observe_guarded(loc);
  rmw_write(loc, 1);
  e.hold(loc, true);
  return true;
}
void unlock(int loc, Site at) {
  Engine& e = *g_engine;
  store(loc, 0, false, at);
  e.hold(loc, false);
}

// 0 woken, -EAGAIN (-11) value differed, -ETIMEDOUT (-110).
int futex_wait(int loc, uint64_t expected, bool may_time_out, Site at) {
  Engine& e = *g_engine;
  e.visible(Op::FutexWait, loc, at);
  uint64_t stamp;
  uint64_t v = e.read(loc, &stamp);
  e.learn(loc);
  e.observe(stamp);
  e.log("futex_wait sees", loc, v);
  if (v != expected) return -11;
  int me = e.current_;
  Thread& self = *e.threads_[me];
  self.woken = false;
  e.sleepers_.push_back(me);
  Pending p;
  p.op = Op::FutexSleep;
  p.loc = loc;
  p.may_time_out = may_time_out;
  p.at = at;
  e.visible(p);
  e.log(self.woken ? "futex_wait woken" : "futex_wait timed out", loc, 0);
  e.observe(self.woken ? 4 : 5);
  if (self.woken) {
    self.woken = false;
    return 0;
  }
  e.sleepers_.erase(std::find(e.sleepers_.begin(), e.sleepers_.end(), me));
  return -110;
}

int futex_wake(int loc, int count, Site at) {
  Engine& e = *g_engine;
  e.visible(Op::FutexWake, loc, at);
  int woken = 0;
  for (size_t i = 0; i < e.sleepers_.size() && woken < count;) {
    Thread& t = *e.threads_[e.sleepers_[i]];
    if (t.pending.loc != loc) {
      ++i;
      continue;
    }
    t.woken = true;
    e.sleepers_.erase(e.sleepers_.begin() + static_cast<long>(i));
    ++woken;
  }
  e.observe(static_cast<uint64_t>(woken));
  e.log("futex_wake wakes", loc, static_cast<uint64_t>(woken));
  return woken;
}

uint64_t ghost_read(int loc) {
  uint64_t v = g_engine->locations_[loc].value;
  g_engine->observe(v);
  return v;
}
uint64_t plain_read(int loc) {
  g_engine->plain_access(loc, false);
  return ghost_read(loc);
}
void plain_write(int loc, uint64_t value) {
  g_engine->plain_access(loc, true);
  ghost_write(loc, value);
}
void ghost_write(int loc, uint64_t value) { g_engine->write(loc, value); }

}  // namespace detail

}  // namespace model
