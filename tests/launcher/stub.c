// Stands in for libwisp.so in the tests of the command: says on stderr that it was preloaded and
// what reached it, then takes itself out of the environment as the library does.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char* shown(const char* name) {
  const char* value = getenv(name);
  return value != NULL ? value : "-";
}

__attribute__((constructor)) static void loaded(void) {
  fprintf(stderr, "stub: loaded WISP=%s WISP_OPTIONS=%s LD_PRELOAD=%s\n", shown("WISP"),
          shown("WISP_OPTIONS"), shown("LD_PRELOAD"));
  unsetenv("LD_PRELOAD");
}
