// See epoll_set.h.
//
// An item is in two lists: its descriptor's chain (under that chain's lock) and its set's, of all
// items (under the set's lock); whoever links or unlinks it holds both, the chain's first. Ready
// ones queue in the set, in the order in which they became so; one that leaves its set stays in the
// queue as a blank until it is popped. Sets and items are never freed, only used again, so that a
// call may hold on to one while it asks the kernel; `serial` says whether it still is the same.
//
// Memory order. As in io/poll_wait.cpp: the item is chained - full fence - the word is read, or the
// kernel asked. An event after that finds the item. `queued` is taken away before the word is read:
// the pump moves the word, then looks at `queued`, both of them under the set's lock.
#include "io/epoll_set.h"

#include <errno.h>
#include <stdlib.h>

#include <new>

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
  uint32_t checked;  // the value of the word about which the program knows all
  uint32_t serial;   // another one after each use
  bool live;
  bool queued;
  bool disabled;   // EPOLLONESHOT has been reported
  bool data_only;  // waits for nothing but bytes, or connections, to come in
};

struct EpollSet {
  SpinLock lock;
  Descriptor* d = nullptr;  // the instance's own record
  int epoll = -1;
  uint32_t life = 0;   // of d
  uint32_t ready = 0;  // in the queue, blanks included
  EpollItem* first = nullptr;
  EpollItem* ready_first = nullptr;
  EpollItem* ready_last = nullptr;
  EpollItem* unused = nullptr;
  // The kernel's instance has entries in this life, too.
  std::atomic<bool> mixed{false};
  // Being handed over to the kernel.
  std::atomic<bool> moving{false};
};

