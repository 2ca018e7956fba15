// epoll_ctl(2) on instances in user space. See epoll_set.h and epoll_item.h.
#include <errno.h>
#include <stdlib.h>

#include <new>

#include "io/epoll_item.h"
#include "io/event_pump.h"

namespace wisp::io {

std::atomic<bool> g_epoll_in_kernel{false};

namespace {

// All sets, the last one first: leak checkers and debuggers find them here. (Those of the
// descriptor table, which is mapped, leak checkers do not look at.)
std::atomic<EpollSet*> g_sets{nullptr};

EpollSet* set_of(Descriptor* d) {
  EpollSet* set = d->epoll.load(std::memory_order_acquire);
  if (set != nullptr) return set;
  void* memory = malloc(sizeof(EpollSet));
  if (memory == nullptr) return nullptr;
  auto* fresh = new (memory) EpollSet;
  fresh->d = d;
  static std::atomic<uint32_t> next_part{0};
  fresh->part.store(next_part.fetch_add(1, std::memory_order_relaxed) % pump_parts(),
                    std::memory_order_relaxed);
  // seq_cst: against epoll_surrender, which takes the flag away and then looks for the set, while
  // whoever adds looks for the flag after this.
  if (!d->epoll.compare_exchange_strong(set, fresh)) {
    free(memory);
    return set;
  }
  fresh->made_before = g_sets.load(std::memory_order_relaxed);
  while (!g_sets.compare_exchange_weak(fresh->made_before, fresh)) {
  }
  return fresh;
}

enum class First { Nothing, Queued, AskNow };

// An item that is new or changed may be ready already. A level-triggered one queues for the next
// look, which asks. An edge-triggered one is asked about at once: later it might be found ready by
// an event that the pump is about to tell of, and would be reported twice. Under both locks.
First begin(EpollItem* i) {
  i->disabled = false;
  i->look = 0;  // what it asks for now has not been reported
  i->data_only = (i->events & kEpollData) != 0 &&
                 (i->events & ~(kEpollData | EPOLLRDHUP | kEpollModes | EPOLLERR | EPOLLHUP)) == 0;
  i->interest = static_cast<uint8_t>(poll_interest(i->events) | kPollAll);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // see the head of epoll_item.h
  if (i->queued || epoll_known_idle(i)) return First::Nothing;
  if ((i->events & EPOLLET) != 0) return First::AskNow;
  epoll_queue(i);
  return First::Queued;
}

// The rest of begin(), outside the locks: whoever waits learns that something is ready.
void go_on(EpollItem* i, First first, int fd, uint32_t events, uint32_t serial) {
  if (first == First::Nothing) return;
  EpollSet* set = i->set;
  if (first == First::AskNow) {
    if (!ready_now(fd, static_cast<short>(events & ~kEpollModes))) return;
    SpinGuard guard(set->lock);
    if (i->serial != serial || i->queued || i->disabled) return;
    epoll_queue(i);
  }
  word_move(&set->d->in, 1);
}

// The kernel's answer, for what is not ours; not while items are on their way there.
long control_in_kernel(EpollSet* set, int epoll, int operation, int fd, epoll_event* event) {
  // acquire: the items are there when it is false again.
  if (set != nullptr)
    for (Backoff backoff; set->moving.load(std::memory_order_acquire);) backoff.wait();
  return epoll_kernel_control(epoll, operation, fd, event);
}

// The set serves the instance's present life. Under its lock. False: it is the kernel's by now.
bool begin_life(EpollSet* set, int epoll) {
  uint64_t instance = set->d->state.load();  // seq_cst: see set_of
  if (!is_epoll_instance(instance)) return false;
  if (set->life == life_of(instance)) return true;
  set->life = life_of(instance);
  set->stray_count.store(0, std::memory_order_relaxed);
  set->epoll = epoll;
  set->mixed.store(false, std::memory_order_relaxed);
  set->parts.store(0, std::memory_order_relaxed);
  set->looks.store(0, std::memory_order_relaxed);
  return true;
}

// Where the events of d are. It may be on its way to another part.
PumpParts parts_of(const Descriptor* d, uint32_t life) {
  uint64_t s = d->state.load(std::memory_order_acquire);  // before the part, which it orders
  if (life_of(s) != life || (s & kRegistered) == 0) return ~PumpParts{0} >> (32 - pump_parts());
  return PumpParts{1} << d->part.load(std::memory_order_relaxed);
}

enum class Added { Yes, Exists, Refused, NoMemory, TakenOut };

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
    if (!begin_life(set, epoll)) return Added::Refused;
    if (epoll_find_item(set, d, life) != nullptr) return Added::Exists;
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
    epoll_link(i);
    serial = i->serial;
    first = begin(i);
    // After its fence: see pump_move.
    set->parts.fetch_or(parts_of(d, life), std::memory_order_relaxed);
    // seq_cst, after the fence in begin(): who ends the life, or makes a duplicate, changes the
    // state and then looks for entries. One of the two sees the other.
    uint64_t s = d->state.load();
    if (WISP_UNLIKELY(life_of(s) != life || (s & kOwn) == 0)) {
      epoll_unlink(i);
      return Added::Refused;
    }
    if (WISP_UNLIKELY((s & (kRegistered | kRegistering)) == 0)) {  // see pump_retire
      epoll_unlink(i);
      return Added::TakenOut;
    }
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
    i = epoll_find_item(set, d, life_of(d->state.load(std::memory_order_acquire)));
    if (i == nullptr) return -ENOENT;
    SpinGuard guard(set->lock);
    if (operation == EPOLL_CTL_DEL) {
      epoll_unlink(i);
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

bool asks_out(const epoll_event& event) { return (poll_interest(event.events) & kPollOut) != 0; }

long add_or_leave(EpollSet* set, int epoll, int fd, epoll_event* event) {
  Descriptor* d = descriptor_get(fd);
  uint64_t s = d != nullptr ? descriptor_know(fd, d) : 0;
  bool served = (event->events & ~kEpollServed) == 0;
  if (!served) epoll_surrender(epoll);            // so that one descriptor is never in both
  if (is_epoll_instance(s)) epoll_surrender(fd);  // nested: the kernel has to see its events
  bool ours = served && !is_epoll_instance(s) && (s & kOwn) != 0 &&
              (kind_of(s) == kSocket || kind_of(s) == kStream);
  if (ours && asks_out(*event)) pump_ask_out(fd, d, life_of(s));
  void* memory = nullptr;
  Added added = Added::TakenOut;
  while (added == Added::TakenOut && ours &&
         make_ready(fd, d, life_of(s), false, set->part.load(std::memory_order_relaxed)) ==
             Wait::Ready) {
    added = add(set, epoll, fd, d, life_of(s), event, &memory);
    if (added == Added::NoMemory && (memory = malloc(sizeof(EpollItem))) != nullptr)
      added = Added::TakenOut;  // once more
  }
  free(memory);
  if (added == Added::Exists) return -EEXIST;
  if (added == Added::Yes) return 0;
  {
    RuntimeEntry entry;
    SpinGuard guard(set->lock);
    if (begin_life(set, epoll)) set->mixed.store(true, std::memory_order_release);
  }
  return control_in_kernel(set, epoll, EPOLL_CTL_ADD, fd, event);
}

}  // namespace

long epoll_control(int epoll, int operation, int fd, epoll_event* event) {
  Descriptor* e = descriptor_find(epoll);
  EpollSet* set = e != nullptr ? e->epoll.load(std::memory_order_acquire) : nullptr;
  bool known =
      operation == EPOLL_CTL_ADD || operation == EPOLL_CTL_MOD || operation == EPOLL_CTL_DEL;
  if (e == nullptr || !is_epoll_instance(e->state.load(std::memory_order_acquire)) || !known ||
      fd == epoll || (event == nullptr && operation != EPOLL_CTL_DEL)) {
    if (operation == EPOLL_CTL_ADD) epoll_surrender(fd);  // the kernel has to see its events
    return control_in_kernel(set, epoll, operation, fd, event);
  }
  if (operation == EPOLL_CTL_ADD) {
    // relaxed: set before the first task begins, or see epoll_leave_to_kernel.
    if (WISP_UNLIKELY(g_epoll_in_kernel.load(std::memory_order_relaxed)))
      return epoll_kernel_control(epoll, operation, fd, event);
    if (set == nullptr && (set = set_of(e)) == nullptr) return -ENOMEM;
    return add_or_leave(set, epoll, fd, event);
  }
  Descriptor* d = set != nullptr ? descriptor_find(fd) : nullptr;
  if (d != nullptr && operation == EPOLL_CTL_MOD && asks_out(*event))
    pump_ask_out(fd, d, life_of(d->state.load(std::memory_order_acquire)));
  long r = d != nullptr ? change(set, fd, d, operation, event) : -ENOENT;
  return r != -ENOENT ? r : control_in_kernel(set, epoll, operation, fd, event);
}

}  // namespace wisp::io
