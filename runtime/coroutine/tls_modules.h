// The modules (executable and libraries) that have thread-local storage: their initial images and
// where they lie in a thread block. Used by thread_block.cpp only.
// Invariant: the list is read and written only inside a dl_iterate_phdr callback, hence under
// ld.so's own lock: no second lock, and no module is unmapped while its image is being copied.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wisp {

// The module that holds `address` keeps its TLS over a reset (libc, ld.so, libwisp).
// Call before threads exist.
void tls_keep_module(const void* address);

// Gives every module not kept its initial image again in the block with this thread pointer. The
// dynamic vector of the block is read: nobody else may be running on it.
// Returns the number of the newest module.
uint64_t tls_reset(uintptr_t tp);

// Zeroes all static TLS of a new block that no module occupies and copies every image: ld.so
// leaves what malloc returned there. Returns the number of the newest module.
uint64_t tls_fill_static(uintptr_t tp);

// Zeroes the unoccupied parts of static TLS, so that a later "untouched" test means something.
void tls_clear_gaps(uintptr_t tp);

// Copies the images of modules in static TLS that are newer than `since`. Returns the number of
// the newest now. `untouched_only`: leave a module alone that has non-zero bytes there, since its
// constructors have already run on this block.
uint64_t tls_apply_modules(uintptr_t tp, uint64_t since, bool untouched_only);

// True when the list agrees with where the calling thread (one glibc made) has its static TLS.
bool tls_modules_check();

}  // namespace wisp
