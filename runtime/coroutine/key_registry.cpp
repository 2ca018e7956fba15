// Table of pthread key destructors; see the header.
// Ordering: a key becomes usable by other threads only through the program's own publication of
// its number, which also publishes the store here; relaxed would do for that. release/acquire is
// kept so that the destructor of a key seen in highest_key is seen as well.
#include "coroutine/key_registry.h"

#include <limits.h>

#include <atomic>

#include "coroutine/libc_layout.h"

namespace wisp {

namespace {

using Destructor = void (*)(void*);

constinit std::atomic<Destructor> destructors[PTHREAD_KEYS_MAX] = {};
constinit std::atomic<unsigned> keys_seen{0};  // every key with a destructor is below

}  // namespace

void key_created(pthread_key_t key, void (*destructor)(void*)) {
  if (key >= PTHREAD_KEYS_MAX) return;
  destructors[key].store(destructor, std::memory_order_release);
  if (destructor == nullptr) return;
  unsigned seen = keys_seen.load(std::memory_order_relaxed);
  while (seen <= key &&
         !keys_seen.compare_exchange_weak(seen, key + 1, std::memory_order_release)) {
  }
}

void key_deleted(pthread_key_t key) {
  if (key < PTHREAD_KEYS_MAX) destructors[key].store(nullptr, std::memory_order_release);
}

void key_run_destructors() {
  for (int round = 0; round < PTHREAD_DESTRUCTOR_ITERATIONS; round++) {
    bool ran = false;
    unsigned end = keys_seen.load(std::memory_order_acquire);
    for (pthread_key_t key = 0; key < end; key++) {
      Destructor destructor = destructors[key].load(std::memory_order_acquire);
      if (destructor == nullptr) continue;
      void* value = libc.getspecific(key);
      if (value == nullptr) continue;
      // POSIX: the value is null before the destructor sees the old one.
      libc.setspecific(key, nullptr);
      destructor(value);
      ran = true;
    }
    if (!ran) return;
  }
}

}  // namespace wisp
