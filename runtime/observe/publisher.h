// The thread behind the shared statistics page (statistics_layout.h).
#pragma once

namespace wisp::stats {

// Once, before scheduler_start: the page's file. Not by the thread itself, while the program runs:
// for some milliseconds (a process with threads waits in the kernel for a larger table) it has the
// lowest free number, which the program expects to get, or closes with all others.
void publisher_prepare();
// Once, after scheduler_start has succeeded, or not. Without memfd or another kernel thread there
// is no page, and no word about it: the program must not suffer for want of an observer.
void publisher_start(bool wanted);

}  // namespace wisp::stats
