// The futex(2) operations that go to the parking lot instead of the kernel, for every thread of the
// process: both sides of a futex must meet in one queue. Only FUTEX_PRIVATE_FLAG operations; what
// may be shared with other processes stays the kernel's. So do the PI operations, but not for a
// task: the word names the owner, and the kernel puts or looks for its own thread there.
// A word that the kernel itself wakes (CLONE_CHILD_CLEARTID) never comes through syscall().
#pragma once
#include <linux/futex.h>
#include <stdint.h>
#include <time.h>

namespace wisp {

inline bool futex_is_ours(int op) {
  if ((op & FUTEX_PRIVATE_FLAG) == 0) return false;
  switch (op & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAKE:
    case FUTEX_REQUEUE:
    case FUTEX_CMP_REQUEUE:
    case FUTEX_WAKE_OP:
    case FUTEX_WAIT_BITSET:
    case FUTEX_WAKE_BITSET:
      return true;
    default:
      return false;
  }
}

inline bool futex_names_owner(int op) {
  switch (op & FUTEX_CMD_MASK) {
    case FUTEX_LOCK_PI:
    case FUTEX_LOCK_PI2:
    case FUTEX_TRYLOCK_PI:
    case FUTEX_UNLOCK_PI:
    case FUTEX_WAIT_REQUEUE_PI:
    case FUTEX_CMP_REQUEUE_PI:
      return true;
    default:
      return false;
  }
}

// As the system call: a result >= 0 or -errno. `timeout_or_val2` is a timespec* for the waits and a
// number for the requeues. An address that cannot be read is a fault of the caller here, where the
// kernel says EFAULT.
long futex(uint32_t* uaddr, int op, uint32_t val, uintptr_t timeout_or_val2, uint32_t* uaddr2,
           uint32_t val3);

}  // namespace wisp
