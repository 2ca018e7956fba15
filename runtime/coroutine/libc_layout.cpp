// Reads the C library's thread layout; see the header.
// The descriptors (_thread_db_*) are what gdb relies on, so their meaning is stable from release to
// release: fields are uint32_t[3] = {bits per element, elements, byte offset}, sizes one uint32_t.
#include "coroutine/libc_layout.h"

#include <dlfcn.h>
#include <linux/futex.h>
#include <resolv.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <optional>

#include "coroutine/context.h"
#include "coroutine/symbol_table.h"
#include "platform/backoff.h"

namespace wisp {

LibcLayout libc;

namespace {

// Null when there is none.
void* libc_symbol(const char* name) {
  void* address = dlsym(RTLD_NEXT, name);
  return address != nullptr ? address : dlsym(RTLD_DEFAULT, name);
}

struct Field {
  uint32_t bits;
  uint32_t count;
  uint32_t offset;
};

// Collects look-ups and remembers the first failure, so that the probe reads as a list.
class Finder {
 public:
  const char* missing = nullptr;  // the first one

  template <typename F>
  void function(F** target, const char* name) {
    *target = reinterpret_cast<F*>(find(name));
  }
  uint32_t size(const char* name) {
    auto* value = static_cast<const uint32_t*>(find(name));
    return value != nullptr ? *value : 0;
  }
  Field field(const char* name) {
    auto* value = static_cast<const Field*>(find(name));
    return value != nullptr ? *value : Field{};
  }

 private:
  void* find(const char* name) {
    void* address = libc_symbol(name);
    if (address == nullptr) address = in_old_libpthread(name);
    if (address == nullptr && missing == nullptr) missing = name;
    return address;
  }
  // Its file is opened for the first name that is nowhere else, so not at all from glibc 2.34 on.
  void* in_old_libpthread(const char* name) {
    if (!old_libpthread_.has_value()) old_libpthread_.emplace("libpthread");
    return old_libpthread_->find(name);
  }

