// Who sleeps and who is woken: the idle carriers, the spare workers and the searchers.
//
// The protocol (checked exhaustively in tests/model over this very template):
//   going idle:  publish carrier + worker under the lock  ->  searching -= 1  ->  full fence  ->
//                look at every queue again  ->  sleep
//   waking:      push the task  ->  full fence  ->  idle > 0 and searching == 0 ?  ->
//                searching 0 -> 1 by CAS  ->  take a carrier and a worker under the lock, wake it
// Either the waker sees the idle carrier, or the sleeper sees the task. A woken worker is counted
// as searching from the moment it is chosen; when it finds work and was the last searcher it wakes
// the next one, so a burst spreads without a storm and never by more than one searcher at a time. A
// sleeper that saw the task takes a carrier back and searches again: who came before it stopped has
// trusted it.
//
// Lock order: IdleSet's lock is a leaf; nothing is locked under it.
#pragma once
#include <atomic>

#include "platform/compiler.h"
#include "scheduler/poller.h"

namespace wisp {

// The answer to who has pushed a task: somebody is to be woken, or is awake and looks for work, or
// no carrier is idle that is wanted (and SysMonitor has to know).
enum class Help : uint8_t { Wake, Comes, None };

// Carriers belong to groups, by the part of the event pump that they look at (poller.h); who gets a
// carrier gets one of a certain group if there is one, else any.
template <typename CarrierT, typename WorkerT, typename Lock,
          template <typename> class Atomic = std::atomic, uint32_t kParts = kMaxPumpParts>
class IdleSet {
 public:
  // Before anything is published.
  void set_parts(uint32_t parts) { parts_ = parts; }
  uint32_t idle() const { return idle_.load(std::memory_order_relaxed); }
  // So many carriers are not wanted at present (width.h). They count as busy where it is asked
  // whether somebody should be woken: who leaves work to the others has told SysMonitor, as with
  // all of them busy, and whoever of the others goes idle looks for it. A worker that is awake and
  // has something to run takes any. Relaxed: racing ones are one carrier more or less.
  void keep_back(uint32_t carriers) { kept_back_.store(carriers, std::memory_order_relaxed); }
  uint32_t kept_back() const { return kept_back_.load(std::memory_order_relaxed); }
  // Idle, and wanted.
  uint32_t wakeable() const {
    uint32_t n = idle(), back = kept_back();
    return n > back ? n - back : 0;
  }
  bool more_busy_than_wanted() const { return idle() < kept_back(); }
  uint32_t searching() const { return searching_.load(std::memory_order_relaxed); }
  uint32_t spares() const { return spares_.load(std::memory_order_relaxed); }

  // True if the caller may search; then it must end the search with stop_searching.
  // At most half of the busy carriers' number search, so that an almost idle machine stays so.
  bool try_search(uint32_t busy) {
    if (2 * searching() >= busy + 1) return false;
    search_on();
    return true;
  }
  // For who has seen work, however many search already. seq_cst as the other writes of the count:
  // they are ordered against the fence between a push and its announcer's look at it.
  void search_on() { searching_.fetch_add(1, std::memory_order_seq_cst); }
  // Returns true if the caller was the last searcher: it found work, so it wakes the next one.
  bool stop_searching() { return searching_.fetch_sub(1, std::memory_order_seq_cst) == 1; }

