// The thread block of one coroutine: the C library's control block (struct pthread) plus static
// TLS, at which the thread pointer points while the coroutine runs. It makes errno, thread_local,
// pthread_self() and malloc's cache belong to the coroutine and not to the kernel thread below.
// Invariant: at most one kernel thread runs on a block at a time, and a block's thread pointer
// never changes. tp, modules and loading change only under ld.so's lock (tls_modules.h), because
// every dlopen looks at every block, also at one that is being made or destroyed at that moment.
// Callers: the scheduler (create, reset, destroy), the interposed dlopen. Functions that take no
// block, or say "on the task", act on the block that is running.
#pragma once

#include <pthread.h>

#include <cstdint>

#include "coroutine/stack.h"

namespace wisp {

struct ThreadBlock {
  uintptr_t tp = 0;          // thread pointer
  void* resolver = nullptr;  // this block's resolver state (_res)
  uint64_t modules = 0;      // newest module whose static TLS image the block holds
  void* low = nullptr;       // its lowest byte, when it lies in its stack; else null
  bool loading = false;      // its task is in dlopen: constructors may have written to new modules
};

// Once, by a thread that glibc made, before any other call here. False: this C library or kernel
// does not allow thread blocks; *why (static storage) says so in words for the user.
bool thread_block_probe(const char** why);

// The TLS of the module that holds `address` survives thread_block_reset(); for libwisp itself.
// libc (with its malloc) and ld.so are kept in any case. Before the first reset.
void thread_block_keep_module(const void* address);

// `tid` must be unique in the process and positive. False with errno = ENOMEM.
bool thread_block_create(ThreadBlock* block, uint32_t tid);

// The same at the top of the task's stack, as glibc does it for its own threads: the block's few
// bytes share their page with the first frames. The stack ends at block->low then, and must outlive
// the block. A stack too small for that gets a block from malloc.
bool thread_block_create_in(Stack* stack, ThreadBlock* block, uint32_t tid);

// Not while anyone runs on it. What malloc cached for the block is lost with it (some KiB), so
// prefer a free list and thread_block_reset().
void thread_block_destroy(ThreadBlock* block);

// What pthread functions of libc take for the block's tid; `tid` as for thread_block_create.
void thread_block_set_tid(const ThreadBlock& block, uint32_t tid);
uint32_t thread_block_tid(const ThreadBlock& block);

// The pthread_t of a block and back.
pthread_t thread_block_self(const ThreadBlock& block);
uintptr_t thread_pointer_of(pthread_t self);

// On the task, before any of its code.
void thread_block_first_run();

// On the task, at its end: thread_local destructors, then key destructors, then what glibc itself
// drops at the end of a thread.
void thread_block_exit_hooks(ThreadBlock* block);

// On the task: makes a used block look like a new thread's, after thread_block_exit_hooks() of the
// old one. Every module's TLS has its initial image again but for the kept ones.
void thread_block_reset(ThreadBlock* block);

// The processor that the calling kernel thread is on, whose own thread pointer is `worker_tp`, by
// its rseq area; where there is none a system call. -1: not known.
int kernel_processor(uintptr_t worker_tp);

// In a child forked by a task that ran on the kernel thread whose own thread pointer is
// `worker_tp`: the kernel still writes to that thread's rseq area, which glibc takes for a dead
// thread's and may unmap with its stack; the next return from the kernel would then be a SIGSEGV
// (seen).
void thread_block_after_fork(uintptr_t worker_tp);

// Around a dlopen: ld.so copies the images of new modules in static TLS only into the threads that
// glibc knows. On the task, before: what an unloaded module left behind must not be taken for data.
void thread_block_before_dlopen(ThreadBlock* block);

// After it, for every block, whatever is being done to that block meanwhile; cheap when nothing is
// new. `own`: the block that called dlopen looks after itself. From thread_block_before_dlopen() to
// then a module that its constructors wrote to is left alone, whoever looks (they ran on zeroed
// storage, see the note in thread_block.cpp).
void thread_block_init_late_modules(ThreadBlock* block, bool own);

}  // namespace wisp
