// Where the C library keeps what a thread block must fill in: found out at run time from the
// descriptors it exports for libthread_db and from the probing thread's own block, and checked
// there. No offset beyond the ABI's (x86-64 tcbhead_t) is written down here.
// Invariant: `libc` is constant after libc_layout_probe() returned true. Used inside coroutine/.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>

namespace wisp {

struct LibcLayout {
  // Functions, the C library's own even where the runtime interposes the name.
  void* (*allocate_tls)(void*);
  void (*deallocate_tls)(void*, bool);
  void (*ctype_init)();
  void (*call_tls_dtors)();
  void* (*getspecific)(pthread_key_t);
  int (*setspecific)(pthread_key_t, const void*);
  char* (*take_dlerror)();        // null when not found
  void (*resolver_close)(void*);  // __res_nclose; null when not found

  // struct pthread
  ptrdiff_t self_from_tp;  // pthread_self() - thread pointer
  size_t pthread_size;
  size_t tid;
  size_t list;             // list node {next, prev} in libc's list of threads
  size_t cancel_handling;  // cancellation state and requests
  size_t specific;         // array of `specific_count` pointers to key blocks
  size_t specific_count;
  size_t first_key_block;  // inside struct pthread; specific[0] points at it
  size_t key_block_size;
  size_t own_resolver;  // struct __res_state of threads but the main one; 0: not part of it
  size_t join_state;    // a word, glibc 2.43 and later: whether it lives, is detached...; 0: none
  uint32_t joinable;    // what stands there in a thread that lives and can be joined
  size_t robust_head;   // struct robust_list_head, preceded by robust_prev
  long robust_futex_offset;

  // Relative to the thread pointer
  ptrdiff_t dtv;       // pointer to the dynamic thread vector
  ptrdiff_t rseq;      // struct rseq; 0 when this glibc has none
  ptrdiff_t resolver;  // __resp: pointer to the thread's resolver state

  // Static TLS of every block: [tp + static_start, tp + static_end)
  ptrdiff_t static_start, static_end;
  size_t static_alignment;  // of the thread pointer, a power of two

  // struct dtv_t, struct link_map, the list of TLS modules
  size_t dtv_entry_size;
  size_t link_map_tls_offset;
  const char* slot_list;  // address of the pointer to the first dtv_slotinfo_list
  size_t slot_list_length, slot_list_next, slot_list_slots;
  size_t slot_size, slot_map, slot_generation;
};

extern LibcLayout libc __attribute__((visibility("hidden")));

// Fills `libc`. On false *why says, in words for a user, what is missing or implausible.
bool libc_layout_probe(const char** why);

template <typename T>
T& at(uintptr_t base, ptrdiff_t offset) {
  return *reinterpret_cast<T*>(base + static_cast<uintptr_t>(offset));
}

}  // namespace wisp
