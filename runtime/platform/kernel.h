// Raw kernel calls. They bypass libc's (and so our own) wrappers, never change errno and return
// -errno on failure; callable from anywhere, also from signal handlers.
#pragma once
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

#include <atomic>

#include "platform/compiler.h"

namespace wisp::kernel {

inline long call(long nr, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
#if defined(__x86_64__)
  long ret;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "=a"(ret)
               : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return ret;
#elif defined(__aarch64__)
  register long x8 asm("x8") = nr;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  register long x5 asm("x5") = f;
  asm volatile("svc #0"
               : "+r"(x0)
               : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
               : "memory");
  return x0;
#endif
}

// Linux 5.9, 5.11, 5.16 and 6.7; the headers of the build may be older.
constexpr long kCloseRange = 436;
constexpr long kEpollPwait2 = 441;
constexpr long kFutexWaitv = 449, kFutexWake = 454, kFutexWait = 455, kFutexRequeue = 456;

inline int gettid() { return static_cast<int>(call(SYS_gettid)); }
inline int getpid() { return static_cast<int>(call(SYS_getpid)); }
inline void sched_yield() { call(SYS_sched_yield); }

// Waits while *word == expected. deadline_ns: CLOCK_MONOTONIC, absolute, 0 = for ever.
// Returns 0, -EAGAIN (value differed), -EINTR or -ETIMEDOUT.
inline int futex_wait(const std::atomic<uint32_t>* word, uint32_t expected, uint64_t deadline_ns) {
  timespec ts{static_cast<time_t>(deadline_ns / 1000000000u),
              static_cast<long>(deadline_ns % 1000000000u)};
  return static_cast<int>(call(
      SYS_futex, reinterpret_cast<long>(word), FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected,
      deadline_ns != 0 ? reinterpret_cast<long>(&ts) : 0, 0, FUTEX_BITSET_MATCH_ANY));
}
inline int futex_wake(const std::atomic<uint32_t>* word, int count) {
  return static_cast<int>(
      call(SYS_futex, reinterpret_cast<long>(word), FUTEX_WAKE | FUTEX_PRIVATE_FLAG, count));
}

// membarrier(2): after it returns, every other running thread of the process has executed a full
// memory barrier. Lets the frequent side of a store/load race use plain accesses.
bool membarrier_register();
void membarrier();

// Everything but 33, by which libc's setuid and its like reach every kernel thread: they wait until
// each has answered (glibc, nptl/nptl_setxid.c), so no thread may block it for long.
constexpr uint64_t kAllSignals = ~(1ull << 32);

// Sets the calling kernel thread's mask (64-bit kernel sigset); old may be null.
inline void set_signal_mask(uint64_t mask, uint64_t* old = nullptr) {
  call(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&mask), reinterpret_cast<long>(old),
       8);
}
inline uint64_t signal_mask() {
  uint64_t mask = 0;
  call(SYS_rt_sigprocmask, SIG_SETMASK, 0, reinterpret_cast<long>(&mask), 8);
  return mask;
}

}  // namespace wisp::kernel
