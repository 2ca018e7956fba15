// See loaded_library.h.
#include "jvm/loaded_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <string.h>

namespace wisp {

namespace {

struct Search {
  bool (*wanted)(const dl_phdr_info&, const void*);
  const void* what;
  char path[PATH_MAX];
};

int note_path(dl_phdr_info* info, size_t, void* argument) {
  auto* search = static_cast<Search*>(argument);
  if (info->dlpi_name == nullptr || !search->wanted(*info, search->what)) return 0;
  size_t length = strlen(info->dlpi_name);
  if (length >= sizeof search->path) return 0;
  memcpy(search->path, info->dlpi_name, length + 1);
  return 1;
}

bool has_name(const dl_phdr_info& info, const void* file) {
  const char* slash = strrchr(info.dlpi_name, '/');
  return slash != nullptr && strcmp(slash + 1, static_cast<const char*>(file)) == 0;
}

}  // namespace

void* loaded_library(bool (*wanted)(const dl_phdr_info& info, const void* what), const void* what) {
  Search search{wanted, what, {}};
  // dlopen only after the walk. The walk holds the lock that a dlopen on another thread waits for,
  // which holds the one that ours would wait for (glibc: _dl_load_write_lock, _dl_load_lock).
  if (dl_iterate_phdr(note_path, &search) == 0) return nullptr;
  return dlopen(search.path, RTLD_NOLOAD | RTLD_LAZY);
}

void* loaded_library_named(const char* file) { return loaded_library(&has_name, file); }

}  // namespace wisp
