// Stack mappings and their cache. The cache is a handful of LIFO lists, one per (size, guard) pair,
// linked through the top of the cached stacks themselves, which is resident anyway.
// Invariant: the lock is never held over a system call, so a slow munmap delays nobody.
#include "coroutine/stack.h"

#include <sys/auxv.h>
#include <sys/mman.h>

#include <cerrno>

#include "platform/spin_lock.h"

namespace wisp {

namespace {

constexpr size_t kPage = 4096;  // smallest page; only for sizes below
constexpr size_t kKeepBytes = size_t{32} << 10;
constexpr size_t kMaxSize = size_t{1} << 56;  // no sum of two overflows; mmap refuses the rest
constexpr int kClasses = 8;

struct CachedStack {  // lies at the very top of a cached stack
  CachedStack* next;
  Stack stack;
  size_t resident;
};

struct SizeClass {
  size_t size;
  size_t guard;
  CachedStack* head;
};

struct StackCache {
  SpinLock lock;
  StackCacheLimits limits;
  size_t stacks = 0;
  size_t resident = 0;
  uint64_t hits = 0;
  uint64_t misses = 0;
  SizeClass classes[kClasses] = {};
};

constinit StackCache cache;

size_t page_size() { return getauxval(AT_PAGESZ); }

size_t round_up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

void unmap(const Stack& stack) { munmap(stack.base - stack.guard, stack.size + stack.guard); }

CachedStack* header_of(const Stack& stack) {
  return reinterpret_cast<CachedStack*>(stack.base + stack.size - sizeof(CachedStack));
}

bool map(Stack* stack, size_t size, size_t guard) {
  void* memory = mmap(nullptr, size + guard, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return false;
  // A transparent huge page would make 2 MiB resident for the one page that is in use.
  madvise(memory, size + guard, MADV_NOHUGEPAGE);
  if (guard != 0 && mprotect(memory, guard, PROT_NONE) != 0) {
    int error = errno;
    munmap(memory, size + guard);
    errno = error;
    return false;
  }
  *stack = Stack{static_cast<char*>(memory) + guard, size, guard, true};
  return true;
}

size_t resident_bytes(const char* from, size_t bytes, size_t page) {
  unsigned char present[256];
  size_t resident = 0;
  for (size_t done = 0; done < bytes;) {
    size_t chunk = bytes - done;
    if (chunk > sizeof present * page) chunk = sizeof present * page;
    if (mincore(const_cast<char*>(from) + done, chunk, present) != 0) return bytes;
    for (size_t i = 0; i < chunk / page; i++) resident += (present[i] & 1) * page;
    done += chunk;
  }
  return resident;
}

// Returns what stays resident. mincore (0.6 us for 1 MiB) and not depth decides: HotSpot touches
// pages 80 KiB below each frame, so by depth every Java stack would be trimmed, and each of those
// few pages costs more than 2 us to fault in again. The resident limit needs the count anyhow.
size_t trim_deep_part(const Stack& stack, size_t page) {
  size_t keep = round_up(kKeepBytes, page);
  if (stack.size <= keep) return stack.size;
  size_t deep = resident_bytes(stack.base, stack.size - keep, page);
  if (deep > kKeepBytes) {
    madvise(stack.base, stack.size - keep, MADV_DONTNEED);
    deep = 0;
  }
  return keep + deep;
}

// With the lock held. `create` takes over an empty class when there is none for these sizes.
SizeClass* find_class(size_t size, size_t guard, bool create) {
  SizeClass* empty = nullptr;
  for (SizeClass& candidate : cache.classes) {
    if (candidate.head == nullptr) {
      if (empty == nullptr) empty = &candidate;
    } else if (candidate.size == size && candidate.guard == guard) {
      return &candidate;
    }
  }
  if (!create || empty == nullptr) return nullptr;
  empty->size = size;
  empty->guard = guard;
  return empty;
}

// With the lock held.
CachedStack* pop(SizeClass* from) {
  CachedStack* cached = from->head;
  from->head = cached->next;
  cache.stacks--;
  cache.resident -= cached->resident;
  return cached;
}

// With the lock held.
bool has_room(size_t resident) {
  return cache.stacks < cache.limits.stacks &&
         cache.resident + resident <= cache.limits.resident_bytes;
}

// With the lock held. Stores the stack and returns a list of what must be unmapped instead: when
// the cache is full, a stack of another size goes first, or sizes out of use would fill it for
// ever.
CachedStack* insert(CachedStack* cached) {
  CachedStack* evicted = nullptr;
  SizeClass* own = find_class(cached->stack.size, cached->stack.guard, true);
  if (own == nullptr || !has_room(cached->resident)) {
    for (SizeClass& of_size : cache.classes) {
      if (&of_size == own || of_size.head == nullptr) continue;
      evicted = pop(&of_size);
      evicted->next = nullptr;
      break;
    }
    if (own == nullptr) own = find_class(cached->stack.size, cached->stack.guard, true);
    if (own == nullptr || !has_room(cached->resident)) {
      cached->next = evicted;
      return cached;
    }
  }
  cached->next = own->head;
  own->head = cached;
  cache.stacks++;
  cache.resident += cached->resident;
  return evicted;
}

// Unmaps one at a time, so that others get at the lock between the system calls.
void trim_to(const StackCacheLimits& limits) {
  for (;;) {
    CachedStack* victim = nullptr;
    cache.lock.lock();
    if (cache.stacks > limits.stacks || cache.resident > limits.resident_bytes) {
      for (SizeClass& of_size : cache.classes) {
        if (of_size.head == nullptr) continue;
        victim = pop(&of_size);
        break;
      }
    }
    cache.lock.unlock();
    if (victim == nullptr) return;
    unmap(Stack{victim->stack});
  }
}

}  // namespace

bool stack_allocate(Stack* stack, size_t size, size_t guard) {
  size_t page = page_size();
  if (size == 0 || size > kMaxSize || guard > kMaxSize) {
    errno = EINVAL;
    return false;
  }
  size = round_up(size, page);
  guard = round_up(guard, page);
  cache.lock.lock();
  CachedStack* cached = nullptr;
  if (SizeClass* of_size = find_class(size, guard, false)) cached = pop(of_size);
  (cached != nullptr ? cache.hits : cache.misses)++;
  cache.lock.unlock();
  if (cached != nullptr) {
    *stack = cached->stack;
    stack->fresh = false;
    return true;
  }
  if (map(stack, size, guard)) return true;
  // Address space or map count may be held by cached stacks of other sizes.
  int error = errno;
  if (stack_cache_statistics().stacks == 0) return false;
  trim_to({0, 0});
  if (map(stack, size, guard)) return true;
  errno = error;
  return false;
}

void stack_release(Stack* stack) {
  Stack released = *stack;
  *stack = Stack{};
  if (released.base == nullptr) return;
  int error = errno;
  size_t page = page_size();
  // HotSpot undoes its yellow and red zones when a thread ends, but a native library or an
  // aborted attach may not. A no-op mprotect is one system call; a stray PROT_NONE page is a
  // crash in the next thread.
  if (mprotect(released.base, released.size, PROT_READ | PROT_WRITE) != 0) {
    unmap(released);
    errno = error;
    return;
  }
  size_t resident = trim_deep_part(released, page);
  CachedStack* cached = header_of(released);
  *cached = CachedStack{nullptr, released, resident};

  cache.lock.lock();
  CachedStack* evicted = insert(cached);
  cache.lock.unlock();
  while (evicted != nullptr) {
    CachedStack* next = evicted->next;
    unmap(Stack{evicted->stack});
    evicted = next;
  }
  errno = error;
}

size_t stack_trim_below(const Stack& stack, const void* sp) {
  size_t page = page_size();
  auto base = reinterpret_cast<uintptr_t>(stack.base), at = reinterpret_cast<uintptr_t>(sp);
  if (at < base || at > base + stack.size) return 0;
  size_t unused = (at - base) / page * page;
  size_t resident = resident_bytes(stack.base, unused, page);
  if (resident == 0) return 0;
  int error = errno;
  // HotSpot's guard zones lie in there: they keep their protection.
  bool done = madvise(stack.base, unused, MADV_DONTNEED) == 0;
  errno = error;
  return done ? resident : 0;
}

void stack_drop_deep(const Stack& stack, const void* top) {
  auto base = reinterpret_cast<uintptr_t>(stack.base), at = reinterpret_cast<uintptr_t>(top);
  size_t page = page_size();
  if (at < base + kShallow + page) return;
  int error = errno;
  madvise(stack.base, (at - base - kShallow) / page * page, MADV_DONTNEED);
  errno = error;
}

void* stack_start(const Stack& stack, void* top) {
  // Fibonacci hashing of the page number picks one of 8 lines: stateless, so the start of a
  // stack is the same each time it is used. With 16, 30 to 40 % of the threads blocked in a
  // socket's read had a third page of stack in use, with 8 it is 4 to 7 % (docs/performance.md).
  uint64_t hash = (reinterpret_cast<uintptr_t>(stack.base) / kPage) * 0x9E3779B97F4A7C15u;
  size_t colour = (hash >> 61) * 64;
  if (stack.size < 16 * kPage) colour = 0;
  char* from = top != nullptr ? static_cast<char*>(top) : stack.base + stack.size;
  return from - colour;
}

void stack_cache_configure(const StackCacheLimits& limits) {
  cache.lock.lock();
  cache.limits = limits;
  cache.lock.unlock();
}

void stack_cache_trim() {
  cache.lock.lock();
  StackCacheLimits limits = cache.limits;
  cache.lock.unlock();
  trim_to(limits);
}

StackCacheStatistics stack_cache_statistics() {
  cache.lock.lock();
  StackCacheStatistics statistics{cache.stacks, cache.resident, cache.hits, cache.misses};
  cache.lock.unlock();
  return statistics;
}

void stack_cache_after_fork() { cache.lock.reset(); }

}  // namespace wisp
