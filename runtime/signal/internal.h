// What the files of this folder share.
#pragma once
#include "platform/kernel.h"
#include "signal/actions.h"
#include "signal/sent.h"
#include "signal/task_signals.h"

namespace wisp {

// Cannot be blocked by a program: KILL and STOP by the kernel's rule, 32 and 33 by libc's.
constexpr uint64_t kUnblockable =
    1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1) | 1ull << 31 | 1ull << 32;
constexpr uint64_t kMaskable = ~kUnblockable;

// One that is for the calling task, or for another that was here before. Where the kernel has no
// room for it (RLIMIT_SIGPENDING) a signal comes without its siginfo, so without the mark: then it
// is the task's if the task has one pending.
bool is_for_task(const WispTask* task, const siginfo_t* info);
// The siginfo that the sender's call would have made.
void as_sent(const siginfo_t* info, const Sent& sent, siginfo_t* meant);

// Unblocks what was deferred on the calling kernel thread.
void release_deferred(ThreadSelf& self);

// Sent to the task and not taken yet, whether its mask lets them through or not. Relaxed: who needs
// more than a look has a lock, or takes them by an exchange.
inline uint64_t waiting_signals(const ThreadSelf& self) {
  return self.pending_signals.load(std::memory_order_relaxed) |
         self.held_signals.load(std::memory_order_relaxed);
}

// Held signals that `mask` no longer blocks become pending again.
void unhold(ThreadSelf& self, uint64_t mask);

// Takes a signal of `set` that is pending for the calling kernel thread or the process. Its number;
// 0 or less: there is none.
long take_pending(uint64_t set, siginfo_t* info);

}  // namespace wisp
