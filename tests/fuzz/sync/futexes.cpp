// Futexes by syscall(2), private ones and shared.
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "sync/steps.h"

namespace steps {

namespace {

uint32_t* g_words;  // 0, 1: private operations; 2, 3: shared ones
constexpr int kWords = 4;

int flag_of(int i) { return i < 2 ? FUTEX_PRIVATE_FLAG : 0; }
long futex(int i, int op, uint32_t value, const void* timeout, uint32_t* second, uint32_t third) {
  return syscall(SYS_futex, &g_words[i], op | flag_of(i), value, timeout, second, third);
}
std::string word_name(int i) { return format("futex %d", i); }

void prepare(World&) {
  g_words = static_cast<uint32_t*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
}

bool make_wait(World& world, Worker* w, Op* op) {
  if (w == nullptr) return false;
  int i = world.random.below(kWords), how = world.random.below(4);
  bool differs = world.random.one_in(6);
  uint32_t bits = world.random.of({1u, 2u, 3u, 0xffffffffu, 0u});
  long ms = world.random.of({5L, 8L, 20000L, 20000L, -5L});
  // 0 WAIT, 1 WAIT with a time, 2 BITSET monotonic, 3 BITSET realtime
  bool waits = !differs && (how == 0 || ms > 1000) && !(how >= 2 && bits == 0);
  if (waits && world.count_busy() > world.workers_wanted - 2) return false;
  // Bits are the same for all that wait there, so that it does not matter who is the first.
  op->name = format("futex wait %d how %d%s bits %x %ld ms", i, how, differs ? " differing" : "",
                    bits, ms);
  op->ends_by_itself = !waits;
  op->waits_as = waits ? word_name(i) : "";
  if (waits && world.count_waiting(word_name(i)) != 0) return false;
  op->body = [=](Worker&) {
    uint32_t value = __atomic_load_n(&g_words[i], __ATOMIC_SEQ_CST) + (differs ? 1 : 0);
    clockid_t clock = how == 3 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
    uint64_t start = now_ns(clock);
    timespec relative{ms / 1000, ms % 1000 * 1000000};
    timespec absolute = after_ms(clock, ms);
    Result r;
    if (how == 0)
      r = by_errno(futex(i, FUTEX_WAIT, value, nullptr, nullptr, 0));
    else if (how == 1)
      r = by_errno(futex(i, FUTEX_WAIT, value, &relative, nullptr, 0));
    else
      r = by_errno(futex(i, FUTEX_WAIT_BITSET | (how == 3 ? FUTEX_CLOCK_REALTIME : 0), value,
                         &absolute, nullptr, bits));
    if (r.error == ETIMEDOUT) r.note = unless_after(clock, start, ms);
    return r;
  };
  return true;
}

bool make_wake(World& world, Worker*, Op* op) {
  int i = world.random.below(kWords);
  bool bitset = world.random.one_in(2);
  uint32_t bits = world.random.of({1u, 2u, 0xffffffffu, 0u, 4u});
  int n = world.random.of({0, 1, 2, 0x7fffffff, -1});
  op->name = bitset ? format("futex wake %d bits %x n %d", i, bits, n)
                    : format("futex wake %d n %d", i, n);
  op->body = [=](Worker&) {
    uint32_t count = static_cast<uint32_t>(n);
    return by_errno(bitset ? futex(i, FUTEX_WAKE_BITSET, count, nullptr, nullptr, bits)
                           : futex(i, FUTEX_WAKE, count, nullptr, nullptr, 0));
  };
  return true;
}

bool make_requeue(World& world, Worker*, Op* op) {
  int i = world.random.of({0, 2}), to = world.random.of({0, 1});
  int target = i + to;
  bool compare = world.random.one_in(2), differs = world.random.one_in(4);
  long wake = world.random.of({0L, 1L, 2L}), move = world.random.of({0L, 1L, 9L});
  op->name = format("futex requeue %d to %d%s%s wake %ld move %ld", i, target,
                    compare ? " compare" : "", differs ? " differing" : "", wake, move);
  op->body = [=](Worker&) {
    uint32_t value = __atomic_load_n(&g_words[i], __ATOMIC_SEQ_CST) + (differs ? 1 : 0);
    long r =
        syscall(SYS_futex, &g_words[i], (compare ? FUTEX_CMP_REQUEUE : FUTEX_REQUEUE) | flag_of(i),
                wake, move, &g_words[target], value);
    return by_errno(r);
  };
  op->after = [=](Worker&, const Result&) {
    // Who was moved waits there now: both names stand for both words from here on.
    for (Worker& each : g_world->workers)
      if (each.busy() && each.current.waits_as == word_name(i))
        each.current.waits_as = "futex moved";
  };
  return true;
}

bool make_wake_op(World& world, Worker*, Op* op) {
  int i = world.random.of({0, 2});
  uint32_t code = FUTEX_OP(FUTEX_OP_ADD, 1, FUTEX_OP_CMP_GE, world.random.of({0, 1000}));
  op->name = format("futex wake_op %d code %x", i, code);
  op->body = [=](Worker&) {
    long r =
        syscall(SYS_futex, &g_words[i], FUTEX_WAKE_OP | flag_of(i), 1L, 1L, &g_words[i + 1], code);
    return by_errno(r, format("%u", g_words[i + 1]));
  };
  return true;
}

bool make_wrong(World& world, Worker*, Op* op) {
  int how = world.random.below(5);
  op->name = format("futex wrong %d", how);
  op->touches_others = false;
  op->body = [how](Worker&) {
    timespec bad{0, 1000000000}, negative{-1, 0};
    auto* odd = reinterpret_cast<uint32_t*>(reinterpret_cast<char*>(g_words) + 1);
    uint32_t own = 0;
    switch (how) {
      case 0:
        return by_errno(syscall(SYS_futex, odd, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0));
      case 1:
        return by_errno(syscall(SYS_futex, &own, FUTEX_WAIT_PRIVATE, 0, &bad, nullptr, 0));
      case 2:
        return by_errno(syscall(SYS_futex, &own, FUTEX_WAIT_PRIVATE, 0, &negative, nullptr, 0));
      case 3:
        return by_errno(syscall(SYS_futex, odd, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0));
      default:
        return by_errno(syscall(SYS_futex, &own, FUTEX_CMP_REQUEUE_PRIVATE, 1, -1L, &own + 1, 0));
    }
  };
  return true;
}

}  // namespace

Family futex_family() {
  return {"futex",
          prepare,
          {make_wait, make_wait, make_wait, make_wake, make_wake, make_requeue, make_wake_op,
           make_wrong}};
}

}  // namespace steps
