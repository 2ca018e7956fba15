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
// The sleeper gets back what the process's first thread may use. Linux then takes that for its own
// wish: a cpuset that grows afterwards reaches the worker with its next wake-up of this kind.
// Tasks never see any of it, they are told the affinity of the process (scheduling.cpp).
#pragma once
#include "scheduler/carrier.h"

namespace wisp {

// Waker's side, after the worker was taken from the idle lists and before its wake word is stored.
void placement_before_wake(Worker* sleeper);
// Sleeper's side, its first act when it was woken for a carrier.
void placement_after_wake(Worker* self);

// running_threads; unit tests put something else here.
extern std::atomic<int (*)()> g_count_running;

}  // namespace wisp
