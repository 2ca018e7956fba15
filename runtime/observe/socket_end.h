// Who is at the other end of a socket that a task waits on. Asked only while a snapshot is made, by
// raw kernel calls: the tasks pay nothing, and no name service is asked.
#pragma once
#include "observe/statistics_layout.h"

namespace wisp::stats {

// Sets r->socket_end and r->socket after r->wait_fd, which is a descriptor of this process; it may
// have been closed or used again meanwhile.
void name_socket(TaskRecord* r);

}  // namespace wisp::stats
