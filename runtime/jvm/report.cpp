// Implementation of report.h. Only the plain C library; nothing here allocates.
#include "jvm/report.h"

#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace wisp {

namespace {

void send(Report* report, const char* format, va_list arguments) {
  if (report->line == nullptr) return;
  char text[512];
  vsnprintf(text, sizeof text, format, arguments);
  report->line(report->context, text);
}

}  // namespace

void report_error(Report* report, const char* format, ...) {
  report->errors++;
  va_list arguments;
  va_start(arguments, format);
  send(report, format, arguments);
  va_end(arguments);
}

void report_skipped(Report* report, const char* format, ...) {
  report->skipped++;
  if (report->quiet_skips) return;
  va_list arguments;
  va_start(arguments, format);
  send(report, format, arguments);
  va_end(arguments);
}

void report_to_stderr(void*, const char* text) {
  char line[600];
  int length = snprintf(line, sizeof line, "wisp: %s\n", text);
  if (length < 0) return;
  if (length >= static_cast<int>(sizeof line)) length = sizeof line - 1;
  // Nothing sensible is left to do when stderr cannot be written.
  ssize_t ignored = write(STDERR_FILENO, line, static_cast<size_t>(length));
  (void)ignored;
}

Shown::Shown(const char* raw) : Shown(raw, strlen(raw)) {}

Shown::Shown(const char* raw, size_t length) {
  size_t room = sizeof text - 4;
  size_t shown = length < room ? length : room;
  for (size_t i = 0; i < shown; i++) {
    unsigned char c = static_cast<unsigned char>(raw[i]);
    text[i] = c < 0x20 || c == 0x7f ? '?' : raw[i];
  }
  if (shown < length) {
    memcpy(text + shown, "...", 4);
  } else {
    text[shown] = '\0';
  }
}

}  // namespace wisp
