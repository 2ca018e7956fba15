// Tasks, carriers and workers of idle_system.h, and which parts of the protocol a case leaves out.
#pragma once
#include "model.h"
#include "scheduler/run_queue.h"

namespace idle_model {

using model::Atomic;
constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;

// What a task does when it runs. A kernel thread's pushes are always Leaf.
enum class Program : uint8_t {
  Leaf,
  Fork2,          // makes two leaves ready, one after the other
  WaitForLeaf,    // makes a leaf ready, then computes until that has run
  BlockForLeaf,   // blocks in the kernel (BlockingRegion) until a leaf has run
  NextThenBlock,  // leaves a leaf in the next slot, then as BlockForLeaf
  RingThenBlock,  // the same with a leaf in the ring
  AwaitLeaf,      // computes until a leaf has run, which somebody else makes ready
};
struct Task {
  Program program;
};
// Of leaves, which others have sent; task_list.h.
struct Inbox {
  model::SpinLock lock{false};
  Atomic<uint32_t> size{0};

  void push() {
    lock.lock();
    size.store(size.load(relaxed) + 1, relaxed);
    lock.unlock();
  }
  uint32_t take(uint32_t at_most = ~0u) {
    lock.lock();
    uint32_t n = size.load(relaxed), taken = n < at_most ? n : at_most;
    if (taken != 0) size.store(n - taken, relaxed);
    lock.unlock();
    return taken;
  }
  bool empty() const { return size.load(relaxed) == 0; }
};
constexpr uint32_t kParts = 2;  // of the event pump, at most
struct Worker;
struct Carrier {
  model::Plain<Worker*> worker;
  uint32_t part = 0;
  Carrier* idle_next = nullptr;  // IdleSet's, under its lock
  Atomic<Task*> next{nullptr};
  wisp::RunQueue<Task, 4, Atomic> queue;
  Inbox inbox;
  Atomic<uint32_t> busy{0};   // BusyTime: 0 is idle
  Atomic<uint32_t> moves{0};  // it has switched since SysMonitor's last look: the age of `now`

  bool anything_queued() const { return !queue.empty() || !inbox.empty(); }
};
struct Worker {
  model::Plain<Carrier*> carrier;
  Worker* next = nullptr;  // IdleSet's, under its lock
  model::Plain<bool> searching;
  Atomic<uint32_t> wake{0};
  Atomic<uint32_t> polling{0};  // the part, less 1
  Atomic<uint32_t> part{0};
};
enum class Work : uint8_t { None, ForItsCarrier, ForAnybody };
enum WakeWord : uint32_t { kRunCarrier = 1, kGoToPump = 2 };

// Left-out parts of the protocol, each of which must show.
enum Fault : uint32_t {
  kNone = 0,
  kOneLookAtFailure = 1,  // wake_searcher that gives up when its claim finds no pair
  kNoFenceAtPush = 2,
  kNoFenceAtSleep = 4,
  kNoSecondLook = 8,
  kSearchingReadLate = 16,  // a worker asks whether it was searching after it has published itself
  kSpareSleepsAtOnce = 32,  // a worker that comes back without a carrier does not look
  kNextStays = 64,          // a carrier is published with its next slot full
  kSysmonOnlyGlobal = 128,  // SysMonitor does not look into the rings of idle carriers
  kPollingFlagLate = 256,   // the poller looks at `wake` before it says that it polls
  kPumpForTwo = 512,        // the next poller may come before the last one has left the pump
  kWrongPart = 2048,        // who wakes a poller interrupts the first part, whichever it is in
  kSysmonKeepsBack = 4096,  // SysMonitor wakes nobody for who is stuck while none is wanted
  kHelperLeaves = 1024,  // a helper that was chosen meanwhile does not look for whoever trusted it
  kNoFenceAtHome = 1 << 13,  // between the push into an inbox and the look whether its home is idle
  kInboxUnseen = 1 << 14,    // who goes idle does not look at the inboxes
  kIdleMarkedLate = 1 << 15,  // who goes idle says so only after its second look
  kLeavesSilently = 1 << 16,  // who leaves a task to a carrier that moves does not tell SysMonitor
  kSendsSilently = 1 << 17,   // nor who sends one to a busy home
  kChangedMindRunsOne = 1 << 18,  // who changes its mind sees to nothing but what it runs
};
struct Shape {
  int carriers = 1, workers = 1;
  int late_workers = 0;  // of them, how many only SysMonitor starts
  bool sysmon = false, pump = false;
  uint32_t parts = 1;      // of the pump: one for all carriers, or one for each
  uint32_t kept_back = 0;  // carriers
  bool helper = false;     // the last worker gets up once by itself, as a forecast helper
  bool homes = false;      // some task is sent home (by the scenario)
  bool leaves = false;     // what queues on a carrier that moves is left to it (left_to_it)
  uint32_t brief = 0;      // so many leaves are over at once,
  uint32_t meet = 0;       // so many more compute until all of these have begun
  uint32_t faults = kNone;
};

}  // namespace idle_model
