// See local_peer.h.
#include "io/local_peer.h"

#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stddef.h>
#include <sys/socket.h>

#include "platform/kernel.h"
#include "platform/own_descriptors.h"

namespace wisp::io {

namespace {

struct Question {
  nlmsghdr header;
  unix_diag_req request;
};
struct Answer {
  nlmsghdr header;
  unix_diag_msg socket;
  char attributes[64];
};

uint32_t peer_in(const Answer& answer, long size) {
  if (size < static_cast<long>(offsetof(Answer, attributes)) ||
      answer.header.nlmsg_type != SOCK_DIAG_BY_FAMILY)
    return 0;
  const char* at = answer.attributes;
  const char* end = reinterpret_cast<const char*>(&answer) + size;
  while (end - at >= NLA_HDRLEN) {
    auto attribute = reinterpret_cast<const nlattr*>(at);
    if (attribute->nla_type == UNIX_DIAG_PEER && end - at >= NLA_HDRLEN + 4)
      return *reinterpret_cast<const uint32_t*>(at + NLA_HDRLEN);
    if (attribute->nla_len < NLA_HDRLEN) return 0;
    at += NLA_ALIGN(attribute->nla_len);
  }
  return 0;
}

uint32_t ask(int fd, uint32_t inode) {
  Question question = {};
  question.header = {sizeof question, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, 0, 0};
  question.request.sdiag_family = AF_UNIX;
  question.request.udiag_states = ~0u;
  question.request.udiag_ino = inode;
  question.request.udiag_show = UDIAG_SHOW_PEER;
  for (uint32_t& cookie : question.request.udiag_cookie) cookie = ~0u;  // INET_DIAG_NOCOOKIE
  if (kernel::call(SYS_sendto, fd, reinterpret_cast<long>(&question), sizeof question, MSG_DONTWAIT,
                   0, 0) < 0)
    return 0;
  Answer answer = {};  // there by now: the kernel makes it within the send
  long size = kernel::call(SYS_recvfrom, fd, reinterpret_cast<long>(&answer), sizeof answer,
                           MSG_DONTWAIT, 0, 0);
  return peer_in(answer, size);
}

}  // namespace

// Not kept: programs count their descriptors.
uint32_t local_peer(uint32_t inode) {
  int fd = move_up(static_cast<int>(
      kernel::call(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG)));
  if (fd < 0) return 0;
  own_descriptor_add(fd);
  uint32_t peer = ask(fd, inode);
  own_descriptor_remove(fd);
  kernel::call(SYS_close, fd);
  return peer;
}

}  // namespace wisp::io
