// The signals that the generator sends, and its picture of what they do.
#pragma once
#include <semaphore.h>

#include "sync/steps.h"

namespace steps {

constexpr int kSignals = 5;
int signal_number(int i);
enum class Does { Nothing, Posts, Writes, Jumps, Raises, Sleeps, Waits };
constexpr int kOnce = static_cast<int>(SA_RESETHAND);
struct Disposition {
  bool ignored = false;
  int flags = 0;
  uint64_t mask = 0;  // sa_mask, by index
  Does does = Does::Nothing;
  bool spent = false;  // SA_RESETHAND: has run
  bool once() const { return (flags & kOnce) != 0; }
};
extern Disposition g_dispositions[kSignals];
// What handlers post and write; nobody waits for the first pipe, the second one is for waits.
extern sem_t g_posted;
// The last signal was for the process: mostly its first thread gets it, and who did is not told.
extern std::atomic<bool> g_for_process;
extern int g_pipe[2], g_line[2];
extern char g_stacks[kMaxWorkers][kSignalStack];
void prepare_signals(World& world);
sigset_t set_of(uint64_t bits);  // by index
uint64_t bits_of(const sigset_t& set);
// sigaction(2) for signal i; 0 or -1.
int install(int i, const Disposition& d);
// Of worker w; by signal_number's index.
inline bool blocks(const Worker& w, int i) { return (w.blocked >> i & 1) != 0; }
extern bool g_sent_while_blocked[kMaxWorkers][kSignals];
// Makes the op that sends signal i to `target`.
void make_send(World& world, Worker* target, int i, Op* op);

}  // namespace steps
