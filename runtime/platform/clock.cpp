#include "platform/clock.h"

#include "platform/kernel.h"
#include "platform/real.h"

namespace wisp {

uint64_t g_ticks_per_us = 1000;
// ns = ticks * g_mult >> 32; exact enough for differences of hours.
static uint64_t g_mult = 1ull << 32;
constexpr uint64_t kFarthest = 1ull << 62;

uint64_t kernel_thread_cpu_ns(int tid) {
  // The raw call, since ours answers for tasks.
  timespec ts{0, 0};
  kernel::call(SYS_clock_gettime, thread_cpu_clock(static_cast<uint32_t>(tid)),
               reinterpret_cast<long>(&ts));
  return to_ns(ts);
}

using Clock = int (*)(clockid_t, timespec*);
static Clock g_true_clock = &clock_gettime;
static Clock g_seen_clock = &clock_gettime;  // by who calls us

void clocks_find() {
  // libc's, which the vdso answers for without entering the kernel.
  void* libc = real::dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  void* clock = libc != nullptr ? real::libcs_dlsym()(libc, "clock_gettime") : nullptr;
  g_seen_clock = real::clock_gettime;
  g_true_clock = clock != nullptr ? reinterpret_cast<Clock>(clock) : g_seen_clock;
}

static uint64_t read(Clock from, clockid_t clock) {
  timespec ts;
  from(clock, &ts);
  return to_ns(ts);
}

uint64_t monotonic_ns() { return read(g_true_clock, CLOCK_MONOTONIC); }
uint64_t realtime_ns() { return read(g_true_clock, CLOCK_REALTIME); }

ClockPair clock_pair(uint64_t (*ns)(), uint64_t (*ticks)()) {
  ClockPair best{0, 0};
  uint64_t least = ~uint64_t{0};
  for (int i = 0; i < 8; ++i) {
    uint64_t before = ticks(), at = ns(), apart = ticks() - before;
    if (apart >= least) continue;
    least = apart;
    best = {at, before + apart / 2};
  }
  return best;
}

void clock_calibrate() {
#if defined(__aarch64__)
  uint64_t hz;
  asm volatile("mrs %0, cntfrq_el0" : "=r"(hz));
  g_mult = static_cast<uint64_t>((static_cast<__uint128_t>(1000000000u) << 32) / hz);
  g_ticks_per_us = hz / 1000000 != 0 ? hz / 1000000 : 1;
#else
  ClockPair begin = clock_pair(&monotonic_ns, &ticks);
  while (monotonic_ns() - begin.ns < 1000000) {
  }
  ClockPair end = clock_pair(&monotonic_ns, &ticks);
  if (end.ticks <= begin.ticks) return;
  uint64_t ns = end.ns - begin.ns, passed = end.ticks - begin.ticks;
  g_mult = static_cast<uint64_t>((static_cast<__uint128_t>(ns) << 32) / passed);
  g_ticks_per_us = passed * 1000 / ns;
  if (g_ticks_per_us == 0) g_ticks_per_us = 1;
#endif
}

uint64_t ticks_to_ns(uint64_t t) {
  return static_cast<uint64_t>((static_cast<__uint128_t>(t) * g_mult) >> 32);
}

uint64_t monotonic_deadline(clockid_t clock, const timespec& abstime) {
  if (abstime.tv_sec < 0) return 1;
  uint64_t sec = static_cast<uint64_t>(abstime.tv_sec);
  uint64_t when = sec >= kFarthest / 1000000000u ? kFarthest : to_ns(abstime);
  if (clock == CLOCK_MONOTONIC && g_seen_clock == g_true_clock) return when != 0 ? when : 1;
  uint64_t now = read(g_seen_clock, clock);
  if (when <= now) return 1;
  uint64_t deadline = monotonic_ns() + (when - now);
  return deadline < kFarthest ? deadline : kFarthest;
}

uint64_t deadline_after(const timespec& reltime) {
  if (reltime.tv_sec < 0) return 1;
  uint64_t sec = static_cast<uint64_t>(reltime.tv_sec);
  if (sec >= kFarthest / 1000000000u) return kFarthest;
  uint64_t deadline = monotonic_ns() + to_ns(reltime);
  return deadline < kFarthest ? deadline : kFarthest;
}

}  // namespace wisp