  // Gives the carrier and its worker to the idle lists. The worker must then look at the queues
  // again (after a full fence: the lock's release is not one) before it sleeps.
  void publish_idle(CarrierT* carrier, WorkerT* worker) {
    lock_.lock();
    push_carrier(carrier);
    push_spare(worker);
    lock_.unlock();
  }
  void publish_carrier(CarrierT* carrier) {
    lock_.lock();
    push_carrier(carrier);
    lock_.unlock();
  }
  void publish_spare(WorkerT* worker) {
    lock_.lock();
    push_spare(worker);
    lock_.unlock();
  }
  // The published worker waits in a part of the event pump instead of on its futex; one at a time.
  // It is chosen for other work only when no other spare is left, so that somebody stays there.
  bool become_poller(WorkerT* worker, uint32_t part) {
    lock_.lock();
    // Where a carrier is idle that nobody wakes, its own events do.
    bool wanted = wakeable() != 0 || carriers_[part] != nullptr;
    bool ok = wanted && !polling(part) && remove_spare(worker);
    if (ok) set_poller(part, worker);
    lock_.unlock();
    return ok;
  }
  // The poller goes back among the spares; false if it was chosen meanwhile.
  bool stop_polling(WorkerT* worker) {
    lock_.lock();
    bool ok = remove_poller(worker);
    if (ok) push_spare(worker);
    lock_.unlock();
    return ok;
  }
  bool polling(uint32_t part) const {
    return poller_[part].load(std::memory_order_relaxed) != nullptr;
  }
  // Of how many parts.
  uint32_t polling() const { return polling_.load(std::memory_order_relaxed); }
  // A spare for an errand of its own, without a carrier, and not `asks`; null if there is none.
  WorkerT* take_any_spare(const WorkerT* asks = nullptr) {
    lock_.lock();
    WorkerT* worker = workers_;
    if (worker != nullptr && worker == asks) worker = worker->next;
    if (worker != nullptr) remove_spare(worker);
    lock_.unlock();
    return worker;
  }
  // The published worker changes its mind: true and bound to an idle carrier, if it is still in the
  // list and a carrier is idle; otherwise somebody has woken it, or all carriers are busy.
  bool take_back(WorkerT* worker) {
    lock_.lock();
    CarrierT* carrier = nullptr;
    if (idle() != 0 && (remove_poller(worker) || remove_spare(worker))) {
      carrier = pop_carrier(worker->part.load(std::memory_order_relaxed));
      bind(carrier, worker);
    }
    lock_.unlock();
    return carrier != nullptr;
  }
  // An idle carrier for a worker that is awake, or null.
  CarrierT* take_carrier(WorkerT* worker) {
    if (idle() == 0) return nullptr;
    lock_.lock();
    CarrierT* carrier = pop_carrier(worker->part.load(std::memory_order_relaxed));
    if (carrier != nullptr) bind(carrier, worker);
    lock_.unlock();
    return carrier;
  }
  // Chooses an idle carrier and a spare worker, bound to each other; null if either is lacking
  // (`*no_spare` then says that only the worker is). The caller wakes the worker.
  WorkerT* take_pair(bool* no_spare, uint32_t part = 0) {
    lock_.lock();
    WorkerT* worker = nullptr;
    if (idle() != 0) {
      worker = pop_any(part);
      if (worker != nullptr) bind(pop_carrier(part), worker);
    }
    *no_spare = idle() != 0 && worker == nullptr;
    lock_.unlock();
    return worker;
  }
  // That carrier, if it is idle, with the worker that waits in its part of the pump or that was
  // there last, else with any; null as take_pair. The caller wakes the worker.
  WorkerT* take_pair_of(CarrierT* carrier, bool* no_spare) {
    lock_.lock();
    WorkerT* worker = nullptr;
    CarrierT** p = &carriers_[carrier->part];
    while (*p != nullptr && *p != carrier) p = &(*p)->idle_next;
    bool there = *p != nullptr;
    if (there) worker = pop_near(carrier->part);
    if (worker != nullptr) {
      *p = carrier->idle_next;
      idle_.store(idle() - 1, std::memory_order_relaxed);
      bind(carrier, worker);
    }
    *no_spare = there && worker == nullptr;
    lock_.unlock();
    return worker;
  }
  // A spare worker for a carrier that changes hands, or null.
  WorkerT* take_spare(CarrierT* carrier) {
    lock_.lock();
    WorkerT* worker = pop_any(carrier->part);
    if (worker != nullptr) bind(carrier, worker);
    lock_.unlock();
    return worker;
  }
  // The waker's question, after its push and a full fence. Asked twice, once for each half, a
  // carrier that is given away in between would be known to neither.
  Help help() const {
    if (wakeable() == 0) return Help::None;
    return searching() == 0 ? Help::Wake : Help::Comes;
  }
  // Claims the right to wake one searcher; the woken worker inherits the count.
  bool claim_searcher() {
    uint32_t none = 0;
    return searching_.compare_exchange_strong(none, 1, std::memory_order_seq_cst,
                                              std::memory_order_relaxed);
  }

