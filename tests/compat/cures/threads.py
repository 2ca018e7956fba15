"""Cures to take out: what belongs to a thread or a process: weight, locks of the kernel's, children."""
from cures.mutation import Mutation

MUTATIONS = [
    # What a lent kernel thread weighs (scheduler/lent.h).
    Mutation("computing-as-heavy-as-a-carrier", "runtime/scheduler/lent.cpp", "if (!set_nice(l.tid, base + added)) return false;",
             "return false;", ("unit", "wisp_lent_test", "Lent.LighterWhile*")),
    Mutation("weight-taken-along", "runtime/scheduler/worker.cpp", "  if (!lent_over(w)) return false;\n", "",
             ("unit", "wisp_lent_test", "Lent.WhatATaskLeaves*")),
    Mutation("weight-inherited", "runtime/scheduler/lent.cpp",
             "if (!still(l) || l.task->full_weight.load(std::memory_order_relaxed) != 0) return false;",
             "if (!still(l)) return false;",
             ("unit", "wisp_lent_test", "Lent.FullWeight*")),
    # A process dies with the kernel thread that made it, if it has asked for that.
    Mutation("children-die-with-workers", "runtime/scheduler/worker.cpp", "  outlive_children();\n", "",
             ("preload", "preload_parent_death", 2)),
    # What the kernel binds to a thread, set by system calls.
    Mutation("workers-bound-by-calls", "runtime/interpose/syscall.cpp", "scheduling_call(number, a, b, c, d, &result)",
             "number < 0 && scheduling_call(number, a, b, c, d, &result)", ("preload", "preload_thread_class", 2)),
    Mutation("workers-renamed-and-slack", "runtime/interpose/thread_control.cpp", "if (task == nullptr) return false;",
             "if (option >= 0) return false;", ("preload", "preload_thread_control", 2)),
    Mutation("mask-of-attributes-ignored", "runtime/interpose/threads.cpp", "*mask = word_of(&set);", "(void)mask;",
             ("preload", "preload_thread_control", 2)),
    # setuid and its like wait for every kernel thread.
    Mutation("setxid-by-the-task", "runtime/signal/setxid.cpp", "  if (own != 0) set_thread_pointer(own);\n", "",
             ("preload", "preload_user_ids", 2)),
    Mutation("setxid-blocked", "runtime/platform/kernel.h", "kAllSignals = ~(1ull << 32)", "kAllSignals = ~0ull",
             ("preload", "preload_user_ids", 2)),
    # What the program changes of a kernel thread.
    Mutation("changed-thread-goes-on", "runtime/scheduler/worker.cpp", "  if (w->changed) return false;\n", "",
             ("preload", "preload_thread_state", 2)),
    Mutation("changed-thread-is-left", "runtime/scheduler/own_thread.cpp", "  ++self->stays_here;\n  note_own",
             "  note_own", ("preload", "preload_thread_state", 2)),
    Mutation("born-of-a-changed-thread", "runtime/interpose/threads.cpp", "!thread_is_changed(calling_task()) && ", "",
             ("preload", "preload_thread_state", 2)),
    # Locks that libc keeps in the kernel.
    Mutation("kernel-told-to-inherit", "runtime/sync/mutex.cpp",
             "if (e == 0 && attributes != nullptr && !mutex_is_ours(m)) m->__data.__kind &= ~kMutexInherits;", "",
             ("preload", "preload_shared_locks", 2)),
    Mutation("kernel-looks-for-a-task", "runtime/sync/mutex.cpp", "if (WISP_LIKELY(!inherits(m))) return lock();", "return lock();",
             ("preload", "preload_shared_locks", 2)),
    Mutation("unrecoverable-left-locked", "runtime/sync/mutex.cpp", "e == EOWNERDEAD || e == ENOTRECOVERABLE)) settle", "e == EOWNERDEAD)) settle",
             ("preload", "preload_shared_locks", 2)),
    Mutation("asleep-with-the-carrier", "runtime/sync/kernel_wait.h", "  BlockingRegion region;\n", "",
             ("preload", "preload_shared_locks", "1,sysmonTickUs=10000000")),
    Mutation("once-looked-at-each-ms", "runtime/sync/once.cpp", "kLongestWait = 64'000'000", "kLongestWait = 1'000'000",
             ("unit", "wisp_sync_test", "SyncOnce.WhoWaits*")),
    Mutation("futexes-of-the-newer-calls", "runtime/interpose/syscall.cpp", "    case kernel::kFutexWait:\n", "",
             ("preload", "preload_thread_bound", 2)),
    Mutation("futex-owned-by-the-worker", "runtime/interpose/syscall.cpp", "if (futex_names_owner(op) && current_task() != nullptr) return -ENOSYS;", "",
             ("preload", "preload_thread_bound", 2)),
    Mutation("readers-not-where-libc-has-them", "runtime/sync/rwlock.cpp",
             "kReader = uint64_t{1} << 3;\nconstexpr uint64_t kReaders = ((uint64_t{1} << 20) - 1) << 3;",
             "kReader = uint64_t{1} << 2;\nconstexpr uint64_t kReaders = ((uint64_t{1} << 20) - 1) << 2;",
             ("preload", "preload_children", 2)),
    # Children.
    Mutation("forks-of-libc-forgotten", "runtime/interpose/process.cpp",
             "pthread_atfork(&before_fork, nullptr, &in_forked_child) == 0", "before_fork != nullptr && in_forked_child != nullptr",
             ("preload", "preload_children", 2)),
    Mutation("vfork-child-sleeps", "runtime/interpose/locks.cpp", "  if (among_tasks()) return lock_patiently(m);\n", "",
             ("preload", "preload_children", 2)),
]
