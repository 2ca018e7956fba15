// See kept.h. A short list under one lock: closes of descriptors on which calls wait are rare.
#include "io/kept.h"

#include <stdlib.h>

#include "platform/kernel.h"

namespace wisp::io {

namespace {

struct Kept {
  Kept* next;
  Descriptor* d;
  uint32_t life;
  int fd;
  uint32_t callers;  // that have claimed it or still will
};

SpinLock g_lock;  // a leaf
Kept* g_list = nullptr;

}  // namespace

SpinLock& kept_lock() { return g_lock; }

void kept_mark(int fd, bool in_flight) {
  Descriptor* d = descriptor_get(fd);
  if (d == nullptr) return;
  // relaxed: who closes the number just now has guessed it.
  if (in_flight)
    d->marks.fetch_or(kInFlight, std::memory_order_relaxed);
  else
    d->marks.fetch_and(static_cast<uint8_t>(~kInFlight), std::memory_order_relaxed);
}

bool kept_in_flight(int fd) {
  const Descriptor* d = descriptor_find(fd);
  return d != nullptr && (d->marks.load(std::memory_order_relaxed) & kInFlight) != 0;
}

void kept_after_fork() {
  descriptor_each(
      [](const Descriptor& d) {
        return (d.marks.load(std::memory_order_relaxed) & kInFlight) != 0;
      },
      [](int fd) { kernel::call(SYS_close, fd); });
}

int kept_publish(Descriptor* d, uint32_t life, int fd, uint32_t callers) {
  if (fd < 0) return -1;
  auto* k = callers != 0 ? static_cast<Kept*>(malloc(sizeof(Kept))) : nullptr;
  if (k == nullptr) return fd;  // they all left meanwhile
  *k = Kept{g_list, d, life, fd, callers};
  g_list = k;
  return -1;
}

int kept_claim(Descriptor* d, uint32_t life) {
  SpinGuard guard(g_lock);
  for (Kept* k = g_list; k != nullptr; k = k->next)
    if (k->d == d && k->life == life) return k->fd;
  return -1;
}

int kept_release(int fd) {
  Kept* gone = nullptr;
  {
    SpinGuard guard(g_lock);
    for (Kept** p = &g_list; *p != nullptr; p = &(*p)->next) {
      if ((*p)->fd != fd) continue;
      if (--(*p)->callers != 0) return -1;
      gone = *p;
      *p = gone->next;
      break;
    }
  }
  if (gone == nullptr) return -1;
  free(gone);
  descriptor_closing(fd);
  return fd;
}

}  // namespace wisp::io
