// See publisher.h. One kernel thread, asleep on the page's futex until a reader comes; some seconds
// after the last one it gives the snapshot's memory back. Only raw kernel calls: the thread has no
// business with the program's signals, locks or heap.
#include "observe/publisher.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "observe/collect.h"
#include "observe/memfd.h"
#include "observe/trace.h"
#include "platform/clock.h"
#include "platform/kernel.h"
#include "scheduler/internal.h"

#ifndef WISP_VERSION
#define WISP_VERSION "dev"
#endif

namespace wisp::stats {
namespace {

// Readers may ask as often as they like; they get the same answer within this time.
constexpr uint64_t kMinIntervalNs = 2'000'000;
constexpr uint64_t kKeepNs = 10'000'000'000;

struct Page {
  int fd = -1;
  PageHeader* header = nullptr;
  char* snapshot = nullptr;
  size_t room = 0;
};

int g_fd = -1;  // until there is a page

bool open_page(Page* page) {
  int fd = page->fd = g_fd;
  // fallocate, not ftruncate: what it promised, a store cannot fail to find (SIGBUS).
  if (kernel::call(SYS_fallocate, fd, 0, 0, kHeaderSize) != 0) return false;
  memfd_seal(fd);
  page->header = static_cast<PageHeader*>(memfd_map(fd, kHeaderSize, 0));
  if (page->header == nullptr) return false;
  PageHeader* h = page->header;
  h->version = kVersion;
  h->pid = kernel::getpid();
  h->started_ns = realtime_ns();
  h->started_monotonic_ns = monotonic_ns();
  h->trace_state.store(trace_serve(0), std::memory_order_relaxed);
  strncpy(h->release, WISP_VERSION, sizeof h->release - 1);
  // release: who finds the magic finds the rest.
  __atomic_store_n(&h->magic, kMagic, __ATOMIC_RELEASE);
  return true;
}

bool make_room(Page* page, size_t size) {
  if (page->room >= size) return true;
  size_t room = (size + size / 4 + 65535) & ~size_t{65535};
  if (kernel::call(SYS_fallocate, page->fd, 0, kHeaderSize, static_cast<long>(room)) != 0)
    return false;
  void* fresh = memfd_map(page->fd, room, kHeaderSize);
  if (fresh == nullptr) return false;
  if (page->snapshot != nullptr)
    kernel::call(SYS_munmap, reinterpret_cast<long>(page->snapshot), static_cast<long>(page->room));
  page->snapshot = static_cast<char*>(fresh);
  page->room = room;
  return true;
}

void drop_snapshot(Page* page) {
  if (page->snapshot == nullptr) return;
  page->header->snapshot_size.store(0, std::memory_order_relaxed);
  kernel::call(SYS_munmap, reinterpret_cast<long>(page->snapshot), static_cast<long>(page->room));
  kernel::call(SYS_fallocate, page->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, kHeaderSize,
               static_cast<long>(page->room));
  page->snapshot = nullptr;
  page->room = 0;
}

void write_snapshot(Page* page) {
  PageHeader* h = page->header;
  uint32_t sequence = h->sequence.load(std::memory_order_relaxed) | 1;
  h->sequence.store(sequence, std::memory_order_relaxed);
  // release fence: the odd number is out before any of the snapshot's words.
  std::atomic_thread_fence(std::memory_order_release);
  size_t size = make_room(page, snapshot_room()) ? collect(page->snapshot, page->room) : 0;
  h->snapshot_size.store(size, std::memory_order_relaxed);
  h->sequence.store(sequence + 1, std::memory_order_release);
}

// Shared futexes, unlike kernel.h's: readers are other processes.
long futex(std::atomic<uint32_t>* word, int operation, uint32_t value, const timespec* timeout) {
  return kernel::call(SYS_futex, reinterpret_cast<long>(word), operation, value,
                      reinterpret_cast<long>(timeout));
}

void* publisher_main(void*) {
  thread_self().straight = 1;
  static const char kThreadName[] = "wisp-statistics";
  kernel::call(SYS_prctl, PR_SET_NAME, reinterpret_cast<long>(kThreadName));
  snapshot_room();  // notes the time
  Page page;
  if (!open_page(&page)) return nullptr;
  PageHeader* h = page.header;
  uint64_t last = 0;
  uint32_t seen_renewed = 0;
  uint64_t renewed_at = 0;
  for (;;) {
    uint32_t served = h->served.load(std::memory_order_relaxed);
    timespec keep{static_cast<time_t>(kKeepNs / 1'000'000'000), 0};
    while (h->request.load(std::memory_order_acquire) == served) {
      bool holds = page.snapshot != nullptr || trace_memory_held();
      long r = futex(&h->request, FUTEX_WAIT, served, holds ? &keep : nullptr);
      if (r == -ETIMEDOUT) {
        drop_snapshot(&page);
        trace_expire();
        h->trace_wanted.store(0, std::memory_order_relaxed);
        h->trace_state.store(trace_serve(0), std::memory_order_relaxed);
      }
    }
    uint32_t request = h->request.load(std::memory_order_acquire);
    uint64_t now = monotonic_ns();
    if (now - last < kMinIntervalNs) {
      timespec rest{0, static_cast<long>(kMinIntervalNs - (now - last))};
      kernel::call(SYS_nanosleep, reinterpret_cast<long>(&rest), 0);
      request = h->request.load(std::memory_order_acquire);
    }
    last = monotonic_ns();
    uint32_t renewed = h->trace_renewed.load(std::memory_order_relaxed);
    if (renewed != seen_renewed || h->trace_wanted.load(std::memory_order_relaxed) == 0) {
      seen_renewed = renewed;
      renewed_at = last;
    } else if (last - renewed_at > kKeepNs) {
      h->trace_wanted.store(0, std::memory_order_relaxed);  // killed
    }
    h->trace_state.store(trace_serve(h->trace_wanted.load(std::memory_order_relaxed)),
                         std::memory_order_relaxed);
    write_snapshot(&page);
    h->served.store(request, std::memory_order_release);
    futex(&h->served, FUTEX_WAKE, INT32_MAX, nullptr);
  }
}

}  // namespace

void publisher_prepare() { g_fd = memfd_create_private(kMemfdName); }

void publisher_start(bool wanted) {
  if (g_fd < 0 || (wanted && start_kernel_thread(publisher_main, nullptr))) return;
  memfd_close(g_fd);
}

}  // namespace wisp::stats
