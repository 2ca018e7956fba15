// LD_PRELOAD and the WISP variables: taken out of the environment as soon as a JVM's process has
// read them, so that its children are ordinary; put back only for a launcher that executes itself
// again. Called from the library's constructor and from exec, with one thread in the process.
#pragma once

namespace wisp {

// Our own entries leave LD_PRELOAD (others stay) and every WISP variable leaves environ; what was
// there is remembered.
void environment_take_out();
// A copy of `envp` with all of it back; malloc'ed, null without memory.
char** environment_put_back(char* const envp[]);

}  // namespace wisp
