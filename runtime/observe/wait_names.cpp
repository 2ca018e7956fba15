// See wait_names.h.
#include "observe/wait_names.h"

namespace wisp::stats {

WaitNames::WaitNames() {}
WaitNames::~WaitNames() {}

void name_wait(const void*, TaskRecord*) {}

}  // namespace wisp::stats
