// What is remembered about a descriptor number, to guess whether its next read finds the data in
// the page cache, and whether several tasks share its file position. Guesses only: numbers beyond
// the table share entries, and a number reused unseen starts with its forerunner's.
//
//   trusted  reads that may go to the kernel directly before one asks first (RWF_NOWAIT) again
//   hits     asked reads in a row that found everything cached, up to kTrustAfter
//   reader   who reads at the file position: a task's tid (+ kBusy while it is between the two
//            steps of a read), kShared for ever once it was two tasks, 0 nobody yet
#pragma once
#include <fcntl.h>

#include <atomic>

#include "platform/clock.h"
#include "platform/compiler.h"

namespace wisp::io {

struct DiskHistory {
  static constexpr uint8_t kTrustAfter = 16;
  static constexpr uint8_t kTrust = 15;
  static constexpr uint32_t kBusy = 1u << 31;
  static constexpr uint32_t kShared = kBusy - 1;

  std::atomic<uint32_t> reader{0};
  // One field written by several threads loses an update now and then; nothing depends on it.
  std::atomic<uint8_t> trusted{0};
  std::atomic<uint8_t> hits{0};
  std::atomic<uint8_t> flags{0};
  static constexpr uint8_t kSynchronous = 1;  // opened with O_DIRECT, O_SYNC or O_DSYNC
  static constexpr uint8_t kCannotAsk = 2;    // its file system knows no RWF_NOWAIT
  static constexpr uint8_t kSlow = 4;         // its last timed read took long
  uint8_t unused = 0;

  bool is(uint8_t flag) const { return (flags.load(std::memory_order_relaxed) & flag) != 0; }
  void set(uint8_t flag, bool on) {
    uint8_t f = flags.load(std::memory_order_relaxed);
    flags.store(static_cast<uint8_t>(on ? f | flag : f & ~flag), std::memory_order_relaxed);
  }

  void hit() {
    uint8_t h = hits.load(std::memory_order_relaxed);
    if (h < kTrustAfter)
      hits.store(static_cast<uint8_t>(h + 1), std::memory_order_relaxed);
    else
      trusted.store(kTrust, std::memory_order_relaxed);
  }
  void miss() {
    hits.store(0, std::memory_order_relaxed);
    trusted.store(0, std::memory_order_relaxed);
  }
  // True: go directly. The common case of a cached file costs a load and a store.
  bool use_trust() {
    uint8_t t = trusted.load(std::memory_order_relaxed);
    if (t == 0) return false;
    trusted.store(static_cast<uint8_t>(t - 1), std::memory_order_relaxed);
    return true;
  }
  void forget(int open_flags) {
    reader.store(0, std::memory_order_relaxed);
    miss();
    bool synced = (open_flags & (O_DIRECT | O_SYNC | O_DSYNC)) != 0;
    flags.store(synced ? kSynchronous : 0, std::memory_order_relaxed);
  }
};

// A call that moves up to `size` bytes of a file and cannot be asked whether it would wait: its
// time tells. After a slow one it is made as waiting() does, in a region, until one was fast.
template <typename Plain, typename Waiting>
long timed_call(DiskHistory& h, size_t size, Plain&& plain, Waiting&& waiting) {
  uint64_t start = ticks();
  bool was_slow = h.is(DiskHistory::kSlow);
  long r = was_slow ? waiting() : plain();
  uint64_t enough_us = 25 + size / 1024;  // copying a page takes less than a microsecond
  bool slow = ticks() - start > us_to_ticks(enough_us);
  if (slow)
    h.miss();
  else
    h.hit();
  if (slow != was_slow) h.set(DiskHistory::kSlow, slow);
  return r;
}

constexpr uint32_t kDiskHistories = 1u << 16;
extern DiskHistory g_disk_histories[kDiskHistories];  // 8 bytes each, untouched pages cost nothing
static_assert(sizeof(DiskHistory) == 8);

inline DiskHistory& disk_history(int fd) {
  return g_disk_histories[static_cast<uint32_t>(fd) % kDiskHistories];
}

}  // namespace wisp::io
