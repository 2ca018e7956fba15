// What the files of epoll_set.h share: items and sets, their lists, what is known of an item.
//
// An item is in two lists: its descriptor's chain (under that chain's lock) and its set's, of all
// items (under the set's lock); whoever links or unlinks it holds both, the chain's first. Ready
// ones queue in the set, in the order in which they became so; one that leaves its set stays in the
// queue as a blank until it is popped. Sets and items are never freed, only used again, so that a
// call may hold on to one while it asks the kernel; `serial` says whether it still is the same.
//
// Memory order. As in io/poll_wait.cpp: the item is chained - full fence - the word is read, or the
// kernel asked. An event after that finds the item. Who pops an item clears `queued`, then reads
// the word or asks; the pump moves the word, then takes the set's lock and queues what is not
// queued. If it gets the lock after the pop, it queues the item again; if before, the word has
// moved.
#pragma once
#include <atomic>

#include "io/epoll_set.h"
#include "io/wait.h"
#include "platform/kernel.h"
#include "scheduler/poller.h"

namespace wisp::io {

struct EpollItem : PollNode {
  EpollSet* set;
  EpollItem* set_next;
  EpollItem* set_prev;
  EpollItem* ready_next;  // in the queue, or in the list of unused ones
  epoll_data_t data;
  int fd;
  uint32_t events;
  uint32_t serial;  // another one after each use
  uint32_t look;    // in which it was reported last
  bool live;
  bool queued;
  bool disabled;   // EPOLLONESHOT has been reported
  bool data_only;  // waits for nothing but bytes, or connections, to come in
};

// One that is to follow who waits in its instance to another part of the pump (epoll_strays.h).
struct EpollStray {
  Descriptor* d;
  int fd;
  uint32_t life;
  uint32_t part;
};

struct EpollSet {
  SpinLock lock;
  Descriptor* d = nullptr;  // the instance's own record
  int epoll = -1;
  uint32_t life = 0;   // of d
  uint32_t ready = 0;  // in the queue, blanks included
  uint32_t look = 0;   // the last one's number
  EpollItem* first = nullptr;
  EpollItem* ready_first = nullptr;
  EpollItem* ready_last = nullptr;
  EpollItem* unused = nullptr;
  // In one look; the others in one of the next.
  static constexpr uint32_t kMostStrays = 8;
  EpollStray strays[kMostStrays];
  std::atomic<uint32_t> stray_count{0};  // written under the lock
  // The kernel's instance has entries in this life, too.
  std::atomic<bool> mixed{false};
  // Looks while it was. relaxed: only who comes first.
  std::atomic<uint32_t> turns{0};
  // Looks with a timeout of 0 since the last wait. relaxed: only a measure.
  std::atomic<uint32_t> looks{0};
  // Where its descriptors are registered if they were nowhere before, so that one group of carriers
  // runs who waits here (relaxed: a hint); and all parts of the pump in which any of them is, or
  // was.
  std::atomic<uint32_t> part{0};
  std::atomic<PumpParts> parts{0};
  // Being handed over to the kernel.
  std::atomic<bool> moving{false};
  EpollSet* made_before = nullptr;
};

constexpr uint32_t kEpollData = EPOLLIN | EPOLLRDNORM;
constexpr uint32_t kEpollServed = kEpollData | EPOLLPRI | EPOLLOUT | EPOLLERR | EPOLLHUP |
                                  EPOLLRDHUP | EPOLLRDBAND | EPOLLWRNORM | EPOLLWRBAND | EPOLLMSG |
                                  EPOLLET | EPOLLONESHOT;
constexpr uint32_t kEpollModes = EPOLLET | EPOLLONESHOT;

inline long epoll_kernel_control(int epoll, int operation, int fd, epoll_event* event) {
  long r = kernel::call(SYS_epoll_ctl, epoll, operation, fd, reinterpret_cast<long>(event));
  Descriptor* d = r == 0 && operation == EPOLL_CTL_ADD ? descriptor_get(fd) : nullptr;
  if (d != nullptr)
    descriptor_set_flags(d, life_of(d->state.load(std::memory_order_acquire)), kInKernelSet, 0);
  return r;
}

inline long epoll_kernel_look(int epoll, epoll_event* events, int max) {
  return kernel::call(SYS_epoll_pwait, epoll, reinterpret_cast<long>(events), max, 0, 0, 8);
}

inline bool is_epoll_instance(uint64_t state) { return (state & kEpoll) != 0; }

inline void epoll_queue(EpollItem* i) {
  i->queued = true;
  i->ready_next = nullptr;
  EpollSet* set = i->set;
  (set->ready_first != nullptr ? set->ready_last->ready_next : set->ready_first) = i;
  set->ready_last = i;
  ++set->ready;
}

inline EpollItem* epoll_pop(EpollSet* set) {
  EpollItem* i = set->ready_first;
  set->ready_first = i->ready_next;
  --set->ready;
  i->queued = false;
  return i;
}

inline void epoll_put_away(EpollItem* i) {
  i->ready_next = i->set->unused;
  i->set->unused = i;
}

// Under both locks.
inline void epoll_link(EpollItem* i) {
  EpollSet* set = i->set;
  i->live = true;
  i->set_prev = nullptr;
  i->set_next = set->first;
  if (set->first != nullptr) set->first->set_prev = i;
  set->first = i;
  poll_chain_add(i);
}

inline void epoll_unlink(EpollItem* i) {
  EpollSet* set = i->set;
  poll_chain_remove(i);
  (i->set_prev != nullptr ? i->set_prev->set_next : set->first) = i->set_next;
  if (i->set_next != nullptr) i->set_next->set_prev = i->set_prev;
  i->live = false;
  ++i->serial;
  if (!i->queued) epoll_put_away(i);
}

inline EpollItem* epoll_item_of(PollNode* node) {
  return node->fired == nullptr ? static_cast<EpollItem*>(node) : nullptr;
}

// Under the chain's lock.
inline EpollItem* epoll_find_item(const EpollSet* set, const Descriptor* d, uint32_t life) {
  for (PollNode* n = d->pollers.load(std::memory_order_relaxed); n != nullptr; n = n->next)
    if (EpollItem* i = epoll_item_of(n); i != nullptr && i->set == set && i->life == life) return i;
  return nullptr;
}

// Nothing is there, and the pump will tell of what comes: known without asking the kernel. What is
// there is always asked for: the word may have moved for bytes that have been read since, and a
// program that reads one socket from one thread must not find it empty when it was told otherwise.
// Under the set's lock.
inline bool epoll_known_idle(const EpollItem* i) {
  if (!i->data_only) return false;
  // The word first: what the pump knows beyond it (kNeverDrained) is set before the word moves.
  uint32_t word = word_value(i->d->in);
  uint64_t s = i->d->state.load(std::memory_order_acquire);
  return life_of(s) == i->life && (s & kNeverDrained) == 0 &&
         i->d->drained.load(std::memory_order_relaxed) == (word | 1);
}

}  // namespace wisp::io
