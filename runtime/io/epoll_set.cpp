// What an instance has ready, and how instances and their entries end or become the kernel's. See
// epoll_set.h and epoll_item.h.
#include <errno.h>
#include <limits.h>

#include "io/epoll_item.h"
#include "io/epoll_strays.h"
#include "io/poll_wait.h"
#include "scheduler/poller.h"

namespace wisp::io {

namespace {

// Who looks so often and never waits polls: the kernel answers that in one call.
constexpr uint32_t kLooksOfPoller = 1000;

void report(EpollItem* i, uint32_t events, uint32_t look, epoll_event* out) {
  i->look = look;
  out->events = events;
  out->data = i->data;
  if ((i->events & EPOLLONESHOT) != 0)
    i->disabled = true;
  else if ((i->events & EPOLLET) == 0 && !i->queued)
    epoll_queue(i);  // level-triggered: looked at again by the next call
}

// Items about which the kernel is asked, without a lock.
class Question {
 public:
  int count() const { return count_; }
  bool full() const { return count_ == kAsk; }
  // Under the set's lock.
  void add(EpollItem* i) {
    items_[count_] = i;
    serials_[count_] = i->serial;
    polled_[count_++] = {i->fd, static_cast<short>(i->events & ~kEpollModes), 0};
  }
  // False: no answer (a limit of descriptors that was lowered below their number). EINTR is one:
  // none is ready, and a signal is pending.
  bool ask() {
    long r = poll_now(polled_, static_cast<nfds_t>(count_));
    return r >= 0 || r == -EINTR;
  }
  // The k-th item if it is the same still, and some of what it asks for by now is there; else null.
  // Under the set's lock.
  EpollItem* ready(int k, uint32_t* events) const {
    EpollItem* i = items_[k];
    if (polled_[k].revents == 0 || i->serial != serials_[k] || i->disabled) return nullptr;
    *events = static_cast<uint16_t>(polled_[k].revents) & (i->events | EPOLLERR | EPOLLHUP);
    return *events != 0 ? i : nullptr;
  }
  // They queue again. Under the set's lock.
  void put_back() {
    for (int k = 0; k < count_; ++k)
      if (items_[k]->serial == serials_[k] && !items_[k]->queued) epoll_queue(items_[k]);
  }

