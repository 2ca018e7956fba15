// Tasks chained by queue_next: a plain list, and one that several threads fill.
#pragma once
#include "platform/spin_lock.h"
#include "scheduler/task.h"

namespace wisp {

struct TaskList {
  WispTask* head = nullptr;
  WispTask* tail = nullptr;
  uint32_t count = 0;

  void append(WispTask* task) {
    task->queue_next = nullptr;
    (tail != nullptr ? tail->queue_next : head) = task;
    tail = task;
    ++count;
  }
  WispTask* pop() {
    WispTask* t = head;
    if (t == nullptr) return nullptr;
    head = t->queue_next;
    if (head == nullptr) tail = nullptr;
    --count;
    return t;
  }
};

// What other threads have sent to a carrier (home.h). Its owner takes it all before it picks; a
// thief takes the oldest. Its lock is a leaf.
class Inbox {
 public:
  void push(WispTask* task) {
    SpinGuard guard(lock_);
    tasks_.append(task);
    count();
  }
  WispTask* pop() {
    SpinGuard guard(lock_);
    WispTask* t = tasks_.pop();
    count();
    return t;
  }
  TaskList take() {
    SpinGuard guard(lock_);
    TaskList all = tasks_;
    tasks_ = TaskList{};
    count();
    return all;
  }
  // A look without the lock, as GlobalQueue's.
  uint32_t size() const { return size_.load(std::memory_order_relaxed); }
  bool empty() const { return size() == 0; }

 private:
  void count() { size_.store(tasks_.count, std::memory_order_relaxed); }

  SpinLock lock_;
  TaskList tasks_;
  std::atomic<uint32_t> size_{0};
};

}  // namespace wisp