namespace {

constexpr uint32_t kData = EPOLLIN | EPOLLRDNORM;
constexpr uint32_t kServed = kData | EPOLLPRI | EPOLLOUT | EPOLLERR | EPOLLHUP | EPOLLRDHUP |
                             EPOLLRDBAND | EPOLLWRNORM | EPOLLWRBAND | EPOLLMSG | EPOLLET |
                             EPOLLONESHOT;
constexpr uint32_t kModes = EPOLLET | EPOLLONESHOT;
constexpr int kAsk = 64;

// Some set exists: who polls looks for instances among the descriptors only then. relaxed: the
// instance whose first item this is about was made before by the same thread, or handed over by
// means that order it.
std::atomic<bool> g_any{false};

long kernel_control(int epoll, int operation, int fd, epoll_event* event) {
  return kernel::call(SYS_epoll_ctl, epoll, operation, fd, reinterpret_cast<long>(event));
}

long kernel_look(int epoll, epoll_event* events, int max) {
  return kernel::call(SYS_epoll_pwait, epoll, reinterpret_cast<long>(events), max, 0, 0, 8);
}

inline bool is_instance(uint64_t state) { return (state & kEpoll) != 0; }

EpollSet* set_of(Descriptor* d) {
  EpollSet* set = d->epoll.load(std::memory_order_acquire);
  if (set != nullptr) return set;
  void* memory = malloc(sizeof(EpollSet));
  if (memory == nullptr) return nullptr;
  auto* fresh = new (memory) EpollSet;
  fresh->d = d;
  g_any.store(true, std::memory_order_relaxed);
  // seq_cst: against epoll_surrender, which takes the flag away and then looks for the set, while
  // whoever adds looks for the flag after this.
  if (d->epoll.compare_exchange_strong(set, fresh)) return fresh;
  free(memory);
  return set;
}

void queue(EpollItem* i) {
  i->queued = true;
  i->ready_next = nullptr;
  EpollSet* set = i->set;
  (set->ready_first != nullptr ? set->ready_last->ready_next : set->ready_first) = i;
  set->ready_last = i;
  ++set->ready;
}

EpollItem* pop(EpollSet* set) {
  EpollItem* i = set->ready_first;
  set->ready_first = i->ready_next;
  --set->ready;
  i->queued = false;
  return i;
}

void put_away(EpollItem* i) {
  i->ready_next = i->set->unused;
  i->set->unused = i;
}

// Under both locks.
void link(EpollItem* i) {
  EpollSet* set = i->set;
  i->live = true;
  i->set_prev = nullptr;
  i->set_next = set->first;
  if (set->first != nullptr) set->first->set_prev = i;
  set->first = i;
  poll_chain_add(i);
}

void unlink(EpollItem* i) {
  EpollSet* set = i->set;
  poll_chain_remove(i);
  (i->set_prev != nullptr ? i->set_prev->set_next : set->first) = i->set_next;
  if (i->set_next != nullptr) i->set_next->set_prev = i->set_prev;
  i->live = false;
  ++i->serial;
  if (!i->queued) put_away(i);
}

inline EpollItem* item_of(PollNode* node) {
  return node->fired == nullptr ? static_cast<EpollItem*>(node) : nullptr;
}

// Under the chain's lock.
EpollItem* find(const EpollSet* set, const Descriptor* d) {
  for (PollNode* n = d->pollers.load(std::memory_order_relaxed); n != nullptr; n = n->next)
    if (EpollItem* i = item_of(n); i != nullptr && i->set == set) return i;
  return nullptr;
}

enum class State { Nothing, Data, Ask };

// What is known of an item without a system call. Under the set's lock.
State state_of(EpollItem* i) {
  if (!i->data_only) return State::Ask;
  // The word first: what the pump knows beyond it (kNeverDrained) is set before the word moves.
  uint32_t word = word_value(i->d->in);
  uint64_t s = i->d->state.load(std::memory_order_acquire);
  if (life_of(s) != i->life || (s & kNeverDrained) != 0) return State::Ask;
  if (i->d->drained.load(std::memory_order_relaxed) == (word | 1)) return State::Nothing;
  // An event that nobody has been told of. Its bytes may be gone, taken by a read that was under
  // way; so only for those that are read without blocking (as readable_by_word in poll_wait.cpp).
  bool fresh = word != i->checked && (s & kNonBlocking) != 0;
  i->checked = word;
  return fresh ? State::Data : State::Ask;
}

enum class First { Nothing, Queued, AskNow };

// An item that is new or changed may be ready already. A level-triggered one queues for the next
// look, which asks. An edge-triggered one is asked about at once: later it might be found ready by
// an event that the pump is about to tell of, and would be reported twice. Under both locks.
First begin(EpollItem* i) {
  i->disabled = false;
  i->data_only = (i->events & kData) != 0 &&
                 (i->events & ~(kData | EPOLLRDHUP | kModes | EPOLLERR | EPOLLHUP)) == 0;
  i->interest = static_cast<uint8_t>(poll_interest(i->events) | kPollAll);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // see the head of this file
  i->checked = word_value(i->d->in);
  if (i->queued || state_of(i) == State::Nothing) return First::Nothing;
  if ((i->events & EPOLLET) != 0) return First::AskNow;
  queue(i);
  return First::Queued;
}

// The rest of begin(), outside the locks: whoever waits learns that something is ready.
void go_on(EpollItem* i, First first, int fd, uint32_t events, uint32_t serial) {
  if (first == First::Nothing) return;
  EpollSet* set = i->set;
  if (first == First::AskNow) {
    if (!ready_now(fd, static_cast<short>(events & ~kModes))) return;
    SpinGuard guard(set->lock);
    if (i->serial != serial || i->queued || i->disabled) return;
    queue(i);
  }
  word_move(&set->d->in, 1);
}

void report(EpollItem* i, uint32_t events, epoll_event* out) {
  out->events = events;
  out->data = i->data;
  if ((i->events & EPOLLONESHOT) != 0)
    i->disabled = true;
  else if ((i->events & EPOLLET) == 0 && !i->queued)
    queue(i);  // level-triggered: looked at again by the next call
}

// Of the items that queue now, up to `max` that are ready.
int collect(EpollSet* set, uint32_t life, epoll_event* out, int max) {
  struct {
    EpollItem* item;
    uint32_t serial;
  } asked[kAsk];
  pollfd ask[kAsk];
  int n = 0;
  RuntimeEntry entry;
  set->lock.lock();
  if (set->life != life) {
    set->lock.unlock();
    return 0;
  }
  // What is put back queues behind these and is for the next call. Others may take of them while
  // the lock is free.
  uint32_t left = set->ready;
  while (n < max && left != 0 && set->ready_first != nullptr) {
    int to_ask = 0;
    for (; left != 0 && set->ready_first != nullptr && n + to_ask < max && to_ask < kAsk; --left) {
      EpollItem* i = pop(set);
      if (WISP_UNLIKELY(!i->live)) {
        put_away(i);
        continue;
      }
      if (i->disabled) continue;
      State s = state_of(i);
      if (s == State::Data) {
        report(i, i->events & kData, &out[n++]);
      } else if (s == State::Ask) {
        asked[to_ask] = {i, i->serial};
        ask[to_ask++] = {i->fd, static_cast<short>(i->events & ~kModes), 0};
      }
    }
    if (to_ask == 0) continue;
    set->lock.unlock();
    timespec zero{0, 0};
    kernel::call(SYS_ppoll, reinterpret_cast<long>(ask), to_ask, reinterpret_cast<long>(&zero), 0,
                 8);
    set->lock.lock();
    for (int k = 0; k < to_ask; ++k) {
      EpollItem* i = asked[k].item;
      if (i->serial != asked[k].serial || i->disabled) continue;
      // Changed meanwhile: what is not asked for any more is not told.
      uint32_t events = static_cast<uint16_t>(ask[k].revents) & (i->events | EPOLLERR | EPOLLHUP);
      if (events == 0) continue;
      report(i, events, &out[n++]);
    }
  }
  set->lock.unlock();
  return n;
}

bool settled() {
  RuntimeEntry entry;
  return settle_events();
}

enum class Leave { ForKernel, ForGood };

// Takes all items out, one after the other: the locks' order is chain, set.
void empty(EpollSet* set, Leave how) {
  for (;;) {
    EpollItem* i;
    Descriptor* member;
    {
      SpinGuard guard(set->lock);
      i = set->first;
      if (i == nullptr) return;
      member = i->d;
    }
    SpinGuard chain(poll_chain_lock(member));
    SpinGuard guard(set->lock);
    if (set->first != i || i->d != member) continue;
    if (how == Leave::ForKernel) {
      epoll_event event{i->disabled ? EPOLLONESHOT : i->events, i->data};
      kernel_control(set->epoll, EPOLL_CTL_ADD, i->fd, &event);
    }
    unlink(i);
  }
}

// The kernel's answer, for what is not ours; not while items are on their way there.
long control_in_kernel(EpollSet* set, int epoll, int operation, int fd, epoll_event* event) {
  // acquire: the items are there when it is false again.
  if (set != nullptr)
    for (Backoff backoff; set->moving.load(std::memory_order_acquire);) backoff.wait();
  return kernel_control(epoll, operation, fd, event);
}

enum class Added { Yes, Exists, Refused, NoMemory };

// `memory`: for an item where the set has no unused one; taken if it is used.
Added add(EpollSet* set, int epoll, int fd, Descriptor* d, uint32_t life, const epoll_event* event,
          void** memory) {
  RuntimeEntry entry;
  EpollItem* i;
  First first;
  uint32_t serial;
  {
    SpinGuard chain(poll_chain_lock(d));
    SpinGuard guard(set->lock);
    uint64_t instance = set->d->state.load();  // seq_cst: see set_of
    if (!is_instance(instance)) return Added::Refused;
    if (set->life != life_of(instance)) {
      set->life = life_of(instance);
      set->epoll = epoll;
      set->mixed.store(false, std::memory_order_relaxed);
    }
    uint64_t s = d->state.load(std::memory_order_acquire);
    if (life_of(s) != life || (s & kOwn) == 0) return Added::Refused;
    if (find(set, d) != nullptr) return Added::Exists;
    i = set->unused;
    if (i != nullptr) {
      set->unused = i->ready_next;
    } else {
      if (*memory == nullptr) return Added::NoMemory;
      i = new (*memory) EpollItem{};
      *memory = nullptr;
      i->set = set;
    }
    i->d = d;
    i->life = life;
    i->fd = fd;
    i->events = event->events;
    i->data = event->data;
    link(i);
    serial = i->serial;
    first = begin(i);
  }
  go_on(i, first, fd, event->events, serial);
  return Added::Yes;
}

// MOD and DEL, and an ADD of what is there.
long change(EpollSet* set, int fd, Descriptor* d, int operation, const epoll_event* event) {
  RuntimeEntry entry;
  EpollItem* i;
  First first = First::Nothing;
  uint32_t serial;
  {
    SpinGuard chain(poll_chain_lock(d));
    i = find(set, d);
    if (i == nullptr || life_of(d->state.load(std::memory_order_acquire)) != i->life)
      return -ENOENT;
    SpinGuard guard(set->lock);
    if (operation == EPOLL_CTL_DEL) {
      unlink(i);
    } else {
      if ((event->events & EPOLLEXCLUSIVE) != 0) return -EINVAL;
      i->events = event->events;
      i->data = event->data;
      first = begin(i);
    }
    serial = i->serial;
  }
  if (first != First::Nothing) go_on(i, first, fd, event->events, serial);
  return 0;
}

long add_or_leave(EpollSet* set, int epoll, int fd, epoll_event* event) {
  Descriptor* d = descriptor_get(fd);
  uint64_t s = d != nullptr ? descriptor_know(fd, d) : 0;
  bool served = (event->events & ~kServed) == 0;
  if (!served) epoll_surrender(epoll);      // so that one descriptor is never in both
  if (is_instance(s)) epoll_surrender(fd);  // nested: the kernel has to see its events
  bool ours = served && !is_instance(s) && (s & kOwn) != 0 &&
              (kind_of(s) == kSocket || kind_of(s) == kStream);
  if (ours && make_ready(fd, d, life_of(s), false) == Wait::Ready) {
    void* memory = nullptr;
    Added added = add(set, epoll, fd, d, life_of(s), event, &memory);
    if (added == Added::NoMemory && (memory = malloc(sizeof(EpollItem))) != nullptr)
      added = add(set, epoll, fd, d, life_of(s), event, &memory);
    free(memory);
    if (added == Added::Exists) return -EEXIST;
    if (added == Added::Yes) return 0;
  }
  set->mixed.store(true, std::memory_order_release);
  return control_in_kernel(set, epoll, EPOLL_CTL_ADD, fd, event);
}

}  // namespace

