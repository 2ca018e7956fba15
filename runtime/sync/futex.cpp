// futex(2) semantics on the parking lot. The kernel's promise "compare and queue are one step
// against any wake" is the bucket lock: a waker changes the word before it takes that lock.
#include "sync/futex.h"

#include <errno.h>

#include <utility>

#include "sync/early.h"
#include "sync/interruption.h"
#include "sync/parking_lot.h"
#include "sync/words.h"

namespace wisp {

namespace {

std::atomic<uint32_t>& word_of(uint32_t* uaddr) { return word_at<uint32_t>(uaddr, 0); }

// The kernel wakes one even for a count of 0 or below.
uint32_t wake_count(uint32_t n) { return static_cast<int32_t>(n) <= 0 ? 1 : n; }

// 0 or -EINVAL; *deadline = kForever without a timeout.
int deadline_of(const timespec* timeout, bool absolute, clockid_t clock, uint64_t* deadline) {
  *deadline = kForever;
  if (timeout == nullptr) return 0;
  if (!valid_nsec(*timeout) || timeout->tv_sec < 0) return -EINVAL;
  *deadline = absolute ? monotonic_deadline(clock, *timeout) : deadline_after(*timeout);
  return 0;
}

// The kernel compares the word anew when a handler with SA_RESTART has run. What a plain kernel
// thread sleeps on is another word, which its handlers change for that (signal/entry.cpp).
class ComparesAnew {
 public:
  explicit ComparesAnew(Waiter* w) : self_(w->task == nullptr ? &thread_self() : nullptr) {
    if (self_ != nullptr) outer_ = std::exchange(self_->compares, &w->wake);
  }
  ~ComparesAnew() {
    if (self_ != nullptr) self_->compares = outer_;
  }
  ComparesAnew(const ComparesAnew&) = delete;
  ComparesAnew& operator=(const ComparesAnew&) = delete;

