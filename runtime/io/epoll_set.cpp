// What an instance has ready, and how instances and their entries end or become the kernel's. See
// epoll_set.h and epoll_item.h.
#include <errno.h>

#include "io/epoll_item.h"
#include "scheduler/poller.h"

namespace wisp::io {

namespace {

constexpr int kAsk = 64;
// Who looks so often and never waits polls: the kernel answers that in one call.
constexpr uint32_t kLooksOfPoller = 1000;

void report(EpollItem* i, uint32_t events, epoll_event* out) {
  out->events = events;
  out->data = i->data;
  if ((i->events & EPOLLONESHOT) != 0)
    i->disabled = true;
  else if ((i->events & EPOLLET) == 0 && !i->queued)
    epoll_queue(i);  // level-triggered: looked at again by the next call
}

// Of the items that queue now, up to `max` that are ready; or -errno.
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
      EpollItem* i = epoll_pop(set);
      if (WISP_UNLIKELY(!i->live)) {
        epoll_put_away(i);
        continue;
      }
      if (i->disabled || epoll_known_idle(i)) continue;
      asked[to_ask] = {i, i->serial};
      ask[to_ask++] = {i->fd, static_cast<short>(i->events & ~kEpollModes), 0};
    }
    if (to_ask == 0) continue;
    set->lock.unlock();
    timespec zero{0, 0};
    long r = kernel::call(SYS_ppoll, reinterpret_cast<long>(ask), to_ask,
                          reinterpret_cast<long>(&zero), 0, 8);
    // EINTR is an answer: none is ready, and a signal is pending. Others (a limit of descriptors
    // that was lowered below 64) are not.
    if (WISP_UNLIKELY(r < 0 && r != -EINTR)) return static_cast<int>(r);
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

// What the kernel says of all that does not queue; what is ready queues then. False: that does not
// settle it. There are too many; or an edge-triggered one is ready, which may be old news, or an
// event that another thread has taken and not delivered.
bool ask_others(EpollSet* set, uint32_t life) {
  struct {
    EpollItem* item;
    uint32_t serial;
  } asked[kAsk];
  pollfd ask[kAsk];
  int n = 0;
  {
    SpinGuard guard(set->lock);
    if (set->life != life) return true;
    for (EpollItem* i = set->first; i != nullptr; i = i->set_next) {
      if (i->queued || i->disabled) continue;
      if (n == kAsk) return false;
      asked[n] = {i, i->serial};
      ask[n++] = {i->fd, static_cast<short>(i->events & ~kEpollModes), 0};
    }
  }
  if (n == 0) return true;
  timespec zero{0, 0};
  long r =
      kernel::call(SYS_ppoll, reinterpret_cast<long>(ask), n, reinterpret_cast<long>(&zero), 0, 8);
  if (r < 0) return r == -EINTR;
  SpinGuard guard(set->lock);
  for (int k = 0; k < n && r != 0; ++k) {
    EpollItem* i = asked[k].item;
    if (ask[k].revents == 0) continue;
    if (i->serial != asked[k].serial || i->queued || i->disabled) continue;
    if ((i->events & EPOLLET) != 0) return false;
    epoll_queue(i);
  }
  return true;
}

// Whatever happened before this call is known to the set when it is true.
bool settled(EpollSet* set, uint32_t life) {
  RuntimeEntry entry;
  return drain_events() || ask_others(set, life) || settle_events();
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
      epoll_kernel_control(set->epoll, EPOLL_CTL_ADD, i->fd, &event);
    }
    epoll_unlink(i);
  }
}

}  // namespace

long epoll_look(int epoll, Descriptor* d, epoll_event* events, int max, Look how) {
  uint64_t s = d != nullptr ? d->state.load(std::memory_order_acquire) : 0;
  EpollSet* set =
      is_epoll_instance(s) && max > 0 ? d->epoll.load(std::memory_order_acquire) : nullptr;
  if (set == nullptr) return epoll_kernel_look(epoll, events, max);
  uint32_t looks = how == Look::Exactly ? set->looks.load(std::memory_order_relaxed) + 1 : 0;
  set->looks.store(looks, std::memory_order_relaxed);
  if (looks > kLooksOfPoller || (looks != 0 && !settled(set, life_of(s)))) {
    epoll_surrender(epoll);
    return epoll_kernel_look(epoll, events, max);
  }
  int n = collect(set, life_of(s), events, max);
  if (WISP_UNLIKELY(n < 0)) {
    epoll_surrender(epoll);
    return epoll_kernel_look(epoll, events, max);
  }
  if (n == max || !set->mixed.load(std::memory_order_acquire)) return n;
  long more = epoll_kernel_look(epoll, events + n, max - n);
  return n == 0 ? more : more > 0 ? n + more : n;
}

void epoll_surrender(int epoll) {
  Descriptor* d = descriptor_find(epoll);
  if (d == nullptr) return;
  uint64_t s = d->state.load(std::memory_order_acquire);
  if (WISP_LIKELY(!is_epoll_instance(s))) return;
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
  if (g_epoll_sets.load(std::memory_order_relaxed) == nullptr) return;
  for (nfds_t i = 0; i < n; ++i) epoll_surrender(fds[i].fd);
}

void epoll_surrender_selected(int n, const fd_set* in, const fd_set* out, const fd_set* except) {
  if (g_epoll_sets.load(std::memory_order_relaxed) == nullptr) return;
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
    epoll_queue(i);
  }
  word_move(&set->d->in, 1);
}

void epoll_items_end(Descriptor* d, uint32_t life) {
  SpinGuard chain(poll_chain_lock(d));
  for (PollNode *n = d->pollers.load(std::memory_order_relaxed), *next; n != nullptr; n = next) {
    next = n->next;
    EpollItem* i = epoll_item_of(n);
    if (i == nullptr || i->life != life) continue;
    SpinGuard guard(i->set->lock);
    epoll_unlink(i);
  }
}

void epoll_items_surrender(int fd, Descriptor* d) {
  SpinGuard chain(poll_chain_lock(d));
  uint32_t life = life_of(d->state.load(std::memory_order_acquire));
  for (PollNode *n = d->pollers.load(std::memory_order_relaxed), *next; n != nullptr; n = next) {
    next = n->next;
    EpollItem* i = epoll_item_of(n);
    if (i == nullptr || i->life != life) continue;
    EpollSet* set = i->set;
    SpinGuard guard(set->lock);
    set->mixed.store(true, std::memory_order_relaxed);
    epoll_event event{i->disabled ? EPOLLONESHOT : i->events, i->data};
    epoll_kernel_control(set->epoll, EPOLL_CTL_ADD, fd, &event);
    epoll_unlink(i);
  }
}

void epoll_set_end(Descriptor* d) {
  if (EpollSet* set = d->epoll.load(std::memory_order_acquire)) empty(set, Leave::ForGood);
}

}  // namespace wisp::io
