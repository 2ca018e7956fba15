// The end of a worker's kernel thread, as its children see it. To the kernel the parent of a
// process is the thread that made it, and a child may ask for a signal when that one ends
// (PR_SET_PDEATHSIG in prctl(2); setpriv --pdeathsig, bubblewrap --die-with-parent). To the program
// the parent is a Java thread, which goes on elsewhere.
#include <sys/wait.h>

#include <algorithm>

#include "scheduler/internal.h"

namespace wisp {

// The kernel is asked, which also knows of children that libc, or the program by a system call, has
// made. While all of them live it sleeps there. One that has ended and is not reaped yet is an
// answer, whoever else lives: then it asks again, ever less often.
void outlive_children() {
  constexpr uint64_t kLongestNs = 4'000'000'000;
  for (uint64_t pause = 1'000'000;; pause = std::min(2 * pause, kLongestNs)) {
    siginfo_t unwanted;
    long r = kernel::call(SYS_waitid, P_ALL, 0, reinterpret_cast<long>(&unwanted),
                          WEXITED | WNOWAIT | __WNOTHREAD | __WALL, 0);
    if (r != 0 && r != -EINTR) return;  // ECHILD: there are none
    timespec t{static_cast<time_t>(pause / 1'000'000'000),
               static_cast<long>(pause % 1'000'000'000)};
    kernel::call(SYS_nanosleep, reinterpret_cast<long>(&t), 0);
  }
}

}  // namespace wisp
