// See collect.h.
#include "observe/collect.h"

#include <string.h>

#include "observe/peek.h"
#include "observe/socket_end.h"
#include "observe/wait_names.h"
#include "scheduler/internal.h"
#include "scheduler/task_tid.h"

namespace wisp::stats {
namespace {

inline uint64_t read(const std::atomic<uint64_t>& counter) {
  return counter.load(std::memory_order_relaxed);
}

uint64_t mean_ns(const std::atomic<uint64_t>& sum_ticks, const std::atomic<uint64_t>& samples) {
  uint64_t n = read(samples);
  return n != 0 ? ticks_to_ns(read(sum_ticks)) / n : 0;
}

// At least what was told before. Relaxed: a number and nothing else.
uint64_t never_less(std::atomic<uint64_t>& told, uint64_t now) {
  uint64_t before = told.load(std::memory_order_relaxed);
  while (before < now)
    if (told.compare_exchange_weak(before, now, std::memory_order_relaxed)) return now;
  return before;
}

uint32_t id_of(const WispTask* task) {
  return task == nullptr ? kNone : task_number(peek(task->tid));
}

struct Times {
  uint64_t ticks, monotonic_ns, started_ns;
};

void fill(CarrierRecord* r, const Carrier& c, const Times& now) {
  memset(r, 0, sizeof *r);
  r->index = c.index;
  WispTask* running = c.current.load(std::memory_order_acquire);
  r->running = id_of(running);
  Worker* worker = peek(c.worker);
  r->worker_tid = worker != nullptr ? worker->tid.load(std::memory_order_relaxed) : 0;
  r->switches = read(c.switches);
  r->parks = read(c.parks);
  r->unparks = read(c.unparks);
  r->yields = read(c.yields);
  r->steals = read(c.steals);
  r->failed_steals = read(c.failed_steals);
  r->timeouts = read(c.timeouts);
  r->handoffs = read(c.handoffs);
  r->preemptions = read(c.preemptions);
  r->idles = read(c.idles);
  r->wakeups = read(c.wakeups);
  r->polls = read(c.polls);
  r->started = read(c.started);
  r->completed = read(c.completed);
  uint64_t run = read(c.run_ticks);
  if (running != nullptr) {  // what its present task has used of its slice so far
    uint64_t since = now.ticks - peek(running->dispatched_at);
    if (since < (1ull << 62)) run += since;
  }
  r->run_ns = never_less(c.told.run, ticks_to_ns(run));
  uint64_t age = now.monotonic_ns - now.started_ns;
  r->idle_ns = never_less(c.told.idle, age > r->run_ns ? age - r->run_ns : 0);
  // Whatever was woken from this carrier waited in a queue: the sample's mean, times their number.
  r->queued_count_total = r->unparks;
  r->queued_ns = never_less(c.told.queued, mean_ns(c.queued_ticks, c.queued_samples) * r->unparks);
  r->io_waits = read(c.io_waits);
  r->io_wait_ns = ticks_to_ns(read(c.io_wait_ticks));
  uint64_t off = ticks_to_ns(read(c.off_ticks));
  r->blocked_ns = never_less(c.told.blocked, off > r->queued_ns ? off - r->queued_ns : 0);
}

void fill(WorkerRecord* r, const Worker& w) {
  r->tid = w.tid.load(std::memory_order_relaxed);
  Carrier* c = peek(w.carrier);
  r->carrier = c != nullptr ? c->index : kNone;
  r->task = id_of(peek(w.current));
  r->polling = w.polling.load(std::memory_order_relaxed) != 0 ? 1 : 0;
}

uint64_t monotonic_at(uint64_t then_ticks, const Times& now) {
  uint64_t ago = now.ticks - then_ticks;
  if (ago > (1ull << 62)) return now.monotonic_ns;
  ago = ticks_to_ns(ago);
  return ago < now.monotonic_ns ? now.monotonic_ns - ago : 0;
}

void fill(TaskRecord* r, const WispTask& t, const WaitNames& names, const Times& now) {
  memset(r, 0, sizeof *r);
  r->address = reinterpret_cast<uint64_t>(&t);
  r->tid = peek(t.tid);
  r->id = task_number(r->tid);
  TaskState state = t.state.load(std::memory_order_relaxed);
  r->state = static_cast<State>(state);
  r->handed_off = state == TaskState::Running && t.handoff.load() == HandOff::Taken;
  Carrier* c = peek(t.carrier);
  r->carrier = c != nullptr ? c->index : kNone;
  Worker* w = t.worker.load(std::memory_order_relaxed);
  r->worker_tid = w != nullptr ? w->tid.load(std::memory_order_relaxed) : 0;
  r->wait_fd = -1;
  for (uint32_t i = 0; i + 1 < kNameSize; ++i) r->name[i] = peek(t.name[i]);
  r->deadline_ns = kNever;
  if (state == TaskState::Parked) {
    if (peek(t.timer.queued)) r->deadline_ns = peek(t.timer.deadline);
    const void* key = t.waiter.key.load(std::memory_order_relaxed);
    r->wait_address = reinterpret_cast<uint64_t>(key);
    r->wait_for = WaitFor::Lock;
    // A sleeper parks on a local variable of its own.
    uint64_t stack = reinterpret_cast<uint64_t>(peek(t.stack.base));
    if (r->wait_address - stack < peek(t.stack.size))
      r->wait_for = WaitFor::Time;
    else
      names.name(key, r);
    if (r->wait_fd >= 0) name_socket(r);
  } else if (state == TaskState::Running && r->handed_off) {
    r->wait_for = WaitFor::Native;
  }
  if (w == nullptr && !t.on_cpu.running())
    r->stack_pointer = reinterpret_cast<uint64_t>(peek(t.context.sp));
  r->since_ns = monotonic_at(peek(t.dispatched_at), now);
  r->cpu_ns = task_cpu_ns(&t);
  r->times_run = read(t.times_run);
  r->times_stolen = read(t.times_stolen);
  r->times_steal_failed = read(t.times_steal_failed);
  r->times_handed_off = read(t.times_handed_off);
  r->times_preempted = read(t.times_preempted);
  r->thread_pointer = peek(t.block.tp);
  r->java_id = peek(t.java_id);
  r->queued_ns = mean_ns(t.queued_ticks, t.queued_samples) * r->times_run;
}

template <typename R>
Section section(size_t offset, uint32_t count) {
  return Section{static_cast<uint32_t>(offset), count, sizeof(R), 0};
}

constexpr uint32_t kQueuedPerCarrier = Carrier::kRing + Carrier::kFront + 1;  // 1: the next slot

// All carriers, and what their queues hold. Returns how many tasks that is.
uint32_t fill_carriers(CarrierRecord* carriers, uint32_t* queued, const Times& now) {
  uint32_t queued_total = 0;
  for (uint32_t i = 0; i < g_scheduler.carrier_count; ++i) {
    const Carrier& c = g_scheduler.carriers[i];
    CarrierRecord* r = &carriers[i];
    fill(r, c, now);
    r->queued_first = queued_total;
    if (WispTask* next = c.next.load(std::memory_order_relaxed))
      queued[queued_total++] = id_of(next);
    WispTask* both[Carrier::kRing + Carrier::kFront];
    uint32_t n = c.front.look(both, Carrier::kFront);
    n += c.queue.look(both + n, Carrier::kRing);
    for (uint32_t k = 0; k < n; ++k)
      if (both[k] != nullptr) queued[queued_total++] = id_of(both[k]);
    r->queued_count = queued_total - r->queued_first;
    r->queue_length = r->queued_count + c.inbox.size();
  }
  return queued_total;
}

// From `at` on, as many as there is room for. Returns where they end.
size_t fill_workers(char* base, size_t at, size_t room, uint32_t* count) {
  const std::atomic<Worker*>& all = g_scheduler.all_workers;
  for (Worker* w = all.load(std::memory_order_acquire); w != nullptr; w = w->all_next) {
    if (w->tid.load(std::memory_order_relaxed) == 0)
      continue;  // no kernel thread yet, or none any more
    if (at + sizeof(WorkerRecord) > room) break;
    fill(reinterpret_cast<WorkerRecord*>(base + at), *w);
    at += sizeof(WorkerRecord);
    ++*count;
  }
  return at;
}

// The same of those that live; for whom there is no room is left out. Their carriers count them.
size_t fill_tasks(char* base, size_t at, size_t room, const Times& now, CarrierRecord* carriers,
                  uint32_t* count, uint32_t* left_out) {
  WaitNames names;
  for (WispTask* t = all_tasks(); t != nullptr; t = t->all_next) {
    if (t->state.load(std::memory_order_relaxed) == TaskState::Dead) continue;
    if (at + sizeof(TaskRecord) > room) {
      ++*left_out;
      continue;
    }
    auto* r = reinterpret_cast<TaskRecord*>(base + at);
    fill(r, *t, names, now);
    if (r->carrier < g_scheduler.carrier_count) ++carriers[r->carrier].tasks;
    at += sizeof(TaskRecord);
    ++*count;
  }
  return at;
}

void fill_totals(Snapshot* snapshot, const CarrierRecord* carriers) {
  const Scheduler& s = g_scheduler;
  snapshot->tasks_created = read(s.tasks_created);
  snapshot->tasks_completed = read(s.completed_elsewhere);
  snapshot->handoffs = read(s.handoffs);
  for (uint32_t i = 0; i < s.carrier_count; ++i) {
    snapshot->tasks_completed += carriers[i].completed;
    snapshot->handoffs += carriers[i].handoffs;
  }
  snapshot->preemptions = read(s.preemptions);
  snapshot->sysmon_tick_us = s.config.sysmon_tick_us;
  snapshot->sysmon_wakes_at_ns = sysmon_wakes_at();
  snapshot->global_queue = s.global.size();
  snapshot->idle_carriers = s.idle.idle();
  snapshot->kept_back_carriers = s.idle.kept_back();
  snapshot->spare_workers = s.idle.spares();
  snapshot->searching_workers = s.idle.searching();
}

uint64_t g_first_ns = 0;

}  // namespace

size_t snapshot_room() {
  const Scheduler& s = g_scheduler;
  if (g_first_ns == 0) g_first_ns = monotonic_ns();  // called first when the publisher starts
  size_t tasks = 0, workers = 0;
  for (WispTask* t = all_tasks(); t != nullptr; t = t->all_next)
    if (t->state.load(std::memory_order_relaxed) != TaskState::Dead) ++tasks;
  for (Worker* w = s.all_workers.load(std::memory_order_acquire); w != nullptr; w = w->all_next)
    ++workers;
  return sizeof(Snapshot) + s.carrier_count * (sizeof(CarrierRecord) + kQueuedPerCarrier * 4) +
         (workers + 8) * sizeof(WorkerRecord) + (tasks + 64) * sizeof(TaskRecord);
}

size_t collect(void* to, size_t room) {
  const Scheduler& s = g_scheduler;
  char* base = static_cast<char*>(to);
  size_t carriers_at = sizeof(Snapshot);
  size_t queued_at = carriers_at + s.carrier_count * sizeof(CarrierRecord);
  size_t workers_at = queued_at + s.carrier_count * kQueuedPerCarrier * 4;
  workers_at = (workers_at + 7) & ~size_t{7};
  if (room < workers_at) return 0;
  Times now{ticks(), monotonic_ns(), g_first_ns};
  Snapshot snapshot;
  memset(&snapshot, 0, sizeof snapshot);
  snapshot.realtime_ns = realtime_ns();
  snapshot.monotonic_ns = now.monotonic_ns;

  auto* carriers = reinterpret_cast<CarrierRecord*>(base + carriers_at);
  uint32_t queued = fill_carriers(carriers, reinterpret_cast<uint32_t*>(base + queued_at), now);
  uint32_t workers = 0, tasks = 0, left_out = 0;
  size_t tasks_at = fill_workers(base, workers_at, room, &workers);
  snapshot.size = fill_tasks(base, tasks_at, room, now, carriers, &tasks, &left_out);

  snapshot.carriers = section<CarrierRecord>(carriers_at, s.carrier_count);
  snapshot.queued = section<uint32_t>(queued_at, queued);
  snapshot.workers = section<WorkerRecord>(workers_at, workers);
  snapshot.tasks = section<TaskRecord>(tasks_at, tasks);
  snapshot.tasks_alive = tasks + left_out;
  fill_totals(&snapshot, carriers);
  memcpy(base, &snapshot, sizeof snapshot);
  return snapshot.size;
}

}  // namespace wisp::stats
