// `wisp bench`: becomes the harness, a Python program under share/wisp (in a checkout:
// scripts/bench). It reads all its arguments itself; this only finds it and Python.
#pragma once

namespace wisp {

// argv[0] is "bench". Returns only when the harness could not be started.
int run_bench_command(int argc, char** argv);

}  // namespace wisp
