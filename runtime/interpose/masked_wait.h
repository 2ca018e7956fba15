// A call that exchanges the signal mask while it waits in the kernel (sigsuspend, ppoll, pselect,
// epoll_pwait), on a task. The exchange is the kernel's, since it must be one step with the wait;
// so the task stays on this kernel thread, and its carrier goes to others.
#pragma once
#include <errno.h>
#include <string.h>

#include "interpose/entry.h"
#include "signal/actions.h"
#include "signal/task_signals.h"
#include "sync/interruption.h"

namespace wisp {

// `call` makes the real call with `mask`, and no longer than the time that it is given (null: for
// ever), and leaves errno. All is blocked from here to the call, so that signals sent to the task
// meanwhile, and those that it holds already because its own mask blocks them, are the kernel's
// pending ones when the call opens the mask. deadline_ns: kForever = no limit.
template <typename F>
auto wait_with_mask(WispTask* task, const sigset_t* mask, uint64_t deadline_ns, F&& call) {
  sigset_t all, before;
  memset(&all, 0xff, sizeof all);
  task_mask_change(task, SIG_SETMASK, &all, &before);
  auto waiting = [&] {
    BlockingRegion region;
    AwaitsSignals awaits(task, ~word_of(mask));
    HandlersSince handlers;
    for (;;) {
      timespec left = deadline_ns != kForever ? time_left(deadline_ns) : timespec{};
      auto result = call(deadline_ns != kForever ? &left : nullptr);
      if (result >= 0 || !ended_for_another(handlers)) return result;
      awaits.again();
    }
  };
  auto result = waiting();
  int error = errno;
  task_mask_change(task, SIG_SETMASK, &before, nullptr);
  errno = error;
  return result;
}

}  // namespace wisp