 private:
  static constexpr int kAsk = 64;
  int count_ = 0;
  EpollItem* items_[kAsk];
  uint32_t serials_[kAsk];
  pollfd polled_[kAsk];
};

// Of the items that queue now, up to `max` that are ready; or -1: see Question. `told`: by what the
// pump has told so far, so that it has to be asked now and then: with something always ready no
// wait comes in which it is.
// `follow`: who is reported may follow the caller (epoll_strays.h).
int collect(EpollSet* set, uint32_t life, epoll_event* out, int max, bool told, bool follow) {
  RuntimeEntry entry;
  int n = 0;
  set->lock.lock();
  // What is put back queues behind these and is for the next call. Others may take of them while
  // the lock is free.
  uint32_t left = set->life == life ? set->ready : 0;
  if (++set->look == 0) ++set->look;
  const uint32_t look = set->look;
  auto queued = [&] { return left != 0 && set->ready_first != nullptr; };
  while (n < max && queued()) {
    Question question;
    for (; queued() && n + question.count() < max && !question.full(); --left) {
      EpollItem* i = epoll_pop(set);
      if (WISP_UNLIKELY(!i->live))
        epoll_put_away(i);
      else if (WISP_UNLIKELY(i->look == look))
        epoll_queue(i);  // reported, and an event came after that: once in a call
      else if (!i->disabled && !epoll_known_idle(i))
        question.add(i);
    }
    if (question.count() == 0) continue;
    set->lock.unlock();
    bool answered = question.ask();
    set->lock.lock();
    if (WISP_UNLIKELY(!answered)) {
      question.put_back();
      if (n == 0) n = -1;
      break;
    }
    uint32_t events;
    bool any = false;
    for (int k = 0; told && !any && k < question.count(); ++k) any = question.ready(k, &events);
    if (any) {
      told = false;
      set->lock.unlock();
      // relaxed: as in settled().
      bool asked = poll_if_due(set->parts.load(std::memory_order_relaxed));
      set->lock.lock();
      if (asked) left = set->life == life ? set->ready : 0;  // nothing has been put back yet
    }
    for (int k = 0; k < question.count(); ++k)
      if (EpollItem* i = question.ready(k, &events)) {
        report(i, events, look, &out[n++]);
        if (follow) epoll_note_stray(set, i);
      }
  }
  bool more = n > 0 && set->ready != 0;
  set->lock.unlock();
  // As the kernel does: what is left is for the next one who waits.
  if (more) word_move(&set->d->in, 1);
  return n;
}

// What the kernel says of all that does not queue; what is ready queues then, for the collect()
// that follows. False: that does not settle it. There are too many; or an edge-triggered one is
// ready, which may be old news, or an event that another thread has taken and not delivered.
bool ask_others(EpollSet* set, uint32_t life) {
  Question question;
  {
    SpinGuard guard(set->lock);
    if (set->life != life) return true;
    for (EpollItem* i = set->first; i != nullptr; i = i->set_next) {
      if (i->queued || i->disabled) continue;
      if (question.full()) return false;
      question.add(i);
    }
  }
  if (question.count() == 0) return true;
  if (!question.ask()) return false;
  SpinGuard guard(set->lock);
  for (int k = 0; k < question.count(); ++k) {
    uint32_t events;
    EpollItem* i = question.ready(k, &events);
    if (i == nullptr || i->queued) continue;
    if ((i->events & EPOLLET) != 0) return false;
    // The word has not moved for what is there: what it says about the last read is no longer so.
    i->d->drained.store(0, std::memory_order_relaxed);
    epoll_queue(i);
  }
  return true;
}

// Whatever happened before this call is known to the set when it is true.
bool settled(EpollSet* set, uint32_t life) {
  RuntimeEntry entry;
  for (;;) {
    MovesWatch moves;
    // relaxed: of what another thread is just adding nothing is promised.
    PumpParts parts = set->parts.load(std::memory_order_relaxed);
    bool all = drain_events(parts) || ask_others(set, life) || settle_events(parts);
    if (!all || moves.none()) return all;
  }
}

// The item becomes the kernel's. Under both locks.
void hand_over(EpollItem* i) {
  epoll_event event{i->disabled ? EPOLLONESHOT : i->events, i->data};
  epoll_kernel_control(i->set->epoll, EPOLL_CTL_ADD, i->fd, &event);
  epoll_unlink(i);
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
    if (how == Leave::ForKernel)
      hand_over(i);
    else
      epoll_unlink(i);
  }
}

}  // namespace

