// What an address that a task waits on stands for, where a layer can tell: the readiness words of
// descriptors (io/descriptor.h). Asked only while a snapshot is made.
#pragma once
#include "io/descriptor.h"
#include "observe/statistics_layout.h"

namespace wisp::stats {

class WaitNames {
 public:
  WaitNames();
  // Sets r->wait_for and r->wait_fd if `key` is known.
  void name(const void* key, TaskRecord* r) const;

 private:
  struct Run {
    const io::Descriptor* first;
    uint32_t fd, count;
  };
  static constexpr uint32_t kMaxRuns = 64;
  Run runs_[kMaxRuns];
  uint32_t count_ = 0;
};

}  // namespace wisp::stats
