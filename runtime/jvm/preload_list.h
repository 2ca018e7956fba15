// The value of LD_PRELOAD that a JVM is started with: by the command and by the agent.
#pragma once

namespace wisp {

// `others` (may be null or empty: what the variable holds by now) with `library` in it: in front,
// so that no other library defines what ours does; but behind the JDK's libjsig.so, which has to
// see the program's sigaction calls before us, and whose own are then ours to see (it finds them
// by RTLD_NEXT). A list that has the library already stays as it is. malloc'ed; null: no memory.
char* preload_list(const char* library, const char* others);

}  // namespace wisp
