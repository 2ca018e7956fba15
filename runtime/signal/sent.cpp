// See sent.h. Records come from a pool of fixed size, since signals are sent from handlers: without
// a free one a signal has no value, and counts once. Those of a thread that has ended are taken
// back when there are no others.
#include "signal/sent.h"

#include "platform/spin_lock.h"
#include "scheduler/scheduler.h"
#include "signal/internal.h"

namespace wisp {

namespace {

struct Record {
  WispTask* task = nullptr;  // null: free
  uint32_t tid = 0;          // the task may have another thread meanwhile
  int sig = 0;
  Sent sent;
  Record* next = nullptr;  // younger
};

constexpr uint32_t kRecords = 1024;
Record g_records[kRecords];
Record *g_oldest = nullptr, *g_youngest = nullptr;
SpinLock g_lock;  // over all the above; the task pool's may be taken under it
std::atomic<uint32_t> g_used{0};

// As inside a RuntimeEntry, but for what its end delivers: who takes a signal runs its handler
// first.
class Undisturbed {
 public:
  Undisturbed() { add(1); }
  ~Undisturbed() { add(~0u); }
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;

 private:
  void add(uint32_t n) {
    compiler_barrier();
    me_.depth.store(me_.depth.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    compiler_barrier();
  }
  ThreadSelf& me_ = thread_self();
};

inline bool is_queued(int sig) { return sig > 31; }  // by POSIX, the real-time ones

// tid and state are read while others write them: an old answer keeps a record a little longer.
bool is_over(const Record& r) {
  return r.task->tid != r.tid || r.task->state.load(std::memory_order_relaxed) == TaskState::Dead;
}

// Takes out those that `which` names, up to `most`; their number. The first one into *sent.
template <typename F>
uint32_t take_out(F&& which, uint32_t most, Sent* sent) {
  uint32_t taken = 0;
  Record* before = nullptr;
  for (Record* r = g_oldest; r != nullptr && taken < most;) {
    Record* next = r->next;
    if (which(*r)) {
      if (taken++ == 0 && sent != nullptr) *sent = r->sent;
      (before != nullptr ? before->next : g_oldest) = next;
      if (next == nullptr) g_youngest = before;
      r->task = nullptr;
    } else {
      before = r;
    }
    r = next;
  }
  g_used.fetch_sub(taken, std::memory_order_relaxed);
  return taken;
}

Record* free_record() {
  if (g_used.load(std::memory_order_relaxed) == kRecords) take_out(is_over, kRecords, nullptr);
  if (g_used.load(std::memory_order_relaxed) == kRecords) return nullptr;
  static uint32_t next = 0;  // mostly free
  while (g_records[next % kRecords].task != nullptr) ++next;
  return &g_records[next++ % kRecords];
}

bool is_there(const WispTask* task, int sig) {
  for (const Record* r = g_oldest; r != nullptr; r = r->next)
    if (r->task == task && r->tid == task->tid && r->sig == sig) return true;
  return false;
}

}  // namespace

void sent_add(WispTask* task, int sig, const Sent* sent) {
  std::atomic<uint64_t>& pending = task->self->pending_signals;
  if (!is_queued(sig) && sent == nullptr) {
    pending.fetch_or(bit_of(sig), std::memory_order_relaxed);
    return;
  }
  SpinGuard guard(g_lock);
  bool there = (waiting_signals(*task->self) & bit_of(sig)) != 0;
  // Of the others the first one counts, and its value.
  Record* r = is_queued(sig) || !there ? free_record() : nullptr;
  if (r != nullptr) {
    *r = {task, task->tid, sig, sent != nullptr ? *sent : Sent{}, nullptr};
    (g_youngest != nullptr ? g_youngest->next : g_oldest) = r;
    g_youngest = r;
    g_used.fetch_add(1, std::memory_order_relaxed);
  }
  // release: who finds it finds g_used changed.
  pending.fetch_or(bit_of(sig), std::memory_order_release);
}

bool sent_take(WispTask* task, int sig, bool held, Sent* sent) {
  auto clear = [&] {
    uint64_t was = task->self->pending_signals.fetch_and(~bit_of(sig), std::memory_order_acquire);
    if (held) was |= task->self->held_signals.fetch_and(~bit_of(sig), std::memory_order_relaxed);
    return (was & bit_of(sig)) != 0;
  };
  *sent = Sent{};
  if (!is_queued(sig)) {
    if (!clear()) return false;
    if (g_used.load(std::memory_order_relaxed) == 0) return true;
  }
  Undisturbed undisturbed;
  SpinGuard guard(g_lock);
  if (is_queued(sig) && !clear()) return false;
  take_out([&](const Record& r) { return r.task == task && r.tid == task->tid && r.sig == sig; }, 1,
           sent);
  if (is_there(task, sig))
    (held ? task->self->held_signals : task->self->pending_signals)
        .fetch_or(bit_of(sig), std::memory_order_relaxed);
  return true;
}

void sent_forget(WispTask* task, int sig) {
  Undisturbed undisturbed;
  SpinGuard guard(g_lock);
  task->self->pending_signals.fetch_and(~bit_of(sig), std::memory_order_relaxed);
  take_out([&](const Record& r) { return r.task == task && r.sig == sig; }, kRecords, nullptr);
}

void sent_forget_all(int sig) {
  if (!in_scheduler_process()) return;  // a child: the lock may be a thread's that it has not
  RuntimeEntry entry;  // a kernel thread may not come by again for what comes meanwhile
  SpinGuard guard(g_lock);
  each_thread_self(
      [](ThreadSelf& self, uint64_t bit) {
        self.pending_signals.fetch_and(~bit, std::memory_order_relaxed);
        self.held_signals.fetch_and(~bit, std::memory_order_relaxed);
      },
      bit_of(sig));
  take_out([&](const Record& r) { return r.sig == sig; }, kRecords, nullptr);
}

}  // namespace wisp
