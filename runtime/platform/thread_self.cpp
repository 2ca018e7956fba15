#include "platform/thread_self.h"

namespace wisp {

#if WISP_SWITCH_FS
constinit __thread ThreadSelf t_self __attribute__((tls_model("initial-exec")));
#else
static thread_local ThreadSelf t_native_self;
static thread_local ThreadSelf* t_current_self;
WISP_NOINLINE ThreadSelf& thread_self() {
  asm volatile("" ::: "memory");
  return t_current_self != nullptr ? *t_current_self : t_native_self;
}
WISP_NOINLINE void set_thread_self(ThreadSelf* self) { t_current_self = self; }
#endif

}  // namespace wisp
