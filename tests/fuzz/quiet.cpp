// See quiet.h.
#include "quiet.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/syscall.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "by_kernel.h"

namespace fuzz {

namespace {

// Plain threads, one on each processor: when they have answered, who was woken before them has run,
// also where other programs want the processors.
struct Canary {
  sem_t asked, answers;
};
std::vector<Canary*> g_canaries;

void* answer_always(void* argument) {
  auto* c = static_cast<Canary*>(argument);
  for (;;) {
    while (sem_wait(&c->asked) != 0) {
    }
    sem_post(&c->answers);
  }
}

}  // namespace

void begin_canaries() {
  cpu_set_t all;
  sched_getaffinity(0, sizeof all, &all);
  for (int cpu = 0; cpu < CPU_SETSIZE && g_canaries.size() < 4; ++cpu) {
    if (!CPU_ISSET(cpu, &all)) continue;
    auto* c = new Canary;
    sem_init(&c->asked, 0, 0);
    sem_init(&c->answers, 0, 0);
    pthread_attr_t attributes;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    pthread_attr_init(&attributes);
    pthread_attr_setaffinity_np(&attributes, sizeof one, &one);
    pthread_t thread;
    if (pthread_create(&thread, &attributes, answer_always, c) == 0) g_canaries.push_back(c);
  }
}

void ask_canaries() {
  for (Canary* c : g_canaries) sem_post(&c->asked);
  for (Canary* c : g_canaries)
    while (sem_wait(&c->answers) != 0) {
    }
}

namespace {

std::atomic<int> g_stops{0};

// Waits for no signal, all of them blocked: only a stop ends that.
void* count_stops(void*) {
  uint64_t none = 0;
  while (by_kernel4(SYS_rt_sigtimedwait, reinterpret_cast<long>(&none), 0, 0, sizeof none) ==
         -EINTR)
    g_stops.fetch_add(1);
  return nullptr;
}

}  // namespace

void begin_to_count_stops() {
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  pthread_t thread;
  pthread_create(&thread, nullptr, count_stops, nullptr);
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
}

bool was_stopped() { return g_stops.load() != 0; }

}  // namespace fuzz
