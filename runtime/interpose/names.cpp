// Name services: hosts, users, groups. libc asks them with calls of its own that nobody can
// interpose (DNS by its internal poll, NSS modules, nscd), and a lookup may take seconds. So each
// is announced: the task waits on its kernel thread, the carrier goes to others.
//
// What libc keeps per thread for it (the resolver's state, its thread-local context) is the task's
// own, because the task has its own TLS block (coroutine/thread_block.cpp gives each a resolver
// state). An NSS module that calls an interposed function (a lock, poll) enters the runtime; that
// is allowed: from then on the task waits as tasks do, and the region ends early.
#include <grp.h>
#include <netdb.h>
#include <pwd.h>

#include "interpose/entry.h"

using namespace wisp;

namespace {

template <typename F>
inline auto asking(F&& call) {
  real::ensure();
  if (task_outside_runtime() == nullptr) return call();
  BlockingRegion region;
  return call();
}

}  // namespace

// ---- hosts and services ----------------------------------------------------------------------

WISP_EXPORT int getaddrinfo(const char* node, const char* service, const addrinfo* hints,
                            addrinfo** result) {
  return asking([=] { return real::getaddrinfo(node, service, hints, result); });
}
WISP_EXPORT int getnameinfo(const sockaddr* address, socklen_t length, char* host,
                            socklen_t host_size, char* service, socklen_t service_size, int flags) {
  return asking([=] {
    return real::getnameinfo(address, length, host, host_size, service, service_size, flags);
  });
}
WISP_EXPORT hostent* gethostbyname(const char* name) {
  return asking([=] { return real::gethostbyname(name); });
}
WISP_EXPORT hostent* gethostbyname2(const char* name, int family) {
  return asking([=] { return real::gethostbyname2(name, family); });
}
WISP_EXPORT hostent* gethostbyaddr(const void* address, socklen_t length, int family) {
  return asking([=] { return real::gethostbyaddr(address, length, family); });
}
WISP_EXPORT int gethostbyname_r(const char* name, hostent* entry, char* buffer, size_t size,
                                hostent** result, int* error) {
  return asking([=] { return real::gethostbyname_r(name, entry, buffer, size, result, error); });
}
WISP_EXPORT int gethostbyname2_r(const char* name, int family, hostent* entry, char* buffer,
                                 size_t size, hostent** result, int* error) {
  return asking(
      [=] { return real::gethostbyname2_r(name, family, entry, buffer, size, result, error); });
}
WISP_EXPORT int gethostbyaddr_r(const void* address, socklen_t length, int family, hostent* entry,
                                char* buffer, size_t size, hostent** result, int* error) {
  return asking([=] {
    return real::gethostbyaddr_r(address, length, family, entry, buffer, size, result, error);
  });
}

// ---- users and groups: files here, LDAP or sssd elsewhere ------------------------------------

WISP_EXPORT passwd* getpwnam(const char* name) {
  return asking([=] { return real::getpwnam(name); });
}
WISP_EXPORT passwd* getpwuid(uid_t id) {
  return asking([=] { return real::getpwuid(id); });
}
WISP_EXPORT int getpwnam_r(const char* name, passwd* entry, char* buffer, size_t size,
                           passwd** result) {
  return asking([=] { return real::getpwnam_r(name, entry, buffer, size, result); });
}
WISP_EXPORT int getpwuid_r(uid_t id, passwd* entry, char* buffer, size_t size, passwd** result) {
  return asking([=] { return real::getpwuid_r(id, entry, buffer, size, result); });
}
WISP_EXPORT int getgrnam_r(const char* name, group* entry, char* buffer, size_t size,
                           group** result) {
  return asking([=] { return real::getgrnam_r(name, entry, buffer, size, result); });
}
WISP_EXPORT int getgrgid_r(gid_t id, group* entry, char* buffer, size_t size, group** result) {
  return asking([=] { return real::getgrgid_r(id, entry, buffer, size, result); });
}
WISP_EXPORT int getgrouplist(const char* user, gid_t first, gid_t* groups, int* count) {
  return asking([=] { return real::getgrouplist(user, first, groups, count); });
}