long epoll_look(int epoll, Descriptor* d, epoll_event* events, int max, Look how) {
  uint64_t s = d != nullptr ? d->state.load(std::memory_order_acquire) : 0;
  constexpr int kMost =
      INT_MAX / static_cast<int>(sizeof(epoll_event));  // more, or less than 1: EINVAL
  EpollSet* set = is_epoll_instance(s) && max > 0 && max <= kMost
                      ? d->epoll.load(std::memory_order_acquire)
                      : nullptr;
  if (set == nullptr) return epoll_kernel_look(epoll, events, max);
  uint32_t looks = how == Look::Exactly ? set->looks.load(std::memory_order_relaxed) + 1 : 0;
  set->looks.store(looks, std::memory_order_relaxed);
  // Where there is room for fewer events than one kind always has, the kinds come first by turns.
  bool asked = set->mixed.load(std::memory_order_acquire) &&
               (set->turns.fetch_add(1, std::memory_order_relaxed) & 1) != 0;
  long first = asked ? epoll_kernel_look(epoll, events, max) : 0;
  if (first < 0 || first == max) return first;
  int n = -1;
  bool follow = looks == 0 && pump_parts() > 1;
  // relaxed: by this task's last look, if by any that matters.
  if (WISP_UNLIKELY(follow && set->stray_count.load(std::memory_order_relaxed) != 0))
    epoll_move_strays(set);
  if (looks == 0 || (looks <= kLooksOfPoller && settled(set, life_of(s))))
    n = collect(set, life_of(s), events + first, max - static_cast<int>(first), how == Look::Told,
                follow);
  if (WISP_UNLIKELY(n < 0)) {
    epoll_surrender(epoll);
    return first != 0 ? first : epoll_kernel_look(epoll, events, max);
  }
  if (asked || n == max || !set->mixed.load(std::memory_order_acquire)) return first + n;
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

// Also one without entries: those that come while it is polled have to be the kernel's.
void epoll_surrender_polled(pollfd* fds, nfds_t n) {
  for (nfds_t i = 0; fds != nullptr && i < n; ++i) epoll_surrender(fds[i].fd);
}

// Beyond FD_SETSIZE the sets are of the program's own making, and may be shorter than it says: the
// kernel looks no further than its table of descriptors goes. So a bit is read only where an
// instance has that number.
void epoll_surrender_selected(int n, const fd_set* in, const fd_set* out, const fd_set* except) {
  for (const fd_set* set : {in, out, except})
    for (int fd = 0; set != nullptr && fd < n && fd < FD_SETSIZE; ++fd)
      if (FD_ISSET(fd, set)) epoll_surrender(fd);
  constexpr int kPart = 1024;  // what descriptor_find knows at once
  if (n > static_cast<int>(kMaxDescriptors)) n = kMaxDescriptors;
  for (int fd = FD_SETSIZE; WISP_UNLIKELY(fd < n);) {
    const Descriptor* d = descriptor_find(fd);
    bool instance = d != nullptr && is_epoll_instance(d->state.load(std::memory_order_acquire));
    for (const fd_set* set : {in, out, except}) {
      if (!instance || set == nullptr) continue;
      uint64_t word = reinterpret_cast<const uint64_t*>(set)[fd / 64];
      if ((word >> (fd % 64) & 1) != 0) epoll_surrender(fd);
    }
    fd = d != nullptr ? fd + 1 : (fd | (kPart - 1)) + 1;
  }
}

void epoll_surrender_all() {
  descriptor_each(
      [](const Descriptor& d) { return (d.state.load(std::memory_order_acquire) & kEpoll) != 0; },
      &epoll_surrender);
}

void epoll_leave_to_kernel() {
  // Before the flags of those that are there: who has not seen this adds to one of them, or sees
  // that it is given up.
  g_epoll_in_kernel.store(true);
  epoll_surrender_all();
}

void epoll_item_ready(PollNode* node) {
  auto* i = static_cast<EpollItem*>(node);
  EpollSet* set = i->set;
  {
    SpinGuard guard(set->lock);
    if (i->disabled) return;
    if (!i->queued) epoll_queue(i);
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

void epoll_items_part(Descriptor* d, uint32_t part) {
  SpinGuard chain(poll_chain_lock(d));
  for (PollNode* n = d->pollers.load(std::memory_order_relaxed); n != nullptr; n = n->next)
    if (EpollItem* i = epoll_item_of(n))
      i->set->parts.fetch_or(PumpParts{1} << part, std::memory_order_relaxed);
}

void epoll_items_surrender(Descriptor* d) {
  SpinGuard chain(poll_chain_lock(d));
  uint32_t life = life_of(d->state.load(std::memory_order_acquire));
  for (PollNode *n = d->pollers.load(std::memory_order_relaxed), *next; n != nullptr; n = next) {
    next = n->next;
    EpollItem* i = epoll_item_of(n);
    if (i == nullptr || i->life != life) continue;
    SpinGuard guard(i->set->lock);
    // release, before the kernel has the entry: who finds the word moved by that one's event looks
    // there.
    i->set->mixed.store(true, std::memory_order_release);
    hand_over(i);
  }
}

void epoll_set_end(Descriptor* d) {
  if (EpollSet* set = d->epoll.load(std::memory_order_acquire)) empty(set, Leave::ForGood);
}

}  // namespace wisp::io