 private:
  static void bind(CarrierT* c, WorkerT* w) {
    c->worker = w;
    w->carrier = c;
    w->part.store(c->part, std::memory_order_relaxed);
  }
  void push_carrier(CarrierT* c) {
    c->worker = nullptr;
    c->idle_next = carriers_[c->part];
    carriers_[c->part] = c;
    idle_.store(idle() + 1, std::memory_order_relaxed);
  }
  uint32_t after(uint32_t part) const { return part + 1 < parts_ ? part + 1 : 0; }
  CarrierT* pop_carrier(uint32_t part) {
    if (idle() == 0) return nullptr;
    // The first ones: where few are wanted, those are.
    if (carriers_[part] == nullptr)
      for (part = 0; carriers_[part] == nullptr;) ++part;
    CarrierT* c = carriers_[part];
    carriers_[part] = c->idle_next;
    idle_.store(idle() - 1, std::memory_order_relaxed);
    return c;
  }
  void push_spare(WorkerT* w) {
    w->carrier = nullptr;
    w->next = workers_;
    workers_ = w;
    spares_.store(spares() + 1, std::memory_order_relaxed);
  }
  WorkerT* pop_spare() {
    WorkerT* w = workers_;
    workers_ = w->next;
    spares_.store(spares() - 1, std::memory_order_relaxed);
    return w;
  }
  WorkerT* pop_any(uint32_t part) {
    if (workers_ != nullptr) return pop_spare();
    if (polling() == 0) return nullptr;
    while (!polling(part)) part = after(part);
    WorkerT* w = poller_[part].load(std::memory_order_relaxed);
    set_poller(part, nullptr);
    return w;
  }
  // Whom the kernel has last seen where the part's carrier ran.
  WorkerT* pop_near(uint32_t part) {
    if (polling(part)) {
      WorkerT* w = poller_[part].load(std::memory_order_relaxed);
      set_poller(part, nullptr);
      return w;
    }
    WorkerT* w = workers_;
    while (w != nullptr && w->part.load(std::memory_order_relaxed) != part) w = w->next;
    if (w == nullptr) return pop_any(part);
    remove_spare(w);
    return w;
  }
  void set_poller(uint32_t part, WorkerT* w) {
    poller_[part].store(w, std::memory_order_relaxed);
    polling_.store(polling() + (w != nullptr ? 1u : ~0u), std::memory_order_relaxed);
  }
  bool remove_poller(WorkerT* w) {
    for (uint32_t part = 0; part < parts_; ++part)
      if (poller_[part].load(std::memory_order_relaxed) == w) {
        set_poller(part, nullptr);
        return true;
      }
    return false;
  }
  bool remove_spare(WorkerT* w) {
    for (WorkerT** p = &workers_; *p != nullptr; p = &(*p)->next)
      if (*p == w) {
        *p = w->next;
        spares_.store(spares() - 1, std::memory_order_relaxed);
        return true;
      }
    return false;
  }

  Lock lock_;
  uint32_t parts_ = 1;
  WorkerT* workers_ = nullptr;
  CarrierT* carriers_[kParts] = {};
  alignas(kCacheLine) Atomic<uint32_t> idle_{0};  // written under the lock, read without
  Atomic<uint32_t> spares_{0};                    // without the poller
  Atomic<uint32_t> kept_back_{0};
  Atomic<uint32_t> polling_{0};
  Atomic<WorkerT*> poller_[kParts] = {};
  alignas(kCacheLine) Atomic<uint32_t> searching_{0};
};

}  // namespace wisp
