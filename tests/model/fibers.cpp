// The threads of a scenario as fibers, and the switch between them and the search. See engine.h.
// ucontext makes the first entry; after that only _setjmp/_longjmp, which need no system call. A
// fiber whose execution was abandoned is simply restarted at its base.
#include <stdlib.h>
#include <sys/mman.h>

#include "engine.h"

namespace model {

void Engine::fiber_main() {
  _setjmp(g_engine->threads_[g_engine->current_]->base);
  Engine* e = g_engine;
  e->test_->bodies_[e->current_].run();
  e->threads_[e->current_]->pending = Pending{Op::Done};
  _longjmp(e->engine_, 1);
}

void Engine::start_fiber(int index) {
  Thread* t = threads_[index];
  current_ = index;
  if (_setjmp(engine_) == 0) {
    if (t->stack != nullptr) _longjmp(t->base, 1);
    t->stack = static_cast<char*>(mmap(nullptr, Thread::kStack, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (t->stack == MAP_FAILED) abort();
    getcontext(&t->context);
    t->context.uc_stack.ss_sp = t->stack;
    t->context.uc_stack.ss_size = Thread::kStack;
    t->context.uc_link = nullptr;
    makecontext(&t->context, fiber_main, 0);
    setcontext(&t->context);
  }
  current_ = kOutside;
}

void Engine::resume(int thread) {
  current_ = thread;
  threads_[thread]->settled = threads_[thread]->pushed;
  if (_setjmp(engine_) == 0) _longjmp(threads_[thread]->resume, 1);
  current_ = kOutside;
}

void Engine::visible(const Pending& pending) {
  if (current_ == kOutside) return;
  Thread* t = threads_[current_];
  t->pending = pending;
  if (_setjmp(t->resume) == 0) _longjmp(engine_, 1);
}
void Engine::visible(Op op, int loc, Site at) {
  Pending p;
  p.op = op;
  p.loc = loc;
  p.at = at;
  visible(p);
}

}  // namespace model