long epoll_control(int epoll, int operation, int fd, epoll_event* event) {
  Descriptor* e = descriptor_find(epoll);
  EpollSet* set = e != nullptr ? e->epoll.load(std::memory_order_acquire) : nullptr;
  bool known =
      operation == EPOLL_CTL_ADD || operation == EPOLL_CTL_MOD || operation == EPOLL_CTL_DEL;
  if (e == nullptr || !is_instance(e->state.load(std::memory_order_acquire)) || !known ||
      fd == epoll || (event == nullptr && operation != EPOLL_CTL_DEL))
    return control_in_kernel(set, epoll, operation, fd, event);
  if (operation == EPOLL_CTL_ADD) {
    if (set == nullptr && (set = set_of(e)) == nullptr) return -ENOMEM;
    return add_or_leave(set, epoll, fd, event);
  }
  Descriptor* d = set != nullptr ? descriptor_find(fd) : nullptr;
  long r = d != nullptr ? change(set, fd, d, operation, event) : -ENOENT;
  return r != -ENOENT ? r : control_in_kernel(set, epoll, operation, fd, event);
}

long epoll_look(int epoll, Descriptor* d, epoll_event* events, int max, Look how) {
  uint64_t s = d != nullptr ? d->state.load(std::memory_order_acquire) : 0;
  EpollSet* set = is_instance(s) && max > 0 ? d->epoll.load(std::memory_order_acquire) : nullptr;
  if (set == nullptr) return kernel_look(epoll, events, max);
  if (how == Look::Exactly && !settled()) {
    epoll_surrender(epoll);
    return kernel_look(epoll, events, max);
  }
  int n = collect(set, life_of(s), events, max);
  if (n == max || !set->mixed.load(std::memory_order_acquire)) return n;
  long more = kernel_look(epoll, events + n, max - n);
  return n == 0 ? more : more > 0 ? n + more : n;
}

