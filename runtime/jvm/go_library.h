// Libraries with Go's runtime in them (-buildmode=c-shared or c-archive). It gives each thread that
// calls into Go a signal stack by a system call of its own, which nobody can interpose: from the
// first such library on, tasks are asked at each wait whether they have one
// (scheduler/own_thread.h).
#pragma once

namespace wisp {

// `address` lies in the code of such a library. Each library is looked at once. Any thread, outside
// any RuntimeEntry; also from a library's constructor, where Go makes its first thread.
bool in_go_library(const void* address);

// Some library that is loaded now is one. From our constructor: those that the program is linked
// with may have been started before us.
bool any_go_library();

}  // namespace wisp
