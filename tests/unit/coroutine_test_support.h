// The smallest possible scheduler for the coroutine tests: resume() from a kernel thread, yield()
// back to it. One coroutine at a time per kernel thread; a coroutine may move between threads.
#pragma once

#include <pthread.h>
#include <stdlib.h>

#include <functional>
#include <utility>

#include "coroutine/context.h"
#include "coroutine/sanitizer_fiber.h"
#include "coroutine/stack.h"
#include "coroutine/thread_block.h"

namespace wisp::test {

class Coroutine {
 public:
  static constexpr size_t kStackSize = 256 * 1024;

  // Without a block the coroutine shares the thread pointer of whoever resumes it.
  explicit Coroutine(std::function<void(Coroutine&)> body, ThreadBlock* block = nullptr,
                     size_t stack_size = kStackSize)
      : body_(std::move(body)), block_(block) {
    if (!stack_allocate(&stack_, stack_size, 4096)) abort();
    context_init(&context_, stack_start(stack_), &Coroutine::entry, this);
    fiber_create(&fiber_, stack_.base, stack_.size);
  }
  ~Coroutine() {
    fiber_destroy(&fiber_);
    stack_release(&stack_);
  }
  Coroutine(const Coroutine&) = delete;
  Coroutine& operator=(const Coroutine&) = delete;

  // Returns false once the body has ended.
  bool resume() {
    home_fiber_ = current_fiber();
    current_fiber() = &fiber_;
    home_tp_ = thread_pointer();
    fiber_leave(home_fiber_, &fiber_, false);
    switch_context(&home_, &context_, block_ ? block_->tp : home_tp_, this);
    fiber_enter(home_fiber_);
    current_fiber() = home_fiber_;
    return !done_;
  }
  void yield() {
    fiber_leave(&fiber_, home_fiber_, false);
    switch_context(&context_, &home_, home_tp_, nullptr);
    fiber_enter(&fiber_);
  }
  void run() {
    while (resume()) {
    }
  }
  ThreadBlock* block() { return block_; }

 private:
  // Whoever calls resume(): a kernel thread or, nested, the coroutine that runs on it. Only
  // sanitizer builds look at it, and there thread_local is always the kernel thread's.
  static Fiber*& current_fiber() {
    thread_local Fiber own;
    thread_local Fiber* current = nullptr;
    if (current == nullptr) {
      fiber_adopt_thread(&own);
      current = &own;
    }
    return current;
  }
  static void entry(void* argument, void* user) {
    auto* self = static_cast<Coroutine*>(user);
    fiber_enter(&self->fiber_);
    if (argument != user) abort();
    self->body_(*self);
    self->done_ = true;
    fiber_leave(&self->fiber_, self->home_fiber_, true);
    switch_context(&self->context_, &self->home_, self->home_tp_, nullptr);
    abort();
  }

  std::function<void(Coroutine&)> body_;
  ThreadBlock* block_;
  Stack stack_{};
  Context context_{};
  Context home_{};
  uintptr_t home_tp_ = 0;
  Fiber fiber_;
  Fiber* home_fiber_ = nullptr;
  bool done_ = false;
};

// A thread block with the life cycle the scheduler gives it.
struct Block : ThreadBlock {
  Block() {
    static uint32_t last_tid = 1'000'000'000;
    if (!thread_block_create(this, ++last_tid)) abort();
  }
  ~Block() { thread_block_destroy(this); }
};

// Runs `body` as a whole thread: reset of a used block, first-run hook, body, exit hooks.
inline void run_as_thread(ThreadBlock* block, std::function<void()> body, bool reset = false) {
  Coroutine coroutine(
      [&](Coroutine& self) {
        if (reset) thread_block_reset(self.block());
        thread_block_first_run();
        body();
        thread_block_exit_hooks(self.block());
      },
      block);
  coroutine.run();
}

}  // namespace wisp::test
