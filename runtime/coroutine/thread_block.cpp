// Makes and recycles thread blocks; see the header. What a field means and where it lies is
// libc_layout's business, which modules exist is tls_modules'.
//
// Known gap: a library dlopened from a task whose *constructor* reads a non-zero-initialised
// static-TLS variable sees zero there, as ld.so initialises only listed threads before it runs
// constructors and offers no hook in between.
#include "coroutine/thread_block.h"

#include <locale.h>
#include <netdb.h>
#include <resolv.h>
#include <sys/rseq.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "coroutine/context.h"
#include "coroutine/key_registry.h"
#include "coroutine/libc_layout.h"
#include "coroutine/tls_modules.h"
#include "platform/kernel.h"

namespace wisp {

namespace {

uintptr_t descriptor(const ThreadBlock& block) {
  return block.tp + static_cast<uintptr_t>(libc.self_from_tp);
}

template <typename T>
T& in_pthread(uintptr_t self, size_t offset) {
  return at<T>(self, static_cast<ptrdiff_t>(offset));
}

#if defined(__x86_64__)
// tcbhead_t, part of the ABI: compiled code reads the guards, and has fs:0 as its own address.
struct Header {
  uintptr_t self_tp;
  uintptr_t dtv;
  uintptr_t self;
  int multiple_threads;
  int gscope_flag;
  uintptr_t sysinfo;
  uintptr_t stack_guard;
  uintptr_t pointer_guard;
  uintptr_t unused_vgetcpu[2];
  uint32_t feature_1;
};

void fill_header(uintptr_t tp) {
  auto& header = at<Header>(tp, 0);
  const auto& creator = at<Header>(thread_pointer(), 0);
  header.self_tp = tp;
  header.self = tp;
  // Where it is still read, a zero would make malloc and stdio skip their locks.
  header.multiple_threads = 1;
  header.sysinfo = creator.sysinfo;
  header.stack_guard = creator.stack_guard;
  header.pointer_guard = creator.pointer_guard;
  header.feature_1 = creator.feature_1;
}
#else
// The guards are globals here and nothing points at itself. The first word of struct pthread is
// multiple_threads, where it is still read; see above for why it must not be zero.
void fill_header(uintptr_t tp) {
  in_pthread<int>(tp + static_cast<uintptr_t>(libc.self_from_tp), 0) = 1;
}
#endif

// An empty list of held robust mutexes: both links hold the address of the head.
void fill_robust_list(uintptr_t self) {
  uintptr_t head = self + libc.robust_head;
  in_pthread<uintptr_t>(self, libc.robust_head - sizeof(void*)) = head;
  struct List {
    uintptr_t next;
    long futex_offset;
    uintptr_t pending;
  };
  in_pthread<List>(self, libc.robust_head) = List{head, libc.robust_futex_offset, 0};
}

// No thread's neighbour: libc's fork takes the calling thread out of its list of threads.
void fill_list(uintptr_t self) {
  uintptr_t node = self + libc.list;
  in_pthread<uintptr_t>(self, libc.list) = node;
  in_pthread<uintptr_t>(self, libc.list + sizeof(void*)) = node;
}

// The kernel updates the rseq area of the worker, never ours. A negative cpu_id tells
// sched_getcpu() to ask the kernel; a zero would mean "CPU 0" for ever.
void fill_rseq(uintptr_t tp) {
  if (libc.rseq == 0) return;
  struct Rseq {
    uint32_t cpu_id_start;
    int32_t cpu_id;
  };
  constexpr int32_t kRegistrationFailed = -2;
  at<Rseq>(tp, libc.rseq) = Rseq{0, kRegistrationFailed};
}

// Values of pthread keys: the first block of them is part of struct pthread, further ones are
// allocated by pthread_setspecific.
void drop_key_values(uintptr_t self) {
  for (size_t i = 0; i < libc.specific_count; i++) {
    auto& slot = in_pthread<void*>(self, libc.specific + i * sizeof(void*));
    if (reinterpret_cast<uintptr_t>(slot) == self + libc.first_key_block) continue;
    std::free(slot);
    slot = nullptr;
  }
  std::memset(reinterpret_cast<void*>(self + libc.first_key_block), 0, libc.key_block_size);
}

// Frees the name server list of this block's resolver, if it was ever used, and makes it new.
void close_resolver(void* state) {
  auto* resolver = static_cast<struct __res_state*>(state);
  if ((resolver->options & RES_INIT) == 0 || libc.resolver_close == nullptr) return;
  libc.resolver_close(resolver);
  std::memset(resolver, 0, sizeof *resolver);
}

bool block_is_plausible(const ThreadBlock& block) {
  uintptr_t dtv = at<uintptr_t>(block.tp, libc.dtv);
  auto entry = static_cast<ptrdiff_t>(libc.dtv_entry_size);
  if (dtv == 0 || block.tp % 16 != 0) return false;
  size_t length = at<size_t>(dtv, -entry);
  return length > 0 && length < 100000 &&
         at<uintptr_t>(descriptor(block), static_cast<ptrdiff_t>(libc.specific)) ==
             descriptor(block) + libc.first_key_block;
}

}  // namespace

bool thread_block_probe(const char** why) {
  if (!libc_layout_probe(why)) return false;
  tls_keep_module(reinterpret_cast<const void*>(libc.ctype_init));
  tls_keep_module(reinterpret_cast<const void*>(libc.allocate_tls));
  // Not a preloaded allocator's: its destructor has run, and for what comes after jemalloc has no
  // cache in that thread any more.
  if (!tls_modules_check()) {
    *why = "static TLS is not where the C library says it is";
    return false;
  }
  ThreadBlock block;
  if (!thread_block_create(&block, 1)) {
    *why = "out of memory for a thread block";
    return false;
  }
  bool plausible = block_is_plausible(block);
  thread_block_destroy(&block);
  if (!plausible) *why = "a thread block made by the C library has an unknown layout";
  return plausible;
}

void thread_block_keep_module(const void* address) { tls_keep_module(address); }

// `place`: where the thread pointer of the block shall be, in zeroed memory; null: libc's choice.
static bool create_at(void* place, ThreadBlock* block, uint32_t tid) {
  bool zeroed = place != nullptr;
  void* resolver = nullptr;
  if (libc.own_resolver == 0) {
    resolver = std::calloc(1, sizeof(struct __res_state));
    if (resolver == nullptr) return false;
  }
  void* allocated = libc.allocate_tls(place);
  if (allocated == nullptr) {
    std::free(resolver);
    errno = ENOMEM;
    return false;
  }
  tls_fill_static(block, reinterpret_cast<uintptr_t>(allocated), zeroed);
  uintptr_t self = descriptor(*block);
  block->resolver =
      resolver != nullptr ? resolver : &in_pthread<struct __res_state>(self, libc.own_resolver);
  fill_header(block->tp);
  fill_list(self);
  fill_robust_list(self);
  fill_rseq(block->tp);
  in_pthread<uintptr_t>(self, libc.specific) = self + libc.first_key_block;
  if (libc.join_state != 0) in_pthread<uint32_t>(self, libc.join_state) = libc.joinable;
  at<void*>(block->tp, libc.resolver) = block->resolver;
  thread_block_set_tid(*block, tid);
  return true;
}

bool thread_block_create(ThreadBlock* block, uint32_t tid) {
  block->low = nullptr;
  return create_at(nullptr, block, tid);
}

bool thread_block_create_in(Stack* stack, ThreadBlock* block, uint32_t tid) {
  // struct pthread lies at the thread pointer and static TLS below it, or the other way round.
  ptrdiff_t pthread_end = libc.self_from_tp + static_cast<ptrdiff_t>(libc.pthread_size);
  ptrdiff_t from = libc.static_start < libc.self_from_tp ? libc.static_start : libc.self_from_tp;
  ptrdiff_t to = libc.static_end > pthread_end ? libc.static_end : pthread_end;
  if (static_cast<size_t>(to - from) + libc.static_alignment > stack->size / 4)
    return thread_block_create(block, tid);
  char* top = stack->base + stack->size;
  auto tp = (reinterpret_cast<uintptr_t>(top) - static_cast<uintptr_t>(to)) &
            ~(uintptr_t{libc.static_alignment} - 1);
  char* low = reinterpret_cast<char*>(tp) + from;
  if (!stack->fresh) std::memset(low, 0, static_cast<size_t>(top - low));
  block->low = low;
  return create_at(reinterpret_cast<void*>(tp), block, tid);
}

void thread_block_destroy(ThreadBlock* block) {
  uintptr_t tp = block->tp;
  if (tp == 0) return;
  drop_key_values(descriptor(*block));
  close_resolver(block->resolver);
  if (libc.own_resolver == 0) std::free(block->resolver);
  block->resolver = nullptr;
  tls_forget(block);
  libc.deallocate_tls(reinterpret_cast<void*>(tp), block->low == nullptr);
  block->low = nullptr;
}

void thread_block_set_tid(const ThreadBlock& block, uint32_t tid) {
  in_pthread<uint32_t>(descriptor(block), libc.tid) = tid;
}

uint32_t thread_block_tid(const ThreadBlock& block) {
  return in_pthread<uint32_t>(descriptor(block), libc.tid);
}

pthread_t thread_block_self(const ThreadBlock& block) { return descriptor(block); }

uintptr_t thread_pointer_of(pthread_t self) {
  return self - static_cast<uintptr_t>(libc.self_from_tp);
}

void thread_block_first_run() { libc.ctype_init(); }

// The list is the program's: a mutex may be unmapped by now, or its links overwritten. The kernel
// ends there, so it is asked to touch the word, which changes nothing.
static bool writable(uintptr_t word) {
  uint32_t nobody = 0;
  // As FUTEX_OP in linux/futex.h: or 0 to the word; wakes who waits for it if it was 1, a tid that
  // nobody here has.
  constexpr long kOr = long{FUTEX_OP_OR} << 28 | long{FUTEX_OP_CMP_EQ} << 24 | 1;
  return kernel::call(SYS_futex, reinterpret_cast<long>(&nobody), FUTEX_WAKE_OP_PRIVATE, 0, 0,
                      static_cast<long>(word), kOr) >= 0;
}

// What the kernel does at the end of a kernel thread: robust mutexes that it still holds are
// marked, so that the next to lock one gets EOWNERDEAD. glibc waits for robust ones by shared
// futexes.
static void abandon_robust_mutexes(uintptr_t self) {
  uintptr_t head = self + libc.robust_head;
  uint32_t tid = in_pthread<uint32_t>(self, libc.tid);
  uintptr_t entry = in_pthread<uintptr_t>(self, libc.robust_head) & ~uintptr_t{1};
  constexpr int kMost = 2048;  // as the kernel: the list may be damaged
  for (int i = 0; entry != head && i < kMost; i++) {
    uintptr_t lock = entry + static_cast<uintptr_t>(libc.robust_futex_offset);
    if (!writable(lock) || !writable(entry)) return;
    auto* word = reinterpret_cast<uint32_t*>(lock);
    entry = at<uintptr_t>(entry, 0) & ~uintptr_t{1};
    uint32_t value = __atomic_load_n(word, __ATOMIC_RELAXED);
    // release: what was written under the mutex goes with it.
    while ((value & FUTEX_TID_MASK) == tid &&
           !__atomic_compare_exchange_n(word, &value, (value & FUTEX_WAITERS) | FUTEX_OWNER_DIED,
                                        false, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
    if ((value & FUTEX_TID_MASK) == tid && (value & FUTEX_WAITERS) != 0)
      kernel::call(SYS_futex, reinterpret_cast<long>(word), FUTEX_WAKE, 1);
  }
}

void thread_block_exit_hooks(ThreadBlock* block) {
  libc.call_tls_dtors();
  key_run_destructors();
  // A key destructor may have touched a thread_local. glibc would forget the destructor that this
  // registers; on a block with a next user it must not stay behind.
  libc.call_tls_dtors();
  drop_key_values(descriptor(*block));
  close_resolver(block->resolver);
  abandon_robust_mutexes(descriptor(*block));
}

void thread_block_reset(ThreadBlock* block) {
  tls_reset(block);
  uintptr_t self = descriptor(*block);
  fill_robust_list(self);
  at<void*>(block->tp, libc.resolver) = block->resolver;
  // What libc keeps per thread besides malloc's cache, piece by piece.
  // "Cancelled" and "exiting" of a thread that ended by pthread_exit go first.
  in_pthread<int>(self, libc.cancel_handling) = 0;
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, nullptr);
  pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, nullptr);
  uselocale(LC_GLOBAL_LOCALE);
  if (libc.take_dlerror != nullptr) libc.take_dlerror();
  h_errno = 0;
  errno = 0;
}

int kernel_processor(uintptr_t worker_tp) {
  if (libc.rseq != 0) {
    // struct rseq: cpu_id_start, cpu_id (linux/rseq.h). Negative: not registered.
    int cpu = at<volatile int>(worker_tp, libc.rseq + static_cast<ptrdiff_t>(sizeof(int)));
    if (cpu >= 0) return cpu;
  }
  unsigned cpu = 0;
  return kernel::call(SYS_getcpu, reinterpret_cast<long>(&cpu)) == 0 ? static_cast<int>(cpu) : -1;
}

void thread_block_after_fork(uintptr_t worker_tp) {
  if (libc.rseq == 0) return;
  constexpr long kUnregister = 1;
  long area = static_cast<long>(worker_tp) + libc.rseq;
  // The length must be the registered one: 32, or with glibc 2.40 and later what the kernel offers.
  for (long length = 32; length <= 256; length += 32) {
    if (kernel::call(SYS_rseq, area, length, kUnregister, RSEQ_SIG) == 0) return;
  }
}

void thread_block_before_dlopen(ThreadBlock* block) { tls_before_dlopen(block); }

void thread_block_init_late_modules(ThreadBlock* block, bool own) { tls_apply_modules(block, own); }

}  // namespace wisp
