// What an address that a task waits on stands for, where a layer can tell: the readiness words of
// descriptors. Asked only while a snapshot is made.
#pragma once
#include "observe/statistics_layout.h"

namespace wisp::stats {

// Sets r->wait_for and r->wait_fd if `key` is known.
void name_wait(const void* key, TaskRecord* r);

// Lives while a snapshot is made: gathers who is waited for.
class WaitNames {
 public:
  WaitNames();
  ~WaitNames();
};

}  // namespace wisp::stats