  std::optional<SymbolTable> old_libpthread_;
};

bool find_robust_head(uintptr_t self) {
  // The kernel knows where it is; an emulator may not (qemu-user answers ENOSYS), and then the
  // empty list betrays itself: robust_prev and list.next both hold the address of the head.
  struct robust_list_head* head = nullptr;
  size_t length = 0;
  if (syscall(SYS_get_robust_list, 0, &head, &length) != 0) head = nullptr;
  for (size_t offset = sizeof(void*); offset + sizeof *head <= libc.pthread_size;
       offset += sizeof(void*)) {
    auto* candidate = reinterpret_cast<struct robust_list_head*>(self + offset);
    uintptr_t address = self + offset;
    bool found = head != nullptr ? candidate == head
                                 : at<uintptr_t>(address, 0) == address &&
                                       at<uintptr_t>(address, -ptrdiff_t{sizeof(void*)}) == address;
    if (!found) continue;
    libc.robust_head = offset;
    libc.robust_futex_offset = candidate->futex_offset;
    return true;
  }
  return false;
}

bool find_key_blocks(Finder* finder, uintptr_t self) {
  Field specific = finder->field("_thread_db_pthread_specific");
  libc.key_block_size = finder->size("_thread_db_sizeof_pthread_key_data_level2");
  if (finder->missing != nullptr) return false;
  libc.specific = specific.offset;
  // Described as one field, not as an array.
  libc.specific_count = specific.bits * size_t{specific.count} / (8 * sizeof(void*));
  libc.first_key_block = at<uintptr_t>(self, specific.offset) - self;
  return libc.specific_count > 0 && libc.specific_count <= 1024 &&
         libc.first_key_block + libc.key_block_size <= libc.pthread_size;
}

void find_module_list(Finder* finder) {
  auto* globals = static_cast<const char*>(libc_symbol("_rtld_global"));
  if (globals == nullptr) finder->missing = "_rtld_global";
  libc.slot_list =
      globals + finder->field("_thread_db_rtld_global__dl_tls_dtv_slotinfo_list").offset;
  libc.slot_list_length = finder->field("_thread_db_dtv_slotinfo_list_len").offset;
  libc.slot_list_next = finder->field("_thread_db_dtv_slotinfo_list_next").offset;
  libc.slot_list_slots = finder->field("_thread_db_dtv_slotinfo_list_slotinfo").offset;
  libc.slot_size = finder->size("_thread_db_sizeof_dtv_slotinfo");
  libc.slot_map = finder->field("_thread_db_dtv_slotinfo_map").offset;
  libc.slot_generation = finder->field("_thread_db_dtv_slotinfo_gen").offset;
  libc.link_map_tls_offset = finder->field("_thread_db_link_map_l_tls_offset").offset;
  libc.dtv_entry_size = finder->field("_thread_db_dtv_dtv").bits / 8;
}

void find_static_area(Finder* finder) {
  void (*get_info)(size_t*, size_t*) = nullptr;
  finder->function(&get_info, "_dl_get_tls_static_info");
  if (get_info == nullptr) return;
  size_t size = 0, alignment = 0;
  get_info(&size, &alignment);
  libc.static_alignment = alignment;
#if defined(__x86_64__)
  // The size counts struct pthread, which begins at the thread pointer.
  libc.static_start = static_cast<ptrdiff_t>(libc.pthread_size) - static_cast<ptrdiff_t>(size);
  libc.static_end = 0;
#else
  // The size counts the two words at the thread pointer, but not struct pthread below it.
  libc.static_start = 2 * sizeof(void*);
  libc.static_end = static_cast<ptrdiff_t>(size);
#endif
}

bool find_resolver(uintptr_t tp) {
  // A TLS symbol: dlsym gives the calling thread's instance. In libc since 2.34, before that in
  // libresolv's companion inside libc as well.
  auto* slot = static_cast<char*>(libc_symbol("__resp"));
  if (slot == nullptr) return false;
  libc.resolver = slot - reinterpret_cast<char*>(tp);
  return true;
}

// What glibc says nowhere: a thread of its own making is asked. It keeps a thread's resolver state
// inside its struct pthread, but for the main thread.
void find_own_resolver(uintptr_t self) {
  auto state = at<uintptr_t>(thread_pointer(), libc.resolver);
  bool inside = state > self && state + sizeof(struct __res_state) <= self + libc.pthread_size &&
                state % alignof(struct __res_state) == 0;
  libc.own_resolver = inside ? state - self : 0;
}

// Where glibc 2.43 notes that a thread lives and can be joined (nptl: joinstate), pthread_detach
// notes the next number; older ones have a pointer for that (joinid), of which nobody else asks.
// Either is put back: the thread shall be joined.
void find_join_state(uintptr_t self, int (*detach)(pthread_t)) {
  constexpr size_t kWords = 4096 / sizeof(uint32_t);
  uint32_t before[kWords];
  if (detach == nullptr || libc.pthread_size > sizeof before) return;
  memcpy(before, reinterpret_cast<void*>(self), libc.pthread_size);
  if (detach(self) != 0) return;
  size_t found = 0;
  for (size_t i = 0; i < libc.pthread_size / sizeof(uint32_t); ++i) {
    auto offset = static_cast<ptrdiff_t>(i * sizeof(uint32_t));
    auto& word = at<uint32_t>(self, offset);
    if (i % 2 == 0 && at<uintptr_t>(self, offset) == self && before[i] == 0 && before[i + 1] == 0) {
      at<uintptr_t>(self, offset) = 0;
      return;
    }
    if (word != before[i] + 1) continue;
    found = i * sizeof(uint32_t);
    libc.joinable = before[i];
    word = before[i];
  }
  libc.join_state = found;
}

// What the thread needs is found for it. It must not ask ld.so: a library whose constructor comes
// before ours may dlopen this one (async-profiler does with all there are), which has ld.so's lock
// held for as long as we wait here.
struct Look {
  int (*detach)(pthread_t);
  std::atomic<bool> done{false};
};

void* look_at_itself(void* argument) {
  auto* look = static_cast<Look*>(argument);
  find_own_resolver(pthread_self());
  find_join_state(pthread_self(), look->detach);
  // release: with what was found.
  look->done.store(true, std::memory_order_release);
  return nullptr;
}

void ask_a_thread() {
  int (*create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*) = nullptr;
  int (*join)(pthread_t, void**) = nullptr;
  create = reinterpret_cast<decltype(create)>(libc_symbol("pthread_create"));
  join = reinterpret_cast<decltype(join)>(libc_symbol("pthread_join"));
  pthread_t thread;
  Look look;
  look.detach = reinterpret_cast<decltype(look.detach)>(libc_symbol("pthread_detach"));
  if (create == nullptr || join == nullptr || create(&thread, nullptr, look_at_itself, &look) != 0)
    return;
  // Not joined before: it is detached for a moment, and a join would be refused then.
  for (Backoff backoff; !look.done.load(std::memory_order_acquire);) backoff.wait();
  join(thread, nullptr);
}

}  // namespace

bool libc_layout_probe(const char** why) {
  Finder finder;
  finder.function(&libc.allocate_tls, "_dl_allocate_tls");
  finder.function(&libc.deallocate_tls, "_dl_deallocate_tls");
  finder.function(&libc.ctype_init, "__ctype_init");
  finder.function(&libc.call_tls_dtors, "__call_tls_dtors");
  finder.function(&libc.getspecific, "pthread_getspecific");
  finder.function(&libc.setspecific, "pthread_setspecific");
  libc.take_dlerror = reinterpret_cast<char* (*)()>(libc_symbol("dlerror"));
  libc.resolver_close = reinterpret_cast<void (*)(void*)>(libc_symbol("__res_nclose"));

  uintptr_t tp = thread_pointer();
  uintptr_t self = pthread_self();
  libc.self_from_tp = static_cast<ptrdiff_t>(self - tp);
  libc.pthread_size = finder.size("_thread_db_sizeof_pthread");
  libc.tid = finder.field("_thread_db_pthread_tid").offset;
  libc.list = finder.field("_thread_db_pthread_list").offset;
  libc.cancel_handling = finder.field("_thread_db_pthread_cancelhandling").offset;
  find_static_area(&finder);
  find_module_list(&finder);
  libc.dtv = static_cast<ptrdiff_t>(finder.field("_thread_db_pthread_dtvp").offset);
#if defined(__aarch64__)
  // The descriptor is relative to struct pthread, whose end is the thread pointer here.
  libc.dtv += libc.self_from_tp;
#endif
  if (finder.missing != nullptr) {
    *why = finder.missing;
    return false;
  }
  if (libc.tid + sizeof(uint32_t) > libc.pthread_size ||
      at<int>(self, static_cast<ptrdiff_t>(libc.tid)) != static_cast<int>(syscall(SYS_gettid))) {
    *why = "the thread id is not where the C library says it is";
    return false;
  }
  if (!find_key_blocks(&finder, self)) {
    *why = "the table of pthread keys is not where the C library says it is";
    return false;
  }
  if (!find_robust_head(self)) {
    *why = "the robust mutex list of a thread cannot be found";
    return false;
  }
  if (!find_resolver(tp)) {
    *why = "the resolver state of a thread cannot be found";
    return false;
  }
  ask_a_thread();
  if (libc.dtv_entry_size != 2 * sizeof(void*)) {
    *why = "unknown layout of the dynamic thread vector";
    return false;
  }
  // glibc 2.35 and later; 0 also when a future one leaves the area out.
  auto* rseq_offset = static_cast<const ptrdiff_t*>(libc_symbol("__rseq_offset"));
  libc.rseq = rseq_offset != nullptr ? *rseq_offset : 0;
  return true;
}

}  // namespace wisp
