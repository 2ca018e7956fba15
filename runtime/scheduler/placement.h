// Where a woken worker wakes up. A worker is woken to run beside its waker, but Linux may well put
// it on the waker's own processor, where it preempts the waker and nothing runs beside anything.
// Seen on KVM guests: a halted virtual processor counts as preempted (vcpu_is_preempted,
// arch/x86/kernel/kvm.c), so select_idle_sibling (kernel/sched/fair.c) finds no idle one and stays
// where the waker is: 995 of 1,000 wake-ups on two processors, one of them idle.
//
// So the waker forbids its own processor to the sleeper, which lifts that first of all. It costs
// two system calls on either side, and only where it is needed: who wakes up on its waker's
// processor without being kept from it turns this on for the next wake-ups. And only while a
// processor of the machine is idle: with a load generator or a database on the others it made
// servers slower (two processors: Netty under h2load 0.79 instead of 0.98 of plain threads'
// requests, Tomcat's CPU per request 0.74 instead of 0.69 of theirs).
//
// And where there are two or three carriers the kernel may keep their workers on one processor also
// when it is not their waker who brings them there: spread.h. While that is so, whoever goes to
// sleep or is woken is kept off all processors where another worker is busy.
//
// The sleeper gets back what SysMonitor may use (bound_as_process) as soon as it is up, before it
// runs a task: what tasks start has the affinity of their kernel thread. Linux then takes that for
// its own wish: a cpuset that grows afterwards reaches the worker with its next wake-up of this
// kind. Tasks never see any of it, they are told the affinity of the process (scheduling.cpp).
#pragma once
#include "scheduler/carrier.h"

namespace wisp {

// Waker's side, after the worker was taken from the idle lists and before its wake word is stored.
void placement_before_wake(Worker* sleeper);
// The same for who is about to block, or is not on any carrier: its own processor is free soon.
void placement_before_hand_over(Worker* sleeper);
// Sleeper's side: before it waits for events, which do not say who makes them.
void placement_before_wait(Worker* self);
// Sleeper's side, its first act when it is up.
void placement_after_wake(Worker* self);
// By who has the carrier: where its worker is, and whether another one is there.
void placement_look_around(Carrier* c);
// SysMonitor, at each of its looks, where Spread::possible.
void placement_look(uint64_t now_ns);

// The kernel thread whose affinity, and nice value, counts as the process's: SysMonitor, which
// nobody binds alone; it follows the cpuset, and who binds all threads (taskset -a). The first
// thread may have bound itself, or has ended and follows nothing any more. Where there is no
// SysMonitor, the first thread.
int bound_as_process();

// running_threads; unit tests put something else here.
extern std::atomic<int (*)()> g_count_running;
// Workers are kept apart (spread.h); for unit tests, too.
extern std::atomic<bool> g_kept_apart;
inline bool kept_apart() { return g_kept_apart.load(std::memory_order_relaxed); }

}  // namespace wisp
