#include "platform/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "platform/kernel.h"

namespace wisp {

bool g_verbose = false;

static void print(const char* format, va_list args) {
  char line[512] = "wisp: ";
  int n = vsnprintf(line + 6, sizeof line - 8, format, args);
  size_t len = 6 + (n < 0 ? 0 : n > static_cast<int>(sizeof line - 8) ? sizeof line - 9 : n);
  line[len++] = '\n';
  kernel::call(SYS_write, 2, reinterpret_cast<long>(line), static_cast<long>(len));
}

void warn(const char* format, ...) {
  va_list args;
  va_start(args, format);
  print(format, args);
  va_end(args);
}

void verbose(const char* format, ...) {
  if (!g_verbose) return;
  va_list args;
  va_start(args, format);
  print(format, args);
  va_end(args);
}

void fatal(const char* format, ...) {
  va_list args;
  va_start(args, format);
  print(format, args);
  va_end(args);
  abort();
}

}  // namespace wisp