void epoll_surrender(int epoll) {
  Descriptor* d = descriptor_find(epoll);
  if (d == nullptr) return;
  uint64_t s = d->state.load(std::memory_order_acquire);
  if (WISP_LIKELY(!is_instance(s))) return;
  RuntimeEntry entry;
  // Before the flag: who finds that gone waits until the items have moved.
  EpollSet* set = d->epoll.load(std::memory_order_acquire);
  if (set != nullptr) set->moving.store(true, std::memory_order_relaxed);
  bool same = descriptor_set_flags(d, life_of(s), 0, kEpoll);
  set = d->epoll.load();  // seq_cst, after the flag: see set_of
  if (set == nullptr) return;
  if (same) empty(set, Leave::ForKernel);
  set->moving.store(false, std::memory_order_release);
  if (same) word_move(&d->in, ~0u);  // who waits looks into the kernel's from now on
}

void epoll_surrender_polled(pollfd* fds, nfds_t n) {
  if (!g_any.load(std::memory_order_relaxed)) return;
  for (nfds_t i = 0; i < n; ++i) epoll_surrender(fds[i].fd);
}

void epoll_surrender_selected(int n, const fd_set* in, const fd_set* out, const fd_set* except) {
  if (!g_any.load(std::memory_order_relaxed)) return;
  for (const fd_set* set : {in, out, except})
    for (int fd = 0; set != nullptr && fd < n && fd < FD_SETSIZE; ++fd)
      if (FD_ISSET(fd, set)) epoll_surrender(fd);
}

