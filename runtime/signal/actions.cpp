// See actions.h.
#include "signal/actions.h"

#include <errno.h>

#include <atomic>

#include "platform/real.h"
#include "platform/thread_self.h"
#include "signal/sent.h"

namespace wisp {

static constexpr uint32_t kMaxActions = 512;
static Action g_pool[kMaxActions];
static std::atomic<bool> g_pool_ready[kMaxActions];
static std::atomic<uint32_t> g_pool_used{0};
static std::atomic<const Action*> g_current[kSignals + 1];
static Handler g_entry = nullptr;

void actions_start(Handler entry) { g_entry = entry; }

// Null when the pool is full: such a handler goes to the kernel unwrapped.
static const Action* intern(const Action& wanted) {
  uint32_t used = g_pool_used.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < used && i < kMaxActions; ++i) {
    // acquire: pairs with the release below, the entry is complete.
    if (!g_pool_ready[i].load(std::memory_order_acquire)) continue;
    const Action& a = g_pool[i];
    if (a.handler == wanted.handler && a.flags == wanted.flags && a.mask == wanted.mask) return &a;
  }
  // Two threads may add the same one: harmless.
  uint32_t i = g_pool_used.fetch_add(1, std::memory_order_acq_rel);
  if (i >= kMaxActions) {
    g_pool_used.store(kMaxActions, std::memory_order_relaxed);
    return nullptr;
  }
  g_pool[i] = wanted;
  g_pool_ready[i].store(true, std::memory_order_release);
  return &g_pool[i];
}

static bool is_handler(const struct sigaction* act) {
  return act->sa_handler != SIG_DFL && act->sa_handler != SIG_IGN && act->sa_sigaction != g_entry;
}

// By default, too (signal(7)).
static bool ignores(int sig, const struct sigaction& act) {
  bool by_default = sig == SIGCHLD || sig == SIGCONT || sig == SIGURG || sig == SIGWINCH;
  return act.sa_handler == SIG_IGN || (act.sa_handler == SIG_DFL && by_default);
}

// What the program would have read without us.
static void unwrap(struct sigaction* act, const Action* before) {
  if (act->sa_sigaction != g_entry || before == nullptr) return;
  act->sa_sigaction = before->handler;
  constexpr int kOurs = SA_SIGINFO | SA_RESETHAND;
  act->sa_flags = (act->sa_flags & ~kOurs) | (before->flags & kOurs);
}

int action_set(int sig, const struct sigaction* act, struct sigaction* old) {
  real::ensure();
  if (g_entry == nullptr || sig < 1 || sig > kSignals) return real::sigaction(sig, act, old);
  const Action* before = g_current[sig].load(std::memory_order_acquire);
  const Action* after = nullptr;
  struct sigaction wrapped;
  // A vfork child shares the table with its parent but not the kernel's handlers.
  if (act != nullptr && is_handler(act) && thread_self().straight == 0) {
    after = intern(Action{act->sa_sigaction, act->sa_flags, word_of(&act->sa_mask)});
    if (after != nullptr) {
      wrapped = *act;
      wrapped.sa_sigaction = g_entry;
      // RESETHAND is done by the entry: a signal that is put off must still find its handler.
      wrapped.sa_flags = (act->sa_flags | SA_SIGINFO) & ~static_cast<int>(SA_RESETHAND);
      // Before the kernel knows: the entry must never find nothing.
      g_current[sig].store(after, std::memory_order_release);
    }
  }
  struct sigaction previous;
  int r = real::sigaction(sig, after != nullptr ? &wrapped : act, &previous);
  if (r != 0) {
    if (after != nullptr) g_current[sig].store(before, std::memory_order_release);
    return r;
  }
  if (act != nullptr && ignores(sig, *act) && thread_self().straight == 0) sent_forget_all(sig);
  if (old != nullptr) {
    unwrap(&previous, before);
    *old = previous;
  }
  return 0;
}

const Action* action_for_delivery(int sig) {
  const Action* a = g_current[sig].load(std::memory_order_acquire);
  if (a != nullptr && (a->flags & static_cast<int>(SA_RESETHAND)) != 0) {
    struct sigaction reset {};  // all but the handler stays, to be read back
    reset.sa_handler = SIG_DFL;
    reset.sa_flags = a->flags;
    set_word(&reset.sa_mask, a->mask);
    real::sigaction(sig, &reset, nullptr);
  }
  return a;
}

Disposition disposition_of(int sig) {
  struct sigaction now;
  if (real::sigaction(sig, nullptr, &now) != 0 || now.sa_handler == SIG_DFL)
    return Disposition::Default;
  return now.sa_handler == SIG_IGN ? Disposition::Ignore : Disposition::Handle;
}

}  // namespace wisp
