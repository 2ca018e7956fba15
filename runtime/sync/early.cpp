#include "sync/early.h"

#include <stdlib.h>
#include <string.h>

#include "platform/proc.h"

namespace wisp {

std::atomic<bool> g_early_threads{false};

// The 20th field of proc(5)'s stat. The name, in brackets, may hold any character. 0: unknown.
static long thread_count() {
  char text[1024];
  if (!read_proc(kernel::gettid(), "stat", text, sizeof text)) return 0;
  const char* at = strrchr(text, ')');
  for (int field = 2; at != nullptr && field < 20; ++field) at = strchr(at + 1, ' ');
  return at != nullptr ? strtol(at, nullptr, 10) : 0;
}

void early_threads_find() {
  // Without /proc nobody knows: then as if there were some, which costs time only.
  if (thread_count() == 1) return;
  g_early_threads.store(true, std::memory_order_relaxed);
  kernel::membarrier();  // whoever sees us interpose sees this, too
}

}  // namespace wisp