void epoll_item_ready(PollNode* node) {
  auto* i = static_cast<EpollItem*>(node);
  EpollSet* set = i->set;
  {
    SpinGuard guard(set->lock);
    if (i->queued || i->disabled) return;
    queue(i);
  }
  word_move(&set->d->in, 1);
}

void epoll_items_end(Descriptor* d) {
  SpinGuard chain(poll_chain_lock(d));
  uint32_t life = life_of(d->state.load(std::memory_order_acquire));
  for (PollNode *n = d->pollers.load(std::memory_order_relaxed), *next; n != nullptr; n = next) {
    next = n->next;
    EpollItem* i = item_of(n);
    if (i == nullptr || i->life == life) continue;
    SpinGuard guard(i->set->lock);
    unlink(i);
  }
}

void epoll_items_surrender(int fd, Descriptor* d) {
  SpinGuard chain(poll_chain_lock(d));
  uint32_t life = life_of(d->state.load(std::memory_order_acquire));
  for (PollNode *n = d->pollers.load(std::memory_order_relaxed), *next; n != nullptr; n = next) {
    next = n->next;
    EpollItem* i = item_of(n);
    if (i == nullptr || i->life != life) continue;
    EpollSet* set = i->set;
    SpinGuard guard(set->lock);
    set->mixed.store(true, std::memory_order_relaxed);
    epoll_event event{i->disabled ? EPOLLONESHOT : i->events, i->data};
    kernel_control(set->epoll, EPOLL_CTL_ADD, fd, &event);
    unlink(i);
  }
}

void epoll_set_end(Descriptor* d) {
  if (EpollSet* set = d->epoll.load(std::memory_order_acquire)) empty(set, Leave::ForGood);
}

}  // namespace wisp::io
