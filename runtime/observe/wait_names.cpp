// See wait_names.h. The records of descriptors lie in runs of kStep and are never freed, so an
// address is inverted to a number by a look at the begin of each run.
#include "observe/wait_names.h"

namespace wisp::stats {

constexpr uint32_t kStep = 1024;

WaitNames::WaitNames() {
  for (uint32_t fd = 0; fd < io::kMaxDescriptors && count_ < kMaxRuns; fd += kStep) {
    const io::Descriptor* first = io::descriptor_find(static_cast<int>(fd));
    if (first == nullptr) continue;
    bool whole = io::descriptor_find(static_cast<int>(fd + kStep - 1)) == first + (kStep - 1);
    runs_[count_++] = Run{first, fd, whole ? kStep : 1};
  }
}

void WaitNames::name(const void* key, TaskRecord* r) const {
  auto address = reinterpret_cast<uintptr_t>(key);
  for (uint32_t i = 0; i < count_; ++i) {
    auto first = reinterpret_cast<uintptr_t>(runs_[i].first);
    uintptr_t offset = address - first;
    if (offset >= runs_[i].count * sizeof(io::Descriptor)) continue;
    const io::Descriptor* d = runs_[i].first + offset / sizeof(io::Descriptor);
    r->wait_fd = static_cast<int32_t>(runs_[i].fd + offset / sizeof(io::Descriptor));
    r->wait_for = key == &d->out ? WaitFor::Writable : WaitFor::Readable;
    return;
  }
}

}  // namespace wisp::stats
