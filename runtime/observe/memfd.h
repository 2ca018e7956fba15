// The files without a name that readers find among the descriptors of the process. Raw kernel
// calls only: whoever makes them has no business with the program's heap or signals.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace wisp::stats {

// A memfd of mode 0600 that can be sealed; -1 if there is none.
int memfd_create_private(const char* name);
void memfd_close(int fd);
// The size that a file of this process may have (ulimit -f). Who makes one larger gets SIGXFSZ,
// which ends a process that has no handler yet.
uint64_t memfd_largest();
// It cannot shrink any more: a reader's mapping stays good.
void memfd_seal(int fd);
// Readable and writable, shared, not there in forked children; null if refused.
void* memfd_map(int fd, size_t size, long offset);

}  // namespace wisp::stats
