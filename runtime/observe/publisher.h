// The thread behind the shared statistics page (statistics_layout.h).
#pragma once

namespace wisp::stats {

// Once, after scheduler_start. Without memfd or another kernel thread there is no page, and no word
// about it: the program must not suffer for want of an observer.
void publisher_start();

}  // namespace wisp::stats
