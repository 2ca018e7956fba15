// See environment.h. Works in environ's array and keeps the strings it takes out.
#include "jvm/environment.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace wisp {

constexpr int kMaxTaken = 64;
static char* g_taken[kMaxTaken];  // complete "NAME=value" strings
static int g_taken_count = 0;
static const char kPreload[] = "LD_PRELOAD=";
static constexpr size_t kPreloadLength = sizeof kPreload - 1;

static bool is_preload(const char* entry) { return strncmp(entry, kPreload, kPreloadLength) == 0; }
static bool is_wisp(const char* entry) {
  return strncmp(entry, "WISP", 4) == 0 && (entry[4] == '=' || entry[4] == '_');
}

static bool is_our_library(const char* path, size_t length) {
  static const char kName[] = "libwisp.so";
  constexpr size_t kLength = sizeof kName - 1;
  if (length < kLength || memcmp(path + length - kLength, kName, kLength) != 0) return false;
  return length == kLength || path[length - kLength - 1] == '/';
}

// Removes our entries from the list in place; ld.so separates with blanks or colons. False when
// nothing is left.
static bool strip_preload(char* list) {
  char* to = list;
  for (char* from = list; *from != '\0';) {
    size_t separators = strspn(from, " :");
    size_t length = strcspn(from + separators, " :");
    if (length != 0 && !is_our_library(from + separators, length)) {
      if (to != list) *to++ = ':';
      memmove(to, from + separators, length);
      to += length;
    }
    from += separators + length;
  }
  *to = '\0';
  return to != list;
}

// What stays moves to the end of the array: the kernel puts the auxiliary vector behind it, and
// programs find that by the first null after the environment (Go's runtime in a shared library,
// from the arguments: sysargs in its os_linux.go). In the room before stands what stays, once more.
void environment_take_out() {
  static char nothing[] = "";
  if (environ == nullptr) return;
  char** end = environ;
  while (*end != nullptr) ++end;
  char** to = end;
  for (char** from = end; from-- != environ;) {
    bool keep = true;
    if (is_preload(*from)) {
      char* copy = g_taken_count < kMaxTaken ? strdup(*from) : nullptr;
      if (copy != nullptr) g_taken[g_taken_count++] = copy;
      keep = strip_preload(*from + kPreloadLength);
    } else if (is_wisp(*from)) {
      if (g_taken_count < kMaxTaken) g_taken[g_taken_count++] = *from;
      keep = false;
    }
    if (keep) *--to = *from;
  }
  for (char** gap = environ; gap != to; ++gap) *gap = to != end ? *to : nothing;
  environ = to;
}

char** environment_put_back(char* const envp[]) {
  size_t count = 0;
  while (envp != nullptr && envp[count] != nullptr) ++count;
  char** result =
      static_cast<char**>(malloc((count + static_cast<size_t>(g_taken_count) + 1) * sizeof(char*)));
  if (result == nullptr) return nullptr;
  size_t n = 0;
  for (size_t i = 0; i < count; ++i)
    if (!is_preload(envp[i]) && !is_wisp(envp[i])) result[n++] = envp[i];
  for (int i = 0; i < g_taken_count; ++i) result[n++] = g_taken[i];
  result[n] = nullptr;
  return result;
}

}  // namespace wisp
