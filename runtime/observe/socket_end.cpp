// See socket_end.h.
#include "observe/socket_end.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "platform/kernel.h"

namespace wisp::stats {
namespace {

bool fits(int written, size_t size) { return written > 0 && static_cast<size_t>(written) < size; }

// "127.0.0.1:80", "[::1]:80", "unix:/run/x"; false: no address, or of a family that has no such
// text.
bool address_text(const sockaddr_storage& address, size_t length, char* to, size_t size) {
  char host[INET6_ADDRSTRLEN];
  if (address.ss_family == AF_INET) {
    const auto& in = reinterpret_cast<const sockaddr_in&>(address);
    if (inet_ntop(AF_INET, &in.sin_addr, host, sizeof host) == nullptr) return false;
    return fits(snprintf(to, size, "%s:%u", host, ntohs(in.sin_port)), size);
  }
  if (address.ss_family == AF_INET6) {
    const auto& in = reinterpret_cast<const sockaddr_in6&>(address);
    // Java's sockets are of this family also when they speak IPv4.
    bool mapped = IN6_IS_ADDR_V4MAPPED(&in.sin6_addr);
    const void* bytes = mapped ? static_cast<const void*>(&in.sin6_addr.s6_addr[12])
                               : static_cast<const void*>(&in.sin6_addr);
    if (inet_ntop(mapped ? AF_INET : AF_INET6, bytes, host, sizeof host) == nullptr) return false;
    int n = mapped ? snprintf(to, size, "%s:%u", host, ntohs(in.sin6_port))
                   : snprintf(to, size, "[%s]:%u", host, ntohs(in.sin6_port));
    return fits(n, size);
  }
  if (address.ss_family == AF_UNIX && length > offsetof(sockaddr_un, sun_path)) {
    const auto& un = reinterpret_cast<const sockaddr_un&>(address);
    size_t n = length - offsetof(sockaddr_un, sun_path);
    bool abstract = un.sun_path[0] == '\0';
    // A long path is cut.
    snprintf(to, size, "unix:%s%.*s", abstract ? "@" : "", static_cast<int>(n - abstract),
             un.sun_path + abstract);
    return true;
  }
  return false;
}

bool ask(long call, int fd, char* to, size_t size) {
  sockaddr_storage address;
  memset(&address, 0, sizeof address);
  socklen_t length = sizeof address;
  if (kernel::call(call, fd, reinterpret_cast<long>(&address), reinterpret_cast<long>(&length)) !=
      0)
    return false;
  return address_text(address, length < sizeof address ? length : sizeof address, to, size);
}

}  // namespace

void name_socket(TaskRecord* r) {
  if (ask(SYS_getpeername, r->wait_fd, r->socket, sizeof r->socket))
    r->socket_end = SocketEnd::Peer;
  else if (ask(SYS_getsockname, r->wait_fd, r->socket, sizeof r->socket))
    r->socket_end = SocketEnd::Own;
}

}  // namespace wisp::stats