 private:
  ThreadSelf* self_;                        // null: a task's wait, which handlers end
  std::atomic<uint32_t>* outer_ = nullptr;  // of a wait under whose handler this one is
};

long futex_wait(uint32_t* uaddr, uint32_t val, uint32_t bitset, uint64_t deadline) {
  if (bitset == 0) return -EINVAL;
  std::atomic<uint32_t>& word = word_of(uaddr);
  for (;;) {
    // Also keeps a bad address from faulting under the bucket lock.
    if (word.load(std::memory_order_relaxed) != val) return -EAGAIN;
    RuntimeEntry entry;
    Waiter own;
    Waiter* w = my_waiter(entry.task(), &own);
    w->tag = bitset;
    if (!ParkingLot::enqueue(uaddr, w, [&] { return word.load(std::memory_order_relaxed) == val; }))
      return -EAGAIN;
    WakeReason reason;
    {
      ComparesAnew anew(w);
      reason = ParkingLot::wait(w, deadline);
    }
    if (reason == WakeReason::TimedOut) return -ETIMEDOUT;
    if (reason == WakeReason::Mismatch) continue;
    if (reason != WakeReason::Interrupted) return 0;
    // Begun anew it compares anew, as the kernel does.
    if (!begins_anew(after_signal(entry.task()), deadline)) return -EINTR;
  }
}

long futex_wake(uint32_t* uaddr, uint32_t n, uint32_t bitset) {
  if (bitset == 0) return -EINVAL;
  n = wake_count(n);
  uint32_t early = wake_early(uaddr, n, bitset);
  if (early == n) return early;
  RuntimeEntry entry;
  if (bitset == FUTEX_BITSET_MATCH_ANY) return early + ParkingLot::unpark(uaddr, n - early);
  return early + ParkingLot::unpark_if(uaddr, n - early,
                                       [bitset](const Waiter& w) { return (w.tag & bitset) != 0; });
}

// Between the comparison and the move another waiter may queue with a newer value and be moved too;
// it is still woken by whoever wakes the second address. The protocols that use the comparison
// only need it to notice a wake-up that came before.
long futex_requeue(uint32_t* from, uint32_t wake, uint32_t move, uint32_t* to, bool compare,
                   uint32_t expected) {
  if (static_cast<int32_t>(wake) < 0 || static_cast<int32_t>(move) < 0) return -EINVAL;
  if (compare && word_of(from).load(std::memory_order_relaxed) != expected) return -EAGAIN;
  // Early threads are not moved but woken, too, for no reason: a wait may end so.
  uint32_t early = wake_early(from, wake);
  if (move != 0 && from != to) wake_early(from, UINT32_MAX);
  RuntimeEntry entry;
  uint32_t moved = 0;
  uint32_t woken = early + ParkingLot::requeue(from, to, wake - early, move, &moved);
  // Both operations count both; the manual says that of the one that compares only.
  return woken + moved;
}

// The operation coded in val3 on *word; its old value. seq_cst: the kernel's is fully ordered.
bool apply_op(std::atomic<uint32_t>& word, uint32_t code, uint32_t* old) {
  uint32_t arg = static_cast<uint32_t>(static_cast<int32_t>(code << 8) >> 20);
  if (((code >> 28) & FUTEX_OP_OPARG_SHIFT) != 0) arg = 1u << (arg & 31);
  switch ((code >> 28) & 7) {
    case FUTEX_OP_SET:
      *old = word.exchange(arg);
      return true;
    case FUTEX_OP_ADD:
      *old = word.fetch_add(arg);
      return true;
    case FUTEX_OP_OR:
      *old = word.fetch_or(arg);
      return true;
    case FUTEX_OP_ANDN:
      *old = word.fetch_and(~arg);
      return true;
    case FUTEX_OP_XOR:
      *old = word.fetch_xor(arg);
      return true;
    default:
      return false;
  }
}

// -1: no such comparison.
int compare_op(uint32_t code, uint32_t old) {
  int32_t value = static_cast<int32_t>(old);
  int32_t arg = static_cast<int32_t>(code << 20) >> 20;
  switch ((code >> 24) & 15) {
    case FUTEX_OP_CMP_EQ:
      return value == arg;
    case FUTEX_OP_CMP_NE:
      return value != arg;
    case FUTEX_OP_CMP_LT:
      return value < arg;
    case FUTEX_OP_CMP_LE:
      return value <= arg;
    case FUTEX_OP_CMP_GT:
      return value > arg;
    case FUTEX_OP_CMP_GE:
      return value >= arg;
    default:
      return -1;
  }
}

long futex_wake_op(uint32_t* uaddr, uint32_t n, uint32_t n2, uint32_t* uaddr2, uint32_t code) {
  uint32_t old;
  if (!apply_op(word_of(uaddr2), code, &old)) return -ENOSYS;
  int second = compare_op(code, old);
  if (second < 0) return -ENOSYS;
  long woken = futex_wake(uaddr, n, FUTEX_BITSET_MATCH_ANY);
  if (second != 0) woken += futex_wake(uaddr2, n2, FUTEX_BITSET_MATCH_ANY);
  return woken;
}

}  // namespace

long futex(uint32_t* uaddr, int op, uint32_t val, uintptr_t timeout_or_val2, uint32_t* uaddr2,
           uint32_t val3) {
  if (reinterpret_cast<uintptr_t>(uaddr) % 4 != 0) return -EINVAL;
  auto timeout = reinterpret_cast<const timespec*>(timeout_or_val2);
  uint32_t val2 = static_cast<uint32_t>(timeout_or_val2);
  clockid_t clock = (op & FUTEX_CLOCK_REALTIME) != 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
  int command = op & FUTEX_CMD_MASK;
  // FUTEX_WAIT took the other clock from Linux 4.5 to 5.12.
  if ((op & FUTEX_CLOCK_REALTIME) != 0 && command != FUTEX_WAIT_BITSET) return -ENOSYS;
  bool second_address =
      command == FUTEX_REQUEUE || command == FUTEX_CMP_REQUEUE || command == FUTEX_WAKE_OP;
  if (second_address && reinterpret_cast<uintptr_t>(uaddr2) % 4 != 0) return -EINVAL;
  uint64_t deadline;
  switch (command) {
    case FUTEX_WAIT:  // relative
      if (int e = deadline_of(timeout, false, CLOCK_MONOTONIC, &deadline)) return e;
      return futex_wait(uaddr, val, FUTEX_BITSET_MATCH_ANY, deadline);
    case FUTEX_WAIT_BITSET:  // absolute
      if (int e = deadline_of(timeout, true, clock, &deadline)) return e;
      return futex_wait(uaddr, val, val3, deadline);
    case FUTEX_WAKE:
      return futex_wake(uaddr, val, FUTEX_BITSET_MATCH_ANY);
    case FUTEX_WAKE_BITSET:
      return futex_wake(uaddr, val, val3);
    case FUTEX_REQUEUE:
      return futex_requeue(uaddr, val, val2, uaddr2, false, 0);
    case FUTEX_CMP_REQUEUE:
      return futex_requeue(uaddr, val, val2, uaddr2, true, val3);
    case FUTEX_WAKE_OP:
      return futex_wake_op(uaddr, val, val2, uaddr2, val3);
    default:
      return -ENOSYS;
  }
}

}  // namespace wisp
