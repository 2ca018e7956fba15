// What the kernel says of a thread of this process, by system calls of our own: nobody's wait, and
// no entry in the descriptor table, is concerned.
#pragma once

#include <cstddef>

namespace wisp {

// /proc/self/task/<tid>/<file>, at most size - 1 bytes in one read, and a 0. False: no such thread
// or file. On any thread, in handlers too.
bool read_proc(int tid, const char* file, char* to, size_t size);

}  // namespace wisp
