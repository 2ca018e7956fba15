// Time: nanoseconds of CLOCK_MONOTONIC for deadlines, the processor's time stamp for everything the
// scheduler measures on its hot paths.
#pragma once
#include <stdint.h>
#include <time.h>

namespace wisp {

constexpr uint64_t kForever = 0;  // "no deadline" wherever a deadline in ns is asked for

inline uint64_t ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  uint64_t t;
  asm volatile("mrs %0, cntvct_el0" : "=r"(t));
  return t;
#endif
}

// The two clocks at one moment: of several looks the one at which the thread did not lose its
// processor in between.
struct ClockPair {
  uint64_t ns, ticks;
};
ClockPair clock_pair(uint64_t (*ns)(), uint64_t (*ticks)());

// Learns the tick rate (about 1 ms of waiting on x86); call once at start.
void clock_calibrate();
extern uint64_t g_ticks_per_us;        // >= 1
uint64_t ticks_to_ns(uint64_t ticks);  // differences only
inline uint64_t us_to_ticks(uint64_t us) { return us * g_ticks_per_us; }

inline uint64_t ns_to_ticks(uint64_t ns) {
  return ns / 1000 * g_ticks_per_us + ns % 1000 * g_ticks_per_us / 1000;
}
// A thread's CPU clock by its tid, as in the kernel's posix-timers.h (CPUCLOCK_SCHED |
// CPUCLOCK_PERTHREAD); see clock_gettime(2) and man-pages' clock_getcpuclockid.
constexpr clockid_t thread_cpu_clock(uint32_t tid) {
  return static_cast<clockid_t>(~tid << 3 | 6u);
}
// The tid in such a clock's number; 0: the calling thread's.
constexpr int tid_of_clock(clockid_t clock) {
  return static_cast<int>(~(static_cast<uint32_t>(clock) >> 3 | 0xE0000000u));
}
// CPU time that a kernel thread has used; 0 = the calling one. A system call; 0 for a dead thread.
uint64_t kernel_thread_cpu_ns(int tid);

// The true clocks, whatever another preloaded library makes the program believe (libfaketime): the
// kernel waits by them. Until clocks_find has been called, once, at start, those that the program
// sees.
void clocks_find();
uint64_t monotonic_ns();
// Until a deadline, which is not kForever; nothing when it is past.
inline timespec time_left(uint64_t deadline_ns) {
  uint64_t now = monotonic_ns();
  uint64_t ns = deadline_ns > now ? deadline_ns - now : 0;
  return {static_cast<time_t>(ns / 1000000000u), static_cast<long>(ns % 1000000000u)};
}
uint64_t realtime_ns();
inline uint64_t to_ns(const timespec& ts) {
  return static_cast<uint64_t>(ts.tv_sec) * 1000000000u + static_cast<uint64_t>(ts.tv_nsec);
}
// Absolute time on `clock` (CLOCK_REALTIME or CLOCK_MONOTONIC), as the next library behind ours
// shows it, -> absolute CLOCK_MONOTONIC ns, never 0. Times long past become 1; far-away ones are
// capped (about 292 years).
uint64_t monotonic_deadline(clockid_t clock, const timespec& abstime);
// Now + a relative time, with the same guards.
uint64_t deadline_after(const timespec& reltime);
// Now + milliseconds as poll(2) takes them: negative = kForever.
inline uint64_t deadline_in_ms(int ms) {
  return ms < 0 ? kForever : monotonic_ns() + static_cast<uint64_t>(ms) * 1000000u;
}

}  // namespace wisp
