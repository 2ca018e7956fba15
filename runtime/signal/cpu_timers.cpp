// See cpu_timers.h. Everything here is under one lock, which is a leaf; raw system calls.
#include "signal/cpu_timers.h"

#include <errno.h>
#include <stdlib.h>

#include <algorithm>
#include <new>

#include "platform/kernel.h"
#include "scheduler/internal.h"

namespace wisp {

struct CpuTimer {
  WispTask* task = nullptr;  // null: unused, or its task has ended
  CpuTimer* next = nullptr;  // of the same task, or unused
  bool used = false;
  int overrun = 0;
  uint32_t index = 0, life = 0;
  sigval value{};
  uint64_t interval_ns = 0, next_ns = 0;  // of the task's CPU time; next_ns 0: disarmed
};

namespace {

constexpr uint32_t kChunk = 1024, kChunks = 1024;
constexpr uint32_t kIndexBits = 20, kLives = 1u << 10;
static_assert(kChunk * kChunks == 1u << kIndexBits);
// Four ticks in a period, so that hardly one of a task that computes is counted as overrun.
constexpr uint64_t kShortestTickNs = 1000 * 1000, kLongestTickNs = 10 * 1000 * 1000;

SpinLock g_lock;
CpuTimer* g_chunks[kChunks] = {};
uint32_t g_made = 0;
CpuTimer* g_unused = nullptr;
uint32_t g_used = 0, g_armed = 0;
int g_signal = 0;        // of all that are used
uint64_t g_tick_ns = 0;  // 0: nothing ticks
char g_mark;             // its address is in the ticks' siginfo

int number_of(const CpuTimer* t) {
  return kFirstCpuTimer | static_cast<int>(t->life << kIndexBits | t->index);
}

// Null: no such timer.
CpuTimer* find(int timer) {
  uint32_t bits = static_cast<uint32_t>(timer - kFirstCpuTimer);
  uint32_t index = bits & ((1u << kIndexBits) - 1), life = bits >> kIndexBits;
  if (index >= g_made) return nullptr;
  CpuTimer* t = &g_chunks[index / kChunk][index % kChunk];
  return t->used && t->life == life ? t : nullptr;
}

itimerspec timerspec_of(uint64_t ns) {
  itimerspec one{};
  one.it_interval.tv_sec = one.it_value.tv_sec = static_cast<time_t>(ns / 1000000000u);
  one.it_interval.tv_nsec = one.it_value.tv_nsec = static_cast<long>(ns % 1000000000u);
  return one;
}

// ---- the workers' ticks

void set_ticker(const Worker* w) {
  itimerspec every = timerspec_of(g_tick_ns);
  kernel::call(SYS_timer_settime, w->ticker, 0, reinterpret_cast<long>(&every), 0);
}

// Refused (RLIMIT_SIGPENDING): what runs there is not seen.
void make_ticker(Worker* w) {
  int tid = w->tid.load(std::memory_order_relaxed);
  if (tid == 0 || w->ticker >= 0) return;
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = g_signal;
  event.sigev_value.sival_ptr = &g_mark;
  event.sigev_notify_thread_id = tid;
  int id = -1;
  if (kernel::call(SYS_timer_create, thread_cpu_clock(tid), reinterpret_cast<long>(&event),
                   reinterpret_cast<long>(&id)) != 0)
    return;
  w->ticker = id;
  set_ticker(w);
}

void delete_ticker(Worker* w) {
  if (w->ticker < 0) return;
  kernel::call(SYS_timer_delete, w->ticker);
  w->ticker = -1;
}

void worker_begins(Worker* w) {
  SpinGuard guard(g_lock);
  if (g_tick_ns == 0) return;
  // One may have been made for the last kernel thread of this Worker, which was on its way out.
  delete_ticker(w);
  make_ticker(w);
}
void worker_ends(Worker* w) {
  SpinGuard guard(g_lock);
  delete_ticker(w);
}
constexpr WorkerWatch kWatch{worker_begins, worker_ends};

Worker* first_worker() { return g_scheduler.all_workers.load(std::memory_order_acquire); }

void tick_every(uint64_t ns) {
  if (ns == g_tick_ns) return;
  g_tick_ns = ns;
  // seq_cst: a worker that begins says so (its tid), then looks here; we look at the workers after
  // this.
  g_worker_watch.store(ns != 0 ? &kWatch : nullptr, std::memory_order_seq_cst);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (Worker* w = first_worker(); w != nullptr; w = w->all_next) {
    if (ns == 0)
      delete_ticker(w);
    else if (w->ticker >= 0)
      set_ticker(w);
    else
      make_ticker(w);
  }
}

// ---- timers

void arm(CpuTimer* t, uint64_t next_ns) {
  if ((t->next_ns != 0) == (next_ns != 0)) {
    t->next_ns = next_ns;
    return;
  }
  t->next_ns = next_ns;
  g_armed += next_ns != 0 ? 1u : ~0u;
  if (g_armed == 0) tick_every(0);
}

itimerspec left_of(const CpuTimer* t) {
  itimerspec left = timerspec_of(t->interval_ns);
  left.it_value = {};
  if (t->next_ns == 0 || t->task == nullptr) return left;
  uint64_t now = task_cpu_ns(t->task);
  left.it_value = timerspec_of(t->next_ns > now ? t->next_ns - now : 1).it_value;
  return left;
}

bool valid(const timespec& ts) {
  return ts.tv_sec >= 0 && ts.tv_nsec >= 0 && ts.tv_nsec < 1000000000;
}

void take_out(CpuTimer* t) {
  CpuTimer** p = &t->task->cpu_timers;
  while (*p != t) p = &(*p)->next;
  *p = t->next;
  t->task = nullptr;
}

void task_ends(WispTask* self) {
  SpinGuard guard(g_lock);
  while (CpuTimer* t = self->cpu_timers) {
    arm(t, 0);
    take_out(t);
  }
}

// Out of memory or numbers: false. Not under the lock.
bool make_some() {
  CpuTimer* chunk = static_cast<CpuTimer*>(malloc(sizeof(CpuTimer) * kChunk));
  if (chunk == nullptr) return false;
  RuntimeEntry entry;
  SpinGuard guard(g_lock);
  if (g_made == kChunk * kChunks) {
    free(chunk);
    return false;
  }
  g_chunks[g_made / kChunk] = chunk;
  for (uint32_t i = 0; i < kChunk; ++i) {
    CpuTimer* t = new (&chunk[i]) CpuTimer();
    t->index = g_made + i;
    t->next = g_unused;
    g_unused = t;
  }
  g_made += kChunk;
  return true;
}

}  // namespace

int cpu_timer_create(clockid_t clock, const sigevent* event, int* timer) {
  if (event == nullptr || event->sigev_notify != SIGEV_THREAD_ID) return kNoTasks;
  WispTask* task = task_of_tid(event->sigev_notify_thread_id);
  if (task == nullptr) return kNoTasks;
  // Another clock could signal a kernel thread only.
  if (task_of_clock(clock) != task) return EINVAL;
  int sig = event->sigev_signo;
  sigval value = event->sigev_value;
  if (sig < 1 || sig >= NSIG) return EINVAL;
  for (;;) {
    {
      RuntimeEntry entry;
      SpinGuard guard(g_lock);
      if (g_used != 0 && sig != g_signal) return EINVAL;
      if (CpuTimer* t = g_unused) {
        g_unused = t->next;
        g_signal = sig;
        g_task_timers_end = &task_ends;
        ++g_used;
        *t = CpuTimer{task, task->cpu_timers, true, 0, t->index, (t->life + 1) % kLives, value};
        task->cpu_timers = t;
        *timer = number_of(t);
        return 0;
      }
    }
    if (!make_some()) return EAGAIN;
  }
}

template <typename Act>
static int with_timer(int timer, Act act) {
  RuntimeEntry entry;
  SpinGuard guard(g_lock);
  CpuTimer* t = find(timer);
  return t != nullptr ? act(t) : EINVAL;
}

int cpu_timer_set(int timer, int flags, const itimerspec& value, itimerspec* old) {
  if (!valid(value.it_value) || !valid(value.it_interval)) return EINVAL;
  uint64_t first = to_ns(value.it_value), interval = to_ns(value.it_interval);
  return with_timer(timer, [&](CpuTimer* t) {
    if (t->task == nullptr) return ESRCH;
    if (old != nullptr) *old = left_of(t);
    t->interval_ns = interval;
    if (first == 0) {
      arm(t, 0);
      return 0;
    }
    arm(t, (flags & TIMER_ABSTIME) != 0 ? first : task_cpu_ns(t->task) + first);
    tick_every(std::clamp((interval != 0 ? interval : first) / 4, kShortestTickNs, kLongestTickNs));
    return 0;
  });
}

int cpu_timer_get(int timer, itimerspec* left) {
  return with_timer(timer, [&](CpuTimer* t) {
    *left = left_of(t);
    return 0;
  });
}

int cpu_timer_overrun(int timer, int* overrun) {
  return with_timer(timer, [&](CpuTimer* t) {
    *overrun = t->overrun;
    return 0;
  });
}

int cpu_timer_delete(int timer) {
  return with_timer(timer, [](CpuTimer* t) {
    arm(t, 0);
    if (t->task != nullptr) take_out(t);
    t->used = false;
    t->next = g_unused;
    g_unused = t;
    --g_used;
    return 0;
  });
}

bool is_cpu_tick(const siginfo_t* info) {
  return info->si_code == SI_TIMER && info->si_value.sival_ptr == &g_mark;
}

bool cpu_timer_due(WispTask* self, int sig, siginfo_t* meant) {
  RuntimeEntry entry;
  if (self->cpu_timers == nullptr) return false;
  uint64_t now = task_cpu_ns(self);
  SpinGuard guard(g_lock);
  if (sig != g_signal) return false;  // a late tick, of timers that are gone
  for (CpuTimer* t = self->cpu_timers; t != nullptr; t = t->next) {
    if (t->next_ns == 0 || t->next_ns > now) continue;
    uint64_t missed = t->interval_ns != 0 ? (now - t->next_ns) / t->interval_ns : 0;
    t->overrun = static_cast<int>(std::min<uint64_t>(missed, 0x7fffffff));
    arm(t, t->interval_ns != 0 ? t->next_ns + (missed + 1) * t->interval_ns : 0);
    meant->si_value = t->value;
    meant->si_timerid = number_of(t);
    meant->si_overrun = t->overrun;
    return true;
  }
  return false;
}

}  // namespace wisp
