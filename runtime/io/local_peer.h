// Which local socket (AF_UNIX) is the other end of one: the kernel says it by sock_diag(7) only.
#pragma once
#include <stdint.h>

namespace wisp::io {

// The inode of the socket to which that with `inode` is connected, 0: of none, or the kernel does
// not say (no UNIX_DIAG, a filter, no descriptor left). Some 3 us; a descriptor of our own
// meanwhile. Any thread.
uint32_t local_peer(uint32_t inode);

}  // namespace wisp::io
