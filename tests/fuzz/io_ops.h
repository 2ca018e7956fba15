// What the files of operations share.
#pragma once
#include <stdio.h>
#include <sys/un.h>

#include <array>

#include "io_model.h"

namespace fuzz {

bool has_kind(Model& m, Kind kind);
bool may_close(Model& m, int slot);
std::string payload(Model& m, long size);
std::function<void()> adds_load(Model& m, int slot, long size);
// Sets an option of SOL_SOCKET.
Op sets_option(const Model& m, int slot, const char* name, int option, int value);
bool cannot_be_seen_in_parts(Model& m, int slot);
void make_queues(Model& m);
void remove_queues(Model& m);
// send(2), or sendto(2) where the file is not connected.
long send_to(int fd, const void* bytes, size_t size, int flags, const std::string& name);
// The mask of a wait that takes one: with kEnding let through, or kept back.
sigset_t mask_of(bool keeps_ending);
// The file that `fd` is a descriptor of; -1: not known.
int identify(const Model& m, int fd);
inline bool is_socket(Kind k) {
  return k == Kind::Local || k == Kind::Datagram || k == Kind::Packet || k == Kind::Tcp ||
         k == Kind::Udp;
}
inline bool is_stream(Kind k) { return k == Kind::Local || k == Kind::Tcp; }

}  // namespace fuzz
