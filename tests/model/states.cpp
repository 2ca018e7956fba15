// Which states were seen: a state as one number, and the set of those. See engine.h.
#include <string.h>

#include "engine.h"

namespace model {

uint64_t Engine::hash_watched() const {
  uint64_t h = 0;
  for (auto& [data, size] : watched_)
    for (size_t i = 0; i < size; i += 8) {
      uint64_t word = 0;
      memcpy(&word, data + i, size - i < 8 ? size - i : 8);
      h = mix(h, word);
    }
  return h;
}

uint64_t Engine::key() const {
  uint64_t h = hash_watched();
  for (const Location& l : locations_) h = mix(mix(h, l.stamp), static_cast<uint64_t>(l.dead_by));
  for (const Thread* t : threads_) {
    h = mix(mix(h, t->history), t->woken);
    for (int i = 0; i < t->buffered; ++i)
      h = mix(mix(h, static_cast<uint64_t>(t->buffer[i].loc)), t->buffer[i].stamp);
    h = mix(h, static_cast<uint64_t>(t->buffered));
    if (t->pending.op == Op::Membarrier)
      for (size_t j = 0; j < t->barrier.size(); ++j)
        h = mix(h, t->barrier[j] > threads_[j]->flushed ? t->barrier[j] - threads_[j]->flushed : 0);
  }
  for (int s : sleepers_) h = mix(h, static_cast<uint64_t>(s) + 1);
  if (options_.preemptions >= 0)
    h = mix(mix(h, static_cast<uint64_t>(last_)), static_cast<uint64_t>(preempted_));
  return h;
}

bool HashSet::insert(uint64_t key) {
  if (key == 0) key = 1;
  size_t mask = table_.size() - 1, i = key & mask;
  for (; table_[i] != 0; i = (i + 1) & mask)
    if (table_[i] == key) return false;
  table_[i] = key;
  if (++size_ * 3 < table_.size() * 2) return true;
  std::vector<uint64_t> old(table_.size() * 2, 0);
  old.swap(table_);
  mask = table_.size() - 1;
  for (uint64_t k : old) {
    if (k == 0) continue;
    for (i = k & mask; table_[i] != 0;) i = (i + 1) & mask;
    table_[i] = k;
  }
  return true;
}

}  // namespace model
