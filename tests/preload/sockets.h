// Connected sockets for the programs of this folder.
#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "preload.h"

static inline int listening(struct sockaddr_in* address, int backlog) {
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  memset(address, 0, sizeof *address);
  address->sin_family = AF_INET;
  address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof *address;
  CHECK(bind(fd, (struct sockaddr*)address, length) == 0 && listen(fd, backlog) == 0);
  CHECK(getsockname(fd, (struct sockaddr*)address, &length) == 0);
  return fd;
}
static inline void tcp_pair(int pair[2]) {
  struct sockaddr_in address;
  int listener = listening(&address, 5);
  pair[0] = socket(AF_INET, SOCK_STREAM, 0);
  CHECK(connect(pair[0], (struct sockaddr*)&address, sizeof address) == 0);
  pair[1] = accept(listener, NULL, NULL);
  CHECK(pair[1] >= 0 && close(listener) == 0);
}
