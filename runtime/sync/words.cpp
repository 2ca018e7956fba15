// Who the caller is. A kernel thread's tid is cached in a thread-local; a task's is in the task,
// because a task's TLS block may be used again by a later task with another tid.
#include "sync/words.h"

#include "platform/kernel.h"

namespace wisp {

namespace {
__thread uint32_t t_kernel_tid __attribute__((tls_model("initial-exec")));
}

WISP_NOINLINE uint32_t caller_tid() {
  if (WispTask* task = current_task()) return task->tid;
  uint32_t tid = t_kernel_tid;
  if (WISP_UNLIKELY(tid == 0)) t_kernel_tid = tid = static_cast<uint32_t>(kernel::gettid());
  return tid;
}

void caller_forget_tid() { t_kernel_tid = 0; }

}  // namespace wisp
