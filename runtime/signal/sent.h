// What a signal to a task brings along: the value of pthread_sigqueue, and of real-time signals
// that each one counts. pending_signals says of each number only that there is one; more than that
// stands here, oldest first.
#pragma once
#include <signal.h>

#include "scheduler/task.h"

namespace wisp {

// Of its siginfo.
struct Sent {
  int code = SI_TKILL;
  sigval value{};
};

// Makes `sig` pending for the task. `sent`: null, or what comes with it. Needs a RuntimeEntry.
void sent_add(WispTask* task, int sig, const Sent* sent);
// The calling task takes one that is pending (or held: blocked by its mask); it stays pending while
// there are more. False: there is none. In handlers, too: nothing is delivered in here.
bool sent_take(WispTask* task, int sig, bool held, Sent* sent);
// All of them: they are ignored.
void sent_forget(WispTask* task, int sig);
// The same of all tasks: from now on it is ignored, which ends what is pending (POSIX, sigaction).
void sent_forget_all(int sig);

}  // namespace wisp
