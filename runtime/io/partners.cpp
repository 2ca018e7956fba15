// Ends that wait for their partner to register stand in a small table by their ports, or by the
// inodes of local sockets; who comes to a place that is taken takes it over. Both ends of a
// connection mostly register soon after each other: at their first wait.
#include "io/partners.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "io/local_peer.h"
#include "io/wait.h"
#include "platform/kernel.h"

namespace wisp::io {

namespace {

constexpr uint32_t kPlaceBits = 12, kPlaces = 1u << kPlaceBits;
// What tells one end << 48 | the other << 32 | descriptor; 0 = free. Relaxed: whatever is read is a
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

// Of a local socket whose other end was made by this process.
bool inodes_of(int fd, uint32_t* local, uint32_t* peer) {
  ucred maker = {};
  socklen_t length = sizeof maker;
  struct stat st = {};
  if (kernel::call(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, reinterpret_cast<long>(&maker),
                   reinterpret_cast<long>(&length)) != 0 ||
      maker.pid != kernel::call(SYS_getpid) ||
      kernel::call(SYS_fstat, fd, reinterpret_cast<long>(&st)) != 0)
    return false;
  uint32_t other = local_peer(static_cast<uint32_t>(st.st_ino));
  *local = static_cast<uint32_t>(st.st_ino) & 0xffff, *peer = other & 0xffff;
  return other != 0;
}

// Ports of a connection between two sockets of this machine; false: it is none.
bool ports_of(int fd, uint32_t* local, uint32_t* peer) {
  Address here, there;
  if (!there.get(fd, SYS_getpeername) || !here.get(fd, SYS_getsockname)) return false;
  if (here.storage.ss_family == AF_UNIX) return inodes_of(fd, local, peer);
  if (here.storage.ss_family == AF_INET) {
    *local = here.four()->sin_port, *peer = there.four()->sin_port;
    return here.four()->sin_addr.s_addr == there.four()->sin_addr.s_addr;
  }
  if (here.storage.ss_family != AF_INET6) return false;
  *local = here.six()->sin6_port, *peer = there.six()->sin6_port;
  return memcmp(&here.six()->sin6_addr, &there.six()->sin6_addr, sizeof(in6_addr)) == 0;
}

}  // namespace

void make_partners(int one, int other) {
  Descriptor *d = descriptor_find(one), *o = descriptor_find(other);
  if (d == nullptr || o == nullptr) return;
  d->partner.store(static_cast<uint32_t>(other) + 1, std::memory_order_relaxed);
  o->partner.store(static_cast<uint32_t>(one) + 1, std::memory_order_relaxed);
}

void partner_seek(int fd) {
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
  make_partners(fd, other);
}

void partner_wake(int fd, uint32_t partner) {
  Descriptor* o = partner_record(fd, partner);
  // relaxed: who parks after this look finds the bytes itself, or the pump wakes it.
  if (o == nullptr || (o->in.load(std::memory_order_relaxed) & 1) == 0) return;
  RuntimeEntry entry;  // from here on the task keeps its carrier
  if (wakes_past_pump(entry.task())) word_move(&o->in, 1);
}

}  // namespace wisp::io
