// The program's signal handlers. The kernel knows only our entry; the program's own handler, flags
// and mask are kept here, and sigaction(sig, NULL, &old) answers with them (HotSpot looks whether
// anybody changed its handlers).
// Invariant: an Action never changes and is never freed, so the entry reads it with one load, and
// sigaction stays usable inside handlers. Equal ones are shared: a program has few handlers.
#pragma once
#include <signal.h>
#include <stdint.h>

namespace wisp {

constexpr int kSignals = 64;
constexpr uint64_t bit_of(int sig) { return 1ull << (sig - 1); }

// First word of a sigset_t: all the kernel has.
inline uint64_t word_of(const sigset_t* set) { return *reinterpret_cast<const uint64_t*>(set); }
inline void set_word(sigset_t* set, uint64_t word) { *reinterpret_cast<uint64_t*>(set) = word; }

using Handler = void (*)(int, siginfo_t*, void*);

struct Action {
  Handler handler;  // called with all three arguments whatever the flags say, as the kernel does
  int flags;        // as the program gave them
  uint64_t mask;
};

// From here on handlers are wrapped. `entry` is what the kernel calls. Once.
void actions_start(Handler entry);

// sigaction(2) as the program sees it. 0, or -1 with errno.
int action_set(int sig, const struct sigaction* act, struct sigaction* old);

// The program's handler for a signal that has just arrived; takes it away if it is a SA_RESETHAND
// one. Never null inside the entry.
const Action* action_for_delivery(int sig);

// What the kernel would do with this signal now.
enum class Disposition { Handle, Default, Ignore };
Disposition disposition_of(int sig);

}  // namespace wisp
