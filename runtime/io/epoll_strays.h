// Members of the program's epoll instances that are registered in another part of the event pump
// than the one where they are waited for: they follow who waits in the instance, by the rules for
// who waits for a descriptor itself (registration.cpp). Else an event loop has two carriers at work
// where one is enough: the one that runs it, and the one that is woken for its events.
//
// An instance's look that has to be exact empties the parts in which its members are: whoever moves
// one adds the new part first, and says when it has begun and ended, so that the look is made again
// (MovesWatch).
//
// The new registration tells of what is there, so edge-triggered ones would be reported once more
// for bytes that the program has left: those stay, and are asked again after as many reports. A
// member is reported because something is there, so it goes at the next look, when the program has
// read that. Bytes that come in that very moment may be told twice.
#pragma once
#include "io/epoll_item.h"
#include "io/event_pump.h"

namespace wisp::io {

// `i` is reported to the calling task. Under the set's lock.
inline void epoll_note_stray(EpollSet* set, const EpollItem* i) {
  uint32_t count = set->stray_count.load(std::memory_order_relaxed);
  if (count == EpollSet::kMostStrays) return;
  uint32_t part = pump_stray(i->fd, i->d);
  if (part == kAnyPart) return;
  set->strays[count] = {i->d, i->fd, i->life, part};
  set->stray_count.store(count + 1, std::memory_order_relaxed);
}

// Of what edge-triggered entries in any instance ask for something is there.
inline bool epoll_would_tell_again(const EpollStray& s) {
  uint32_t events = 0;
  {
    RuntimeEntry entry;
    SpinGuard chain(poll_chain_lock(s.d));
    for (PollNode* n = s.d->pollers.load(std::memory_order_relaxed); n != nullptr; n = n->next)
      if (EpollItem* i = epoll_item_of(n); i != nullptr && (i->events & EPOLLET) != 0)
        events |= i->events;
  }
  return events != 0 && ready_now(s.fd, static_cast<short>(events & ~kEpollModes));
}

// Those that have been in the wrong part often enough go. Outside locks and the runtime.
inline void epoll_move_strays(EpollSet* set) {
  EpollStray all[EpollSet::kMostStrays];
  uint32_t count;
  {
    RuntimeEntry entry;
    SpinGuard guard(set->lock);
    count = set->stray_count.load(std::memory_order_relaxed);
    set->stray_count.store(0, std::memory_order_relaxed);
    for (uint32_t k = 0; k < count; ++k) all[k] = set->strays[k];
  }
  for (uint32_t k = 0; k < count; ++k) {
    const EpollStray& s = all[k];
    set->part.store(s.part, std::memory_order_relaxed);  // those that are new, too
    if (!epoll_would_tell_again(s)) pump_move(s.fd, s.d, s.life, s.part);
  }
}

}  // namespace wisp::io
