// Why no wake-up is lost. Whoever makes the lock available to waiters (an unlock that leaves nobody
// inside, or a waiter that gives up) learns their numbers from the atomic operation that did so,
// and then takes the bucket lock of those it wakes. A waiter counted in that is not queued yet
// looks at the word under that lock before it parks, so it sees the change. One that gives up while
// the lock is available passes the wake-up on, since it may have been meant for it.
#include "sync/rwlock.h"

#include "sync/parking_lot.h"

namespace wisp {

namespace {

constexpr uint64_t kWriter = uint64_t{1} << 1;
constexpr uint64_t kReader = uint64_t{1} << 3;
constexpr uint64_t kReaders = ((uint64_t{1} << 20) - 1) << 3;
constexpr uint64_t kReaderWaits = uint64_t{1} << 23;
constexpr uint64_t kReadersWaiting = ((uint64_t{1} << 21) - 1) << 23;
constexpr uint64_t kWriterWaits = uint64_t{1} << 44;
constexpr uint64_t kWritersWaiting = ((uint64_t{1} << 20) - 1) << 44;

using Word = std::atomic<uint64_t>;

Word& word_of(pthread_rwlock_t* l) { return word_at<uint64_t>(l, 0); }
// relaxed as for a mutex's owner: only the caller ever stores the caller's tid.
std::atomic<uint32_t>& writer_of(pthread_rwlock_t* l) {
  return word_at<uint32_t>(l, offsetof(pthread_rwlock_t, __data.__cur_writer));
}
const void* readers_key(Word& w) { return &w; }
const void* writers_key(Word& w) { return reinterpret_cast<const char*>(&w) + 4; }

bool prefers_writers(pthread_rwlock_t* l) {
  return l->__data.__flags == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP;
}
bool reader_may_enter(uint64_t now, bool writers_first) {
  return (now & kWriter) == 0 && !(writers_first && (now & kWritersWaiting) != 0);
}
bool writer_may_enter(uint64_t now) { return (now & (kWriter | kReaders)) == 0; }

// `now`: the word as we left it. By address only: the lock may be gone when nobody was waiting.
void wake_waiters(Word& w, uint64_t now, bool writers_first) {
  bool writers = (now & kWritersWaiting) != 0;
  bool readers = (now & kReadersWaiting) != 0;
  if ((now & kWriter) != 0 || (!writers && !readers)) return;
  RuntimeEntry entry;
  if (readers && !(writers_first && writers)) {
    ParkingLot::unpark(readers_key(w), UINT32_MAX);
    return;  // the last of them to leave wakes a writer
  }
  if (writers && (now & kReaders) == 0) ParkingLot::unpark(writers_key(w), 1);
}

// Takes a reader's share, and `less` from the word. 0, EBUSY or EAGAIN (too many readers).
int enter_reader(Word& w, uint64_t less, bool writers_first) {
  uint64_t now = w.load(std::memory_order_relaxed);
  while (reader_may_enter(now, writers_first)) {
    if ((now & kReaders) == kReaders) return EAGAIN;
    // acquire: pairs with the writer's release in rwlock_unlock.
    if (w.compare_exchange_weak(now, now + kReader - less, std::memory_order_acquire,
                                std::memory_order_relaxed))
      return 0;
  }
  return EBUSY;
}

bool enter_writer(Word& w, uint64_t less) {
  uint64_t now = w.load(std::memory_order_relaxed);
  while (writer_may_enter(now)) {
    // acquire: pairs with the releases of the writer and of all readers before us.
    if (w.compare_exchange_weak(now, (now | kWriter) - less, std::memory_order_acquire,
                                std::memory_order_relaxed))
      return true;
  }
  return false;
}

int give_up(Word& w, uint64_t less, bool writers_first, int error) {
  // acq_rel: passing a wake-up on is like unlocking.
  uint64_t now = w.fetch_sub(less, std::memory_order_acq_rel) - less;
  wake_waiters(w, now, writers_first);
  return error;
}

WISP_NOINLINE int rdlock_slow(Word& w, uint64_t deadline_ns, bool writers_first) {
  w.fetch_add(kReaderWaits, std::memory_order_relaxed);
  for (;;) {
    int e = enter_reader(w, kReaderWaits, writers_first);
    if (e == 0) return 0;
    if (e == EAGAIN) return give_up(w, kReaderWaits, writers_first, EAGAIN);
    WakeReason reason;
    {
      RuntimeEntry entry;
      reason = park(readers_key(w), deadline_ns, [&] {
        return !reader_may_enter(w.load(std::memory_order_relaxed), writers_first);
      });
    }
    if (reason == WakeReason::TimedOut) return give_up(w, kReaderWaits, writers_first, ETIMEDOUT);
  }
}

WISP_NOINLINE int wrlock_slow(Word& w, uint64_t deadline_ns, bool writers_first) {
  w.fetch_add(kWriterWaits, std::memory_order_relaxed);
  while (!enter_writer(w, kWriterWaits)) {
    WakeReason reason;
    {
      RuntimeEntry entry;
      reason = park(writers_key(w), deadline_ns,
                    [&] { return !writer_may_enter(w.load(std::memory_order_relaxed)); });
    }
    if (reason == WakeReason::TimedOut) return give_up(w, kWriterWaits, writers_first, ETIMEDOUT);
  }
  return 0;
}

bool caller_writes(pthread_rwlock_t* l) {
  return writer_of(l).load(std::memory_order_relaxed) == caller_tid();
}

}  // namespace

bool rwlock_layout_probe(const char** why) {
  pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
  auto inside = [&l] { return word_of(&l).load() & ~uint64_t{1 | 4}; };
  bool ok = real::pthread_rwlock_rdlock(&l) == 0 && inside() == kReader &&
            real::pthread_rwlock_unlock(&l) == 0 && inside() == 0 &&
            real::pthread_rwlock_wrlock(&l) == 0 && inside() == kWriter && caller_writes(&l) &&
            real::pthread_rwlock_unlock(&l) == 0 && inside() == 0 && !caller_writes(&l);
  if (!ok) *why = "this libc keeps pthread_rwlock_t in a way Wisp does not know";
  return ok;
}

int rwlock_tryrdlock(pthread_rwlock_t* l) {
  return enter_reader(word_of(l), 0, prefers_writers(l));
}

int rwlock_trywrlock(pthread_rwlock_t* l) {
  if (!enter_writer(word_of(l), 0)) return EBUSY;
  writer_of(l).store(caller_tid(), std::memory_order_relaxed);
  return 0;
}

int rwlock_rdlock(pthread_rwlock_t* l, uint64_t deadline_ns) {
  Word& w = word_of(l);
  bool writers_first = prefers_writers(l);
  int e = enter_reader(w, 0, writers_first);
  if (WISP_LIKELY(e != EBUSY)) return e;
  if (caller_writes(l)) return EDEADLK;
  return rdlock_slow(w, deadline_ns, writers_first);
}

int rwlock_wrlock(pthread_rwlock_t* l, uint64_t deadline_ns) {
  Word& w = word_of(l);
  if (WISP_UNLIKELY(!enter_writer(w, 0))) {
    if (caller_writes(l)) return EDEADLK;
    int e = wrlock_slow(w, deadline_ns, prefers_writers(l));
    if (e != 0) return e;
  }
  writer_of(l).store(caller_tid(), std::memory_order_relaxed);
  return 0;
}

int rwlock_clockrdlock(pthread_rwlock_t* l, clockid_t clock, const timespec* abstime) {
  if (!valid_lock_clock(clock) || !valid_nsec(*abstime)) return EINVAL;
  return rwlock_rdlock(l, lock_deadline(clock, *abstime));
}

int rwlock_clockwrlock(pthread_rwlock_t* l, clockid_t clock, const timespec* abstime) {
  if (!valid_lock_clock(clock) || !valid_nsec(*abstime)) return EINVAL;
  return rwlock_wrlock(l, lock_deadline(clock, *abstime));
}

int rwlock_unlock(pthread_rwlock_t* l) {
  Word& w = word_of(l);
  bool writers_first = prefers_writers(l);  // read before the release: the lock may be gone after
  // A writer inside excludes readers, so whoever unlocks then is that writer.
  uint64_t mine = kReader;
  if ((w.load(std::memory_order_relaxed) & kWriter) != 0) {
    writer_of(l).store(0, std::memory_order_relaxed);
    mine = kWriter;
  }
  // release: the next to enter sees this section. acquire is not needed: nothing is read after.
  uint64_t now = w.fetch_sub(mine, std::memory_order_release) - mine;
  if (WISP_UNLIKELY((now & (kReadersWaiting | kWritersWaiting)) != 0) && (now & kReaders) == 0)
    wake_waiters(w, now, writers_first);
  return 0;
}

}  // namespace wisp
