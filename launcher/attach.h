// HotSpot's attach protocol, as jcmd speaks it: so that a thread dump needs no JDK tools (a JRE has
// none) and a JVM that does not answer costs a few seconds, not for ever.
#pragma once

#include <string>

#include "process.h"

namespace wisp {

struct AttachAnswer {
  bool ok = false;
  std::string text;  // the answer, or why there is none
};

// Takes timeout_ms in all, at the most; with 0 the JVM is not asked.
AttachAnswer attach_thread_dump(const Process& process, int timeout_ms);

}  // namespace wisp
