// How many threads of this process the kernel would run: by system calls of its own, since Wisp
// lists tasks there.
#pragma once

namespace steps {

int runnable_threads();

}  // namespace steps
