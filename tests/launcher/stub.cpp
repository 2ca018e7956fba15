// Stands in for libwisp.so in the tests of the command and the agent: says on stderr that it was
// preloaded, what reached it and what it reads from it, then leaves the environment as the real
// library does.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jvm/load_order.h"
#include "jvm/options.h"

static const char* shown(const char* name) {
  const char* value = getenv(name);
  return value != nullptr ? value : "-";
}

__attribute__((constructor)) static void loaded() {
  if (!wisp::wisp_preloaded()) return;
  wisp::Options options;
  wisp::options_from_process(&options);
  fprintf(stderr,
          "stub: pid=%d WISP=%s WISP_OPTIONS=%s LD_PRELOAD=%s on=%d carriers=%d tick=%ld stack=%zu "
          "black=%d white=%d\n",
          static_cast<int>(getpid()), shown("WISP"), shown("WISP_OPTIONS"), shown("LD_PRELOAD"),
          options.enabled, wisp::carriers_of(options), options.sysmon_tick_us, options.stack_size,
          options.black.count, options.white.count);
  unsetenv("LD_PRELOAD");
  unsetenv("WISP_REEXEC");
}
