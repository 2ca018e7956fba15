// The modules (executable and libraries) that have thread-local storage: their initial images and
// where they lie in a thread block. Used by thread_block.cpp only.
// Invariant: the list, and of each block tp, modules and loading, are written only inside a
// dl_iterate_phdr callback, hence under ld.so's own lock: no second lock, no module is unmapped
// while its image is being copied, and no block gets an image twice or after its end. (A check that
// had read "nothing copied yet" from a block in the making once wiped it when it was in use.)
#pragma once

#include <cstddef>
#include <cstdint>

namespace wisp {

struct ThreadBlock;

// The module that holds `address` keeps its TLS over a reset (libc, ld.so, libwisp).
// Call before threads exist.
void tls_keep_module(const void* address);

// Gives every module not kept its initial image again. The dynamic vector of the block is read:
// nobody else may be running on it.
void tls_reset(ThreadBlock* block);

// Makes tp the thread pointer of a new block, zeroes all of its static TLS that no module occupies
// and copies every image: ld.so leaves what malloc returned there. `zeroed`: it is all zero
// already, and what nobody occupies need not be touched.
void tls_fill_static(ThreadBlock* block, uintptr_t tp, bool zeroed);

// The block has no thread pointer from here on: its memory may be freed.
void tls_forget(ThreadBlock* block);

// Zeroes the unoccupied parts of static TLS, so that "untouched" means something, and sets loading.
void tls_before_dlopen(ThreadBlock* block);

// Copies the images of modules in static TLS that the block does not have yet; one with non-zero
// bytes there is left alone while the block is loading, since its constructors have already run.
// `own` ends the loading.
void tls_apply_modules(ThreadBlock* block, bool own);

// True when the list agrees with where the calling thread (one glibc made) has its static TLS.
bool tls_modules_check();

}  // namespace wisp
