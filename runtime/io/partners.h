// Partners: two descriptors of this process that are the ends of one TCP connection. What one's
// task sends wakes the other's, so they belong to the same part of the event pump. A hint: it may
// be missing, and in rare cases wrong, which costs time and nothing else.
#pragma once
#include "io/descriptor.h"

namespace wisp::io {

// Makes partners of this socket and its other end if that has registered before, else notes it for
// when that one does. At its registration, when it has none: two system calls.
void partner_seek(int fd, Descriptor* d);
// The record of the other end if that is to decide where both are registered, else null: the end
// with the lower number decides, lest both move past each other. Any thread.
inline const Descriptor* partner_to_follow(int fd, const Descriptor* d) {
  int other = static_cast<int>(d->partner.load(std::memory_order_relaxed)) - 1;
  if (other < 0 || other >= fd) return nullptr;
  const Descriptor* o = descriptor_find(other);
  // Both say so: else that number stands for something else by now.
  bool mutual =
      o != nullptr && o->partner.load(std::memory_order_relaxed) == static_cast<uint32_t>(fd) + 1;
  return mutual ? o : nullptr;
}

}  // namespace wisp::io
