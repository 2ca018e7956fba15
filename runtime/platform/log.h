// One line on stderr, written with a single write(2); formatting without allocation, so it may be
// called from anywhere. `warn` prints always; `verbose` only with WISP_VERBOSE=1.
#pragma once

namespace wisp {

extern bool g_verbose;
__attribute__((format(printf, 1, 2))) void warn(const char* format, ...);
__attribute__((format(printf, 1, 2))) void verbose(const char* format, ...);
// A broken invariant of the runtime: says so and aborts (so that HotSpot writes its hs_err file).
[[noreturn]] __attribute__((format(printf, 1, 2))) void fatal(const char* format, ...);

}  // namespace wisp
