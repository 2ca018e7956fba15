// Where and when a descriptor is registered with the event pump: at the first wait in its life, in
// the part of the carrier on which it is waited for. If that turns out to be another one, for many
// waits in a row, the registration follows: so connections that were made while one carrier was
// enough are spread when they get work, and come together again when they have little.
//
// Each event of a registered descriptor wakes a worker that waits in the pump, also if nobody waits
// for it. So room to write is asked for when somebody first waits for it (datagram and local
// sockets, eventfds: Linux tells of it after each message; TCP only where it had run out). And one
// whose events have come for nobody many times in a row is taken out until somebody waits again: a
// socket that an epoll instance of the kernel's serves by now (those of virtual threads), or one
// that is always read without blocking.
#include <sys/epoll.h>
#include <sys/socket.h>

#include "io/epoll_set.h"
#include "io/event_pump.h"
#include "io/partners.h"
#include "io/wait.h"
#include "platform/backoff.h"
#include "platform/kernel.h"
#include "scheduler/poller.h"

namespace wisp::io {

namespace {

constexpr uint32_t kEdges = EPOLLIN | EPOLLRDHUP | EPOLLPRI | EPOLLET;

// Where it is registered, or is about to be by the caller.
int instance_of(const Descriptor* d) {
  return pump_instance(d->part.load(std::memory_order_relaxed));
}

// Whether its registration has to tell of room to write. seq_cst: see finish().
bool tells_of_room(const Descriptor* d) {
  return (d->state.load(std::memory_order_relaxed) & kTcp) != 0 ||
         (d->marks.load(std::memory_order_seq_cst) & kOutAsked) != 0;
}

long control(int operation, int fd, const Descriptor* d, uint32_t life) {
  epoll_event event{};
  event.events = kEdges | (tells_of_room(d) ? uint32_t{EPOLLOUT} : 0);
  event.data.u64 = static_cast<uint64_t>(life) << 32 | static_cast<uint32_t>(fd);
  return kernel::call(SYS_epoll_ctl, instance_of(d), operation, fd, reinterpret_cast<long>(&event));
}

// Where one that the calling task waits for belongs: to its other end, if that is in this process
// and decides (what this one's task sends is for that one's), else to who waits.
uint32_t part_for(const Descriptor* leader, uint32_t now) {
  return leader != nullptr ? leader->part.load(std::memory_order_relaxed) : pump_part_wanted(now);
}

// The number got another file while a registration for the former one was under way, and the kernel
// may now say the former life with the events of the new file, which would be taken for stale ones.
// If the new file's own registration is still to come it puts that right itself: its ADD finds
// something there and becomes a MOD. Acquire: the registration that set the flag.
void register_again(int fd, Descriptor* d) {
  uint64_t s = d->state.load(std::memory_order_acquire);
  while ((s & (kRegistered | kRegistering)) != 0) {
    uint32_t life = life_of(s);
    // Both also tell once more what is ready.
    if (control(EPOLL_CTL_MOD, fd, d, life) == -ENOENT) control(EPOLL_CTL_ADD, fd, d, life);
    s = d->state.load(std::memory_order_acquire);
    if (life_of(s) == life) return;
  }
}

// One that is there is to ask for what is asked for by now. ENOENT: it is on its way to another
// part, or has been taken out, by somebody who sees that himself.
void change(int fd, Descriptor* d, uint32_t life) {
  control(EPOLL_CTL_MOD, fd, d, life);
  if (life_of(d->state.load()) != life) register_again(fd, d);
}

// The rest of a registration that the caller has announced by kRegistering, or of one made sure of.
// MOD reports what is ready now, as ADD does: nothing is lost between the two.
//
// seq_cst: kRegistered is set, then the look at what is asked for; who asks for room sets that,
// then looks at the flag. One of the two sees the other and changes the registration.
Wait finish(int fd, Descriptor* d, uint32_t life, int operation, Counted counted) {
  bool told = tells_of_room(d);
  long r = control(operation, fd, d, life);
  if (r == -ENOENT) r = control(EPOLL_CTL_ADD, fd, d, life);
  if (r == -EEXIST) r = control(EPOLL_CTL_MOD, fd, d, life);
  if (WISP_LIKELY(r == 0)) {
    pump_count(counted);
    if (WISP_UNLIKELY(!descriptor_set_flags(d, life, kRegistered, kRegistering))) {
      register_again(fd, d);
      return Wait::Ended;
    }
    if (WISP_UNLIKELY(tells_of_room(d) != told)) change(fd, d, life);
    return Wait::Ready;
  }
  // Closed meanwhile: it failed for no file, or for the next one, in which a call that was there
  // before must not wait (Refused: in the kernel, by the number, junixsocket for ever). Acquire:
  // the life ends before the kernel's close.
  if (life_of(d->state.load(std::memory_order_acquire)) != life) return Wait::Ended;
  if (r == -EPERM) {  // a file that is always ready, as poll(2) says: nothing to wait for
    descriptor_set_flags(d, life, kStraight, kKindMask & ~kStraight);
  }
  descriptor_set_flags(d, life, 0, kRegistering | kRegistered);
  RuntimeEntry entry;  // others may have parked, trusting in kRegistering
  descriptor_wake_all(d);
  // Nor will the pump tell an epoll instance of the program's that has it (by now: it moved, or was
  // taken out). The kernel does.
  if (d->pollers.load() != nullptr) epoll_items_surrender(d);
  return Wait::Refused;
}

// From registered to being registered, in one step. False: it is not, or not this process's own.
bool begin_to_move(Descriptor* d, uint32_t life) {
  constexpr uint32_t kIts = kOwn | kRegistered | kRegistering;
  uint64_t s = d->state.load(std::memory_order_acquire);
  do {
    if (life_of(s) != life || (s & kIts) != (kOwn | kRegistered)) return false;
  } while (!d->state.compare_exchange_weak(s, (s & ~uint64_t{kRegistered}) | kRegistering));
  return true;
}

// Around the time in which a registered one is in no part. seq_cst, all: see MovesWatch.
std::atomic<uint32_t> g_moves_begun{0}, g_moves_ended{0};
struct Moving {
  Moving() { g_moves_begun.fetch_add(1); }
  ~Moving() { g_moves_ended.fetch_add(1); }
};

}  // namespace

MovesWatch::MovesWatch() {
  for (Backoff backoff;; backoff.wait()) {
    uint32_t ended = g_moves_ended.load();
    begun_ = g_moves_begun.load();
    if (begun_ == ended) return;
  }
}
bool MovesWatch::none() const { return g_moves_begun.load() == begun_; }

// What happens between the two calls to the kernel the ADD reports.
void pump_move(int fd, Descriptor* d, uint32_t life, uint32_t part) {
  RuntimeEntry entry;  // who waits for the end of it must not wait for this task's next turn
  // seq_cst: that it is under way, then the look at the chain; an epoll instance links its entry,
  // then asks where the descriptor is registered (epoll_control.cpp). One of the two sees the
  // other.
  if (!begin_to_move(d, life)) return;
  Moving moving;
  if (d->pollers.load() != nullptr) epoll_items_part(d, part);
  pump_remove(fd, d);
  d->part.store(static_cast<uint8_t>(part), std::memory_order_relaxed);
  // If the number stands for another file by now, whose registration this may have taken away: that
  // one is made again (register_again).
  finish(fd, d, life, EPOLL_CTL_ADD, Counted::Move);
}

static uint64_t socket_timeout(int fd, int option) {
  timeval t{0, 0};
  socklen_t length = sizeof t;
  if (kernel::call(SYS_getsockopt, fd, SOL_SOCKET, option, reinterpret_cast<long>(&t),
                   reinterpret_cast<long>(&length)) < 0)
    return 0;
  constexpr long kLongest = 1'000'000'000;  // s, 31 years: in ns it must not wrap
  uint64_t s = static_cast<uint64_t>(t.tv_sec < kLongest ? t.tv_sec : kLongest);
  return s * 1000000000u + static_cast<uint64_t>(t.tv_usec) * 1000u;
}

uint64_t limit_of(int fd, int option, const std::atomic<uint64_t>& known) {
  return known.load(std::memory_order_relaxed) == kAtOnce ? kAtOnce : socket_timeout(fd, option);
}

Wait pump_register(int fd, Descriptor* d, uint32_t life, bool verify, uint32_t part) {
  if (!pump_start()) return Wait::Refused;
  uint64_t s = d->state.load(std::memory_order_acquire);
  if (!verify) {
    do {
      if (life_of(s) != life) return Wait::Ended;
      if ((s & (kRegistered | kRegistering)) != 0) return Wait::Ready;
    } while (!d->state.compare_exchange_weak(s, s | kRegistering, std::memory_order_acq_rel));
    if ((s & kTcp) != 0) d->partner.store(0, std::memory_order_relaxed);  // of a former life
    if (kind_of(s) == kSocket && d->partner.load(std::memory_order_relaxed) == 0) partner_seek(fd);
    if (part == kAnyPart) part = part_for(partner_to_follow(fd, d), kAnyPart);
    d->part.store(static_cast<uint8_t>(part != kAnyPart ? part : 0), std::memory_order_relaxed);
    d->strays.store(0, std::memory_order_relaxed);
  }
  if (kind_of(s) == kSocket) {
    d->receive_timeout.store(limit_of(fd, SO_RCVTIMEO, d->receive_timeout),
                             std::memory_order_relaxed);
    d->send_timeout.store(limit_of(fd, SO_SNDTIMEO, d->send_timeout), std::memory_order_relaxed);
  }
  return finish(fd, d, life, verify ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, Counted::Registration);
}

uint32_t pump_stray(int fd, Descriptor* d) {
  const Descriptor* leader = partner_to_follow(fd, d);
  uint32_t part = d->part.load(std::memory_order_relaxed), wanted = part_for(leader, part);
  if (wanted == kAnyPart) return kAnyPart;
  // Relaxed, as `part`: of two who wait at once one may not be counted.
  bool strays = wanted != part;
  uint32_t times = strays ? d->strays.load(std::memory_order_relaxed) + 1u : 0;
  // Two that are apart cost another carrier's caches at each message.
  if (strays && d->partner.load(std::memory_order_relaxed) != 0)
    times = leader != nullptr ? times + 3 : pump_part_adopts() ? kStrays : times;
  bool goes = times >= kStrays;
  d->strays.store(static_cast<uint8_t>(goes ? 0 : times), std::memory_order_relaxed);
  return goes ? wanted : kAnyPart;
}

void pump_follow(int fd, Descriptor* d, uint32_t life) {
  // A member of an epoll instance follows who waits there (epoll_strays.h).
  if (d->pollers.load(std::memory_order_relaxed) != nullptr) return;
  if (uint32_t part = pump_stray(fd, d); part != kAnyPart) pump_move(fd, d, life, part);
}

void pump_ask_out(int fd, Descriptor* d, uint32_t life) {
  // relaxed: whoever has set it has changed the registration, or is about to; and then the kernel
  // tells whether there is room.
  if ((d->state.load(std::memory_order_relaxed) & kTcp) != 0 ||
      (d->marks.load(std::memory_order_relaxed) & kOutAsked) != 0)
    return;
  d->marks.fetch_or(kOutAsked, std::memory_order_seq_cst);  // then the state: see finish()
  uint64_t s = d->state.load();
  if (life_of(s) == life && (s & kRegistered) != 0) change(fd, d, life);
}

void pump_retire(int fd, Descriptor* d, uint32_t life) {
  pump_not_nobodys(d);
  if (!begin_to_move(d, life)) return;
  Moving moving;
  pump_remove(fd, d);
  // See pump_move.
  if (!descriptor_set_flags(d, life, 0, kRegistering)) return register_again(fd, d);
  // seq_cst: the flag is gone, then the looks; who waits sets his bit or links his node, then looks
  // at the flag. One of the two sees the other.
  bool waited = d->pollers.load() != nullptr || ((d->in.load() | d->out.load()) & 1) != 0;
  pump_count(Counted::Retired);
  if (!waited) return;
  uint64_t s = d->state.load();
  do {
    if (life_of(s) != life || (s & (kRegistered | kRegistering)) != 0) return;
  } while (!d->state.compare_exchange_weak(s, s | kRegistering));
  finish(fd, d, life, EPOLL_CTL_ADD, Counted::Registration);
}

bool pump_add_ring(int fd, uint32_t index) {
  if (!pump_start()) return false;
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  event.data.u64 = kPumpRing | index;
  return kernel::call(SYS_epoll_ctl, pump_instance(pump_part_of_carrier(index)), EPOLL_CTL_ADD, fd,
                      reinterpret_cast<long>(&event)) == 0;
}

void pump_remove(int fd, const Descriptor* d) {
  epoll_event unused{};
  kernel::call(SYS_epoll_ctl, instance_of(d), EPOLL_CTL_DEL, fd, reinterpret_cast<long>(&unused));
}

}  // namespace wisp::io
