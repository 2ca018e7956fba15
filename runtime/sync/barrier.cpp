// A barrier counts arrivals per generation. Everybody who arrived also counts itself out, as its
// last touch of the memory; destroy waits for that, so the barrier can be freed by the first thread
// through it.
#include "sync/barrier.h"

#include <string.h>

#include "sync/early.h"
#include "sync/parking_lot.h"

namespace wisp {

namespace {

// libc's {in, current_round, count, shared, out}; the first two are our one progress word: arrivals
// of this generation in the low half, the generation in the high half. In one word, because more
// threads than `count` may come: each must learn with its arrival which generation it is in.
struct Layout {
  std::atomic<uint64_t> progress;
  uint32_t count;
  uint32_t shared;
  std::atomic<uint32_t> inside;
};
static_assert(sizeof(Layout) <= sizeof(pthread_barrier_t));

Layout& layout(pthread_barrier_t* b) { return *reinterpret_cast<Layout*>(b); }
uint32_t arrived(uint64_t progress) { return static_cast<uint32_t>(progress); }
uint32_t generation(uint64_t progress) { return static_cast<uint32_t>(progress >> 32); }
// Arrivals on record from rounds in libc, by threads that have ended since. libc counts on where we
// begin again, so they are `count` at least; and as nobody is inside, as many have left.
uint32_t arrived_in_libc(const Layout& l, uint64_t progress) {
  return WISP_UNLIKELY(arrived(progress) >= l.count) ? arrived(progress) : 0;
}

}  // namespace

bool barrier_layout_probe(const char** why) {
  bool ok = true;
  for (int shared : {PTHREAD_PROCESS_PRIVATE, PTHREAD_PROCESS_SHARED}) {
    pthread_barrierattr_t attr;
    pthread_barrier_t b;
    memset(&b, 0xa5, sizeof b);
    ok = ok && pthread_barrierattr_init(&attr) == 0 &&
         pthread_barrierattr_setpshared(&attr, shared) == 0 &&
         pthread_barrier_init(&b, &attr, 7) == 0;
    Layout& l = layout(&b);
    ok = ok && l.progress.load() == 0 && l.count == 7 &&
         (l.shared == 0) == (shared == PTHREAD_PROCESS_PRIVATE) && l.inside.load() == 0;
  }
  if (!ok) *why = "this libc lays out pthread_barrier_t in a way Wisp does not know";
  return ok;
}

bool barrier_is_ours(pthread_barrier_t* b) { return layout(b).shared == 0 && !early_threads(); }

int barrier_wait(pthread_barrier_t* b) {
  Layout& l = layout(b);
  l.inside.fetch_add(1, std::memory_order_relaxed);
  uint64_t now = l.progress.load(std::memory_order_relaxed);
  uint64_t next;
  uint32_t old;
  do {
    old = arrived_in_libc(l, now);
    bool last = arrived(now) - old + 1 == l.count;
    next = last ? uint64_t{generation(now) + 1} << 32 : now - old + 1;
    // acq_rel: the last to arrive sees what all others did before, and passes it on to them.
  } while (!l.progress.compare_exchange_weak(now, next, std::memory_order_acq_rel,
                                             std::memory_order_relaxed));
  // relaxed: destroy waits for our own leaving, which is a release.
  if (WISP_UNLIKELY(old != 0)) l.inside.fetch_sub(old, std::memory_order_relaxed);
  int result = 0;
  if (generation(next) != generation(now)) {
    RuntimeEntry entry;
    ParkingLot::unpark(&l.progress, UINT32_MAX);
    result = PTHREAD_BARRIER_SERIAL_THREAD;
  } else {
    // acquire: pairs with the last arrival. Too many wakes are harmless: look again.
    while (generation(l.progress.load(std::memory_order_acquire)) == generation(now)) {
      RuntimeEntry entry;
      park(&l.progress, kForever, [&] {
        return generation(l.progress.load(std::memory_order_relaxed)) == generation(now);
      });
    }
  }
  // release: destroy's acquire puts the freeing after it. The address alone is used from here on.
  if (l.inside.fetch_sub(1, std::memory_order_release) == 1) {
    RuntimeEntry entry;
    ParkingLot::unpark(&l.inside, UINT32_MAX);
  }
  return result;
}

int barrier_destroy(pthread_barrier_t* b) {
  Layout& l = layout(b);
  if (arrived_in_libc(l, l.progress.load(std::memory_order_relaxed)) != 0)
    return real::pthread_barrier_destroy(b);
  if (arrived(l.progress.load(std::memory_order_relaxed)) != 0)
    return EBUSY;  // libc would wait for ever
  while (uint32_t inside = l.inside.load(std::memory_order_acquire)) {
    RuntimeEntry entry;
    park(&l.inside, kForever, [&] { return l.inside.load(std::memory_order_relaxed) == inside; });
  }
  return 0;
}

}  // namespace wisp
