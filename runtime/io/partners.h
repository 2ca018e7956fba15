// Partners: two descriptors of this process that are the ends of one TCP connection, one pipe or
// one pair of sockets. What one's task sends wakes the other's, so they belong to the same part of
// the event pump; and who waits to receive at one end can be woken by who has sent at the other,
// before the pump says so. A hint: it may be missing, and in rare cases wrong, which costs time and
// nothing else.
#pragma once
#include "io/descriptor.h"

namespace wisp::io {

// The two ends of a new pipe or pair of sockets. After descriptor_created of both.
void make_partners(int one, int other);
// Makes partners of this socket and its other end if that has registered before, else notes it for
// when that one does. At a socket's registration, when it has none: two system calls, some
// more for a local one (io/local_peer.h).
void partner_seek(int fd);
// The record of that partner (a number plus 1) of fd, if both say so: else the number stands for
// something else by now, and this is null.
inline Descriptor* partner_record(int fd, uint32_t partner) {
  Descriptor* o = descriptor_find(static_cast<int>(partner) - 1);
  bool mutual =
      o != nullptr && o->partner.load(std::memory_order_relaxed) == static_cast<uint32_t>(fd) + 1;
  return mutual ? o : nullptr;
}
// The record of the other end if that is to decide where both are registered, else null: the end
// with the lower number decides, lest both move past each other, once it is registered. Any thread.
inline const Descriptor* partner_to_follow(int fd, const Descriptor* d) {
  uint32_t partner = d->partner.load(std::memory_order_relaxed);
  if (partner == 0 || partner > static_cast<uint32_t>(fd)) return nullptr;
  const Descriptor* o = partner_record(fd, partner);
  // acquire: its part is written before.
  bool registered = o != nullptr && (o->state.load(std::memory_order_acquire) & kRegistered) != 0;
  return registered ? o : nullptr;
}

// Bytes went out on d. Who waits for them runs next, if that is nobody's loss (wakes_past_pump):
// all that both touch is in this processor's caches still. The pump gets its event nevertheless,
// and so nothing depends on this wake-up. On a task, outside any RuntimeEntry.
void partner_wake(int fd, uint32_t partner);
inline void partner_sent(int fd, const Descriptor* d) {
  uint32_t partner = d->partner.load(std::memory_order_relaxed);
  if (partner != 0) partner_wake(fd, partner);
}

}  // namespace wisp::io
