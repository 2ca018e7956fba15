// The files without a name that a converted JVM shows (runtime/observe/memfd.h). Anybody may give a
// memfd of his that name: it is used only with the seal that makes sure that a mapping stays.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wisp {

// Its size; 0 if it is no file that is sealed against shrinking.
uint64_t sealed_size(int fd);
// Null if refused.
void* map_shared(int fd, size_t size, bool writable);

}  // namespace wisp
