// Members of the program's epoll instances that are registered in another part of the event pump
// than the one where they are waited for: they follow who waits in the instance, by the rules for
// who waits for a descriptor itself (registration.cpp). Else an event loop has two carriers at work
// where one is enough: the one that runs it, and the one that is woken for its events.
//
// An instance's look that has to be exact empties the parts in which its members are: whoever moves
// one adds the new part first, and says when it has begun and ended, so that the look is made again
// (MovesWatch).
//
// A member that is edge-triggered may be reported once more than by the kernel, if the program has
// left some of its bytes: the new registration tells of them.
#pragma once
#include "io/epoll_item.h"
#include "io/event_pump.h"

namespace wisp::io {

class EpollStrays {
 public:
  // `i` is reported to the calling task. Under the set's lock.
  void note(const EpollItem* i) {
    if (count_ == kMost) return;
    uint32_t part = pump_stray(i->fd, i->d);
    if (part != kAnyPart) strays_[count_++] = {i->d, i->fd, i->life, part};
  }
  // Those that have been in the wrong part often enough go. Outside locks and the runtime.
  void go(EpollSet* set) {
    for (uint32_t k = 0; k < count_; ++k) {
      const Stray& s = strays_[k];
      set->part.store(s.part, std::memory_order_relaxed);  // those that are new, too
      pump_move(s.fd, s.d, s.life, s.part);
    }
  }

 private:
  // In one look; the others in one of the next.
  static constexpr uint32_t kMost = 8;
  struct Stray {
    Descriptor* d;
    int fd;
    uint32_t life;
    uint32_t part;
  };
  uint32_t count_ = 0;
  Stray strays_[kMost];
};

}  // namespace wisp::io
