// See preload_list.h.
#include "jvm/preload_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace wisp {
namespace {

constexpr char kSeparators[] = " :";  // ld.so(8)

// Whether an entry is `path`, or, for a path without a slash, a file of that name anywhere.
bool lists(const char* list, const char* path) {
  size_t wanted = strlen(path);
  bool by_name = strchr(path, '/') == nullptr;
  for (const char* at = list; *at != '\0';) {
    at += strspn(at, kSeparators);
    size_t length = strcspn(at, kSeparators);
    bool fits = length >= wanted && memcmp(at + length - wanted, path, wanted) == 0;
    if (fits && (length == wanted || (by_name && at[length - wanted - 1] == '/'))) return true;
    at += length;
  }
  return false;
}

}  // namespace

char* preload_list(const char* library, const char* others) {
  if (others == nullptr || *others == '\0') return strdup(library);
  if (lists(others, library)) return strdup(others);
  bool behind = lists(others, "libjsig.so");
  char* list = nullptr;
  if (asprintf(&list, "%s:%s", behind ? others : library, behind ? library : others) < 0)
    return nullptr;
  return list;
}

}  // namespace wisp
