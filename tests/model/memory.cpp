// Memory as one thread of the model sees it: its own store buffer first, then what all see. Who has
// seen which store is kept in clocks, by which races on plain variables are found.
#include "engine.h"
#include "model.h"

namespace model {

void Engine::observe(uint64_t what) {
  if (current_ != kOutside) threads_[current_]->history = mix(threads_[current_]->history, what);
}

uint64_t Engine::read(int loc, uint64_t* stamp) const {
  if (loc < 0 || loc >= static_cast<int>(locations_.size()) || locations_[loc].dead_by != kAlive)
    const_cast<Engine*>(this)->fail("use of something destroyed: " + name_of(loc), {"", 0});
  if (current_ != kOutside) {
    const Thread& t = *threads_[current_];
    for (int i = t.buffered - 1; i >= 0; --i) {
      if (t.buffer[i].loc != loc) continue;
      if (stamp != nullptr) *stamp = t.buffer[i].stamp;
      return t.buffer[i].value;
    }
  }
  if (stamp != nullptr) *stamp = locations_[loc].stamp;
  return locations_[loc].value;
}

void Engine::learn(int loc) {
  if (current_ != kOutside) threads_[current_]->clock.join(locations_[loc].written);
}

// FastTrack without the fast: every access must know of every earlier conflicting one. Set-up and
// the final check are ordered with everything.
void Engine::plain_access(int loc, bool writes) {
  if (current_ == kOutside) return;
  Location& l = locations_[loc];
  const Clock& me = threads_[current_]->clock;
  if (!me.covers(l.written) || (writes && !me.covers(l.read)))
    fail("data race on a plain variable: " + name_of(loc), threads_[current_]->pending.at);
  (writes ? l.written : l.read).of[current_] = me.of[current_];
}

void Engine::hold(int lock, bool yes) {
  if (current_ == kOutside) return;
  uint64_t bit = locations_[lock].lock_bit;
  uint64_t& held = threads_[current_]->held;
  held = yes ? held | bit : held & ~bit;
}

namespace {
uint64_t stamp_of(const Engine& e, const Location& l, uint64_t value) {
  bool by_value =
      l.kind == detail::Stamp::Value ||
      (e.options_.by_value && (l.kind == detail::Stamp::Default || !e.watched_.empty()));
  return by_value || e.current_ == kOutside ? value : e.threads_[e.current_]->history;
}
}  // namespace

void Engine::write(int loc, uint64_t value) {
  note_write(loc);
  Location& l = locations_[loc];
  // First: two stores of one thread must not carry the same stamp.
  observe(mix(static_cast<uint64_t>(loc), value));
  l.value = value;
  l.stamp = stamp_of(*this, l, value);
}
void Engine::publish(int loc) {
  if (current_ == kOutside) return;
  Thread& t = *threads_[current_];
  locations_[loc].written.join(t.clock);
  ++t.clock.of[current_];
}

void Engine::push(int loc, uint64_t value) {
  note_write(loc);
  Thread& t = *threads_[current_];
  if (t.buffered == Thread::kBuffer)
    fail("livelock? more stores than the store buffer holds", {"", 0});
  observe(mix(static_cast<uint64_t>(loc), value));
  t.buffer[t.buffered++] = {loc, value, stamp_of(*this, locations_[loc], value), t.clock};
  ++t.clock.of[current_];
  ++t.pushed;
}

}  // namespace model
