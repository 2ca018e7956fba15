// Where the parsers of options and rules send what they find wrong: one line per error, naming the
// option and the form it takes. The library writes to stderr, the launcher collects and exits 2, a
// test looks at the text. No libstdc++: this is compiled into libwisp.so and into the command.
#pragma once

#include <cstddef>

namespace wisp {

struct Report {
  // Null: the text is dropped, and counted all the same.
  void (*line)(void* context, const char* text) = nullptr;
  void* context = nullptr;
  int errors = 0;            // values that cannot be used
  int skipped = 0;           // rule entries left out; the others of their list hold
  bool quiet_skips = false;  // the command leaves these to the library, which reports them once
};

// Formats one line (no newline needed at the end) and counts it.
void report_error(Report* report, const char* format, ...) __attribute__((format(printf, 2, 3)));

void report_skipped(Report* report, const char* format, ...) __attribute__((format(printf, 2, 3)));

// A sink that writes "wisp: <line>\n" to stderr in a single write(2).
void report_to_stderr(void* context, const char* text);

// A copy of text that is safe inside one line of a message: control bytes become '?', and what is
// longer than a message deserves is cut. Lives in the object, so that it needs no allocation.
struct Shown {
  char text[96];
  explicit Shown(const char* raw);
  Shown(const char* raw, size_t length);
};

}  // namespace wisp
