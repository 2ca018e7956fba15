// The weight of kernel threads that are lent to computing tasks.
//
// Who computes past its tick goes on as a kernel thread without a carrier (handoff.h). The kernel
// then divides the processors between such threads and the carriers, one share each, though a
// carrier stands for all the tasks in its queue: among a hundred ready ones a computing task would
// get seventeen times what it gets on plain threads, and all others would wait for that
// (docs/performance-conditions.md, "Beside threads that compute"). So while tasks queue, SysMonitor
// lowers the weight of the kernel threads lent to tasks that compute, to what one of those that
// queue has (nice(1): 1.25 per step, sched(7)). The thread gets its weight back before it runs
// anything else. An unprivileged process may not raise it again: there the thread ends.
#pragma once
#include <stdint.h>

namespace wisp {

struct Carrier;
struct Worker;
struct WispTask;

// SysMonitor's last step of a hand-off: Requested to Taken (handoff.h), and a note of it. False:
// the task has entered the runtime meanwhile, and keeps its carrier.
bool lend(WispTask* task);
// SysMonitor's turn, at every look. `computing`: it should look every tick while carriers are busy.
// `lighter`: some thread is to get its weight back, also when nobody queues any more.
struct LentLook {
  bool computing = false, lighter = false;
};
LentLook lent_look(uint64_t now_ns);

// On the lent kernel thread, under RuntimeEntry: its weight is the process's again, or false.
bool lent_over(Worker* worker);
// On the lent kernel thread: an idle carrier for it, as IdleSet::take_carrier, and its own weight.
Carrier* lent_take_carrier(Worker* worker);

// While it lives the calling task runs with the weight of the process, whatever thread it is on: a
// new process or thread is born with its creator's. Outside any RuntimeEntry; null: it does
// nothing.
class FullWeight {
 public:
  explicit FullWeight(WispTask* self) : self_(self) {
    if (self != nullptr) begin(self);
  }
  ~FullWeight() {
    if (self_ != nullptr) end(self_);
  }
  FullWeight(const FullWeight&) = delete;
  FullWeight& operator=(const FullWeight&) = delete;
  // The two halves, for vfork.
  static void begin(WispTask* self);
  static void end(WispTask* self);

 private:
  WispTask* self_;
};

}  // namespace wisp
