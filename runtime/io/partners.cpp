// Ends that wait for their partner to register stand in a small table by their ports; who comes to
// a place that is taken takes it over. Both ends of a connection mostly register soon after each
// other: at their first wait.
#include "io/partners.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "io/wait.h"
#include "platform/kernel.h"

namespace wisp::io {

namespace {

constexpr uint32_t kPlaceBits = 12, kPlaces = 1u << kPlaceBits;
// Local port << 48 | port of the peer << 32 | descriptor; 0 = free. Relaxed: whatever is read is a
// hint.
std::atomic<uint64_t> g_ends[kPlaces];

uint64_t end_of(uint32_t local, uint32_t peer, int fd) {
  return static_cast<uint64_t>(local << 16 | peer) << 32 | static_cast<uint32_t>(fd);
}

// The same place for both ends.
std::atomic<uint64_t>* place_of(uint32_t one, uint32_t other) {
  constexpr uint32_t kGolden = 2654435761;  // Knuth's multiplicative hash; its upper bits
  return &g_ends[(one + other) * kGolden >> (32 - kPlaceBits)];
}

struct Address {
  sockaddr_storage storage{};
  bool get(int fd, long call) {
    socklen_t length = sizeof storage;
    return kernel::call(call, fd, reinterpret_cast<long>(&storage),
                        reinterpret_cast<long>(&length)) == 0;
  }
  const sockaddr_in* four() const { return reinterpret_cast<const sockaddr_in*>(&storage); }
  const sockaddr_in6* six() const { return reinterpret_cast<const sockaddr_in6*>(&storage); }
};

// Ports of a connection between two sockets of this machine; false: it is none.
bool ports_of(int fd, uint32_t* local, uint32_t* peer) {
  Address here, there;
  if (!there.get(fd, SYS_getpeername) || !here.get(fd, SYS_getsockname)) return false;
  if (here.storage.ss_family == AF_INET) {
    *local = here.four()->sin_port, *peer = there.four()->sin_port;
    return here.four()->sin_addr.s_addr == there.four()->sin_addr.s_addr;
  }
  if (here.storage.ss_family != AF_INET6) return false;
  *local = here.six()->sin6_port, *peer = there.six()->sin6_port;
  return memcmp(&here.six()->sin6_addr, &there.six()->sin6_addr, sizeof(in6_addr)) == 0;
}

}  // namespace

void partner_seek(int fd, Descriptor* d) {
  uint32_t local, peer;
  if (!ports_of(fd, &local, &peer)) return;
  std::atomic<uint64_t>* place = place_of(local, peer);
  uint64_t waits = place->load(std::memory_order_relaxed);
  int other = static_cast<int>(waits & ~0u);
  if (waits == 0 || other == fd || waits != end_of(peer, local, other)) {
    place->store(end_of(local, peer, fd), std::memory_order_relaxed);
    return;
  }
  place->store(0, std::memory_order_relaxed);
  Descriptor* o = descriptor_find(other);
  if (o == nullptr) return;
  d->partner.store(static_cast<uint32_t>(other) + 1, std::memory_order_relaxed);
  o->partner.store(static_cast<uint32_t>(fd) + 1, std::memory_order_relaxed);
}

void partner_wake(int fd, uint32_t partner) {
  Descriptor* o = partner_record(fd, partner);
  // relaxed: who parks after this look finds the bytes itself, or the pump wakes it.
  if (o == nullptr || (o->in.load(std::memory_order_relaxed) & 1) == 0) return;
  RuntimeEntry entry;  // from here on the task keeps its carrier
  if (wakes_past_pump(entry.task())) word_move(&o->in, 1);
}

}  // namespace wisp::io
